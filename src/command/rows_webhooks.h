/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the commands about webhooks; see row.h. */
/* clang-format off */

[WEBHOOKS_REPLAY] = {.name = "WEBHOOKS.REPLAY", .number = 80, .flags = WRITES | SERVICE | ADMIN,
    .help = "Send webhooks again that were given up, or that were delivered",
    EXAMPLE("WEBHOOKS.REPLAY TYPE order.sold"),
    REFUSALS({HF_LEDGER_DOWN, "there is no ledger, or it does not answer; nothing was changed"},
             {HF_TIMEOUT, "the ledger did not answer in time"}),
    .reply_note = "How many are pending again. Without SINCE and KEY only those that were given up",
    MEANINGS("of this booking or order; not given: of all",
             "of this type, such as booking.confirmed; not given: of all",
             "written since then, in milliseconds since 1970"),
    ARGS(webhooks_replay, 0, OPTIONAL_ID(webhooks_replay, key, "KEY", "id", "key"),
         OPTIONAL_ID(webhooks_replay, type, "TYPE", "type", "type"),
         OPTIONAL_TIME(webhooks_replay, since_ms, "SINCE")),
    .scope_arg = SCOPE_NOWHERE,
    ANSWER(REPLY_LEAD, webhooks_replay_reply, NUMBER(webhooks_replay_reply, replayed)),
    HTTP("POST", "/v1/webhooks/replay"), .script_args = ""},
