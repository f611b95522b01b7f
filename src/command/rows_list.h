/* SPDX-License-Identifier: Apache-2.0
 *
 * The row of the list of all there is, for the table in table.c. On Redis it has no script of its
 * own: the engine walks the keys of every master. */
/* clang-format off */

[LIST] = {.name = "LIST", .number = 56, .flags = READS,
    .help = "The names of all there is of a kind, page by page; over HTTP with its totals",
    EXAMPLE("LIST zones MATCH gala COUNT 50"),
    BEFORE("SEATS.OPEN gala floor 500"),
    REFUSALS({HF_INVALID_ARGUMENT, "AFTER is no cursor of this list"}),
    .reply_note = "An empty cursor says that this was the end. A zone's name is that of its event, "
                  "a space and its own",
    MEANINGS("what to list",
             "what the names begin with; not given: all names",
             "the cursor that the page before ended with; not given: from the beginning",
             "how many names at most"),
    ARGS(list, 1, CHOICE(list, kind, "events|zones|tenants|semaphores|locks|products|rooms|keys"),
         OPTIONAL_TEXT(list, match, "MATCH", "prefix", 2 * HF_ID_MAX + 1),
         PAGE(list)),
    .scope_arg = SCOPE_NOWHERE, .scope_field = "name",
    ANSWER(REPLY_PAGE, list_item, WORD(list_item, name),
           QUIET_WORD(list_item, event_id), QUIET_WORD(list_item, zone_id),
           QUIET_NUMBER(list_item, zones), QUIET_NUMBER(list_item, bookings),
           QUIET_NUMBER(list_item, capacity), QUIET_NUMBER(list_item, available),
           QUIET_NUMBER(list_item, reserved), QUIET_NUMBER(list_item, confirmed),
           QUIET_NUMBER(list_item, used), QUIET_NUMBER(list_item, limit),
           QUIET_NUMBER(list_item, held),
           QUIET_NUMBER(list_item, in_use), QUIET_NUMBER(list_item, max),
           QUIET_NUMBER(list_item, waiting), QUIET_NUMBER(list_item, inside),
           QUIET_SECRET_WORD(list_item, lock_id), QUIET_NUMBER(list_item, fence),
           QUIET_NUMBER(list_item, ttl_ms),
           QUIET_NUMBER(list_item, taken), QUIET_NUMBER(list_item, sold),
           QUIET_NUMBER(list_item, loaded), QUIET_NUMBER(list_item, shards),
           QUIET_WORD(list_item, mode), QUIET_WORD(list_item, state)),
    HTTP("GET", "/v1/list/{kind}"),
    .script_args = ""},
