/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of idempotency, for the table in table.c. */
/* clang-format off */

[IDEM_BEGIN] = {.name = "IDEM.BEGIN", .number = 39, .flags = WRITES,
    .figures_code = HF_IN_PROGRESS,
    .help = "May this request be carried out, or was it before?",
    ARGS(idem_begin, 2, ID(idem_begin, key, "key"), ID(idem_begin, fingerprint, "fingerprint"),
         OPTIONAL_DURATION(idem_begin, ttl_ms, "TTL", "ttl_seconds", IDEM_PROCESSING_DEFAULT_MS)),
    ANSWER(REPLY_LEAD, idem_begin_reply, WORD(idem_begin_reply, state),
           {.name = "response", .is_text = true}),
    SCRIPT("idem_begin", "fingerprint ttl",
           KEY_IDEM)},

[IDEM_COMPLETE] = {.name = "IDEM.COMPLETE", .number = 40, .flags = WRITES,
    .help = "The answer to a request, for whoever asks again",
    ARGS(idem_complete, 2, ID(idem_complete, key, "key"),
         BLOB(idem_complete, response, RESPONSE_MAX),
         OPTIONAL_DURATION(idem_complete, ttl_ms, "TTL", "ttl_seconds",
                           IDEM_COMPLETED_DEFAULT_MS)),
    ANSWER(REPLY_NUMBER, idem_complete_reply, NUMBER(idem_complete_reply, completed)),
    SCRIPT("idem_complete", "response ttl",
           KEY_IDEM)},

[IDEM_ABORT] = {.name = "IDEM.ABORT", .number = 41, .flags = WRITES,
    .help = "A request was not carried out after all; the next BEGIN is new",
    ARGS(idem_abort, 1, ID(idem_abort, key, "key")),
    ANSWER(REPLY_NUMBER, idem_abort_reply, NUMBER(idem_abort_reply, aborted)),
    SCRIPT("idem_abort", "",
           KEY_IDEM)},
