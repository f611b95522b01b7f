/* SPDX-License-Identifier: Apache-2.0
 *
 * The one table of commands. To add a command: a row here, an argument struct in holdfast.h, a
 * function in core/, a script in lua/, a conformance case. */
#include "base/text.h"
#include "command/command.h"

/* ---- how a row is written: the member of the struct, then what is different from its name ---- */

#define AT(command, member) offsetof(struct hf_##command##_args, member)

/* Positional arguments. */
#define ID(command, member, json)                                                                  \
    {                                                                                              \
        .name = #member, .field = json, .type = ARG_ID, .offset = AT(command, member), .min = 1,   \
        .max = HF_ID_MAX                                                                           \
    }
#define COUNT(command, member, low, high)                                                          \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_COUNT, .offset = AT(command, member),       \
        .min = low, .max = high                                                                    \
    }
#define AMOUNT(command, member, low)                                                               \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_AMOUNT, .offset = AT(command, member),      \
        .min = low, .max = HF_INTEGER_MAX                                                          \
    }
#define DURATION(command, member, label)                                                           \
    {                                                                                              \
        .name = label, .field = label "_seconds", .type = ARG_DURATION,                            \
        .offset = AT(command, member), .min = HF_TTL_MIN_MS, .max = HF_TTL_MAX_MS                  \
    }
#define TEXT(command, member, low, high)                                                           \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_TEXT, .offset = AT(command, member),        \
        .min = low, .max = high                                                                    \
    }
#define BLOB(command, member, high)                                                                \
    {                                                                                              \
        .name = #member, .field = #member, .type = ARG_BLOB, .offset = AT(command, member),        \
        .max = high                                                                                \
    }

/* Optional ones, by keyword. */
#define OPTIONAL_ID(command, member, word, label, json)                                            \
    {                                                                                              \
        .name = label, .field = json, .keyword = word, .type = ARG_ID,                             \
        .offset = AT(command, member), .min = 1, .max = HF_ID_MAX                                  \
    }
#define OPTIONAL_COUNT(command, member, word, low, high, standard)                                 \
    {                                                                                              \
        .name = "n", .field = #member, .keyword = word, .type = ARG_COUNT,                         \
        .offset = AT(command, member), .min = low, .max = high, .default_value = standard          \
    }
#define OPTIONAL_AMOUNT(command, member, word)                                                     \
    {                                                                                              \
        .name = "n", .field = #member, .keyword = word, .type = ARG_AMOUNT,                        \
        .offset = AT(command, member), .max = HF_INTEGER_MAX                                       \
    }
#define OPTIONAL_DURATION(command, member, word, json, standard)                                   \
    {                                                                                              \
        .name = "s", .field = json, .keyword = word, .type = ARG_DURATION,                         \
        .offset = AT(command, member), .min = HF_TTL_MIN_MS, .max = HF_TTL_MAX_MS,                 \
        .default_value = standard                                                                  \
    }
#define OPTIONAL_WAIT(command, member, word)                                                       \
    {                                                                                              \
        .name = "ms", .field = "wait_ms", .keyword = word, .type = ARG_WAIT,                       \
        .offset = AT(command, member), .max = HF_TTL_MAX_MS                                        \
    }
#define OPTIONAL_CHOICE(command, member, word, list)                                               \
    {                                                                                              \
        .name = list, .field = #member, .keyword = word, .type = ARG_CHOICE, .choices = list,      \
        .offset = AT(command, member)                                                              \
    }
#define FLAG(command, member, word)                                                                \
    {                                                                                              \
        .name = #member, .field = #member, .keyword = word, .type = ARG_FLAG,                      \
        .offset = AT(command, member), .max = 1                                                    \
    }

/* Replies. */
#define NUMBER(type, member)                                                                       \
    {                                                                                              \
        .name = #member, .offset = offsetof(struct hf_##type, member)                              \
    }
#define QUIET_NUMBER(type, member)                                                                 \
    {                                                                                              \
        .name = #member, .quiet = true, .offset = offsetof(struct hf_##type, member)               \
    }
#define QUIET_WORD(type, member)                                                                   \
    {                                                                                              \
        .name = #member, .is_text = true, .quiet = true,                                           \
        .offset = offsetof(struct hf_##type, member),                                              \
        .size = sizeof((struct hf_##type *)NULL)->member                                           \
    }
#define WORD(type, member)                                                                         \
    {                                                                                              \
        .name = #member, .is_text = true, .offset = offsetof(struct hf_##type, member),            \
        .size = sizeof((struct hf_##type *)NULL)->member                                           \
    }

#define ARGS(command, positional, ...)                                                             \
    .args = (const struct arg_spec[]){__VA_ARGS__}, .required = (positional),                      \
    .arg_count = sizeof((const struct arg_spec[]){__VA_ARGS__}) / sizeof(struct arg_spec),         \
    .args_size = sizeof(struct hf_##command##_args)
#define ANSWER(form, type, ...)                                                                    \
    .shape = form, .fields = (const struct reply_field[]){__VA_ARGS__},                            \
    .field_count = sizeof((const struct reply_field[]){__VA_ARGS__}) / sizeof(struct reply_field), \
    .reply_size = sizeof(struct hf_##type)
#define HTTP(verb, path) .method = (verb), .route = (path)
#define ALIAS(path, code) .alias = (path), .alias_code = (code)
#define SCRIPT(file, words, ...) .script = (file), .script_args = (words), .keys = {__VA_ARGS__}

#define READS 0
#define WRITES COMMAND_WRITES
#define RANDOM COMMAND_RANDOM
#define WAITS COMMAND_WAITS

/* ---- the table ------------------------------------------------------------------------------- */

/* clang-format off */
const struct command_spec command_table[COMMAND_COUNT] = {

/* Seats. */
[SEATS_OPEN] = {.name = "SEATS.OPEN", .number = 1, .flags = WRITES,
    .help = "Make a zone, or change its capacity",
    ARGS(seats_open, 3, ID(seats_open, event, "event"), ID(seats_open, zone, "zone"),
         COUNT(seats_open, capacity, 0, HF_INTEGER_MAX)),
    ANSWER(REPLY_LEAD, seats_open_reply,
           NUMBER(seats_open_reply, available), NUMBER(seats_open_reply, capacity)),
    HTTP("PUT", "/v1/events/{event}/zones/{zone}"),
    SCRIPT("open_zone", "capacity",
           KEY_ZONE, KEY_ZONE_TOTALS, KEY_SEATS_DUE)},

[SEATS_RESERVE] = {.name = "SEATS.RESERVE", .number = 2, .flags = WRITES,
    .help = "Hold seats in a zone for a user until a deadline",
    ARGS(seats_reserve, 6, ID(seats_reserve, event, "event"), ID(seats_reserve, zone, "zone_id"),
         ID(seats_reserve, booking, "booking_id"), ID(seats_reserve, user, "user_id"),
         COUNT(seats_reserve, quantity, 1, HF_INTEGER_MAX),
         COUNT(seats_reserve, max_per_user, 0, HF_INTEGER_MAX),
         OPTIONAL_ID(seats_reserve, show, "SHOW", "id", "show_id"),
         OPTIONAL_AMOUNT(seats_reserve, unit_price, "PRICE"),
         OPTIONAL_DURATION(seats_reserve, ttl_ms, "TTL", "ttl_seconds", SEATS_TTL_DEFAULT_MS),
         FLAG(seats_reserve, lifetime, "LIFETIME")),
    ANSWER(REPLY_LEAD, seats_reserve_reply,
           NUMBER(seats_reserve_reply, remaining), NUMBER(seats_reserve_reply, user_reserved),
           QUIET_WORD(seats_reserve_reply, status), QUIET_NUMBER(seats_reserve_reply, expires_at)),
    HTTP("POST", "/v1/events/{event}/bookings"), .created = true, .made = 3, .carries = true,
    SCRIPT("reserve_seats", "quantity max_per_user user booking zone event show price ttl lifetime",
           KEY_ZONE, KEY_USER, KEY_BOOKING, KEY_SEATS_DUE, KEY_USER_CONFIRMED)},

[SEATS_CONFIRM] = {.name = "SEATS.CONFIRM", .number = 3, .flags = WRITES | RANDOM,
    .help = "Paid for: the booking loses its deadline and gets a confirmation code",
    ARGS(seats_confirm, 2, ID(seats_confirm, event, "event"), ID(seats_confirm, booking, "id"),
         OPTIONAL_ID(seats_confirm, user, "USER", "id", "user_id"),
         OPTIONAL_ID(seats_confirm, payment, "PAYMENT", "id", "payment_id")),
    ANSWER(REPLY_LEAD, seats_confirm_reply,
           WORD(seats_confirm_reply, status), WORD(seats_confirm_reply, confirmation_code)),
    HTTP("POST", "/v1/events/{event}/bookings/{id}/confirm"),
    ALIAS("/v1/bookings/{id}/confirm", HF_RESERVATION_NOT_FOUND),
    SCRIPT("confirm_booking", "booking user payment @code",
           KEY_BOOKING, KEY_SEATS_DUE)},

[SEATS_RELEASE] = {.name = "SEATS.RELEASE", .number = 4, .flags = WRITES,
    .help = "Give the seats of a booking back",
    ARGS(seats_release, 2, ID(seats_release, event, "event"), ID(seats_release, booking, "id"),
         OPTIONAL_ID(seats_release, user, "USER", "id", "user_id")),
    ANSWER(REPLY_LEAD, seats_release_reply, WORD(seats_release_reply, status),
           NUMBER(seats_release_reply, available), NUMBER(seats_release_reply, user_reserved)),
    HTTP("POST", "/v1/events/{event}/bookings/{id}/cancel"),
    ALIAS("/v1/bookings/{id}/cancel", HF_RESERVATION_NOT_FOUND),
    SCRIPT("release_seats", "booking user",
           KEY_BOOKING, KEY_SEATS_DUE)},

[SEATS_EXTEND] = {.name = "SEATS.EXTEND", .number = 5, .flags = WRITES,
    .help = "Move a booking's deadline to now + ttl, at most 12 first TTLs after its start",
    ARGS(seats_extend, 3, ID(seats_extend, event, "event"), ID(seats_extend, booking, "id"),
         DURATION(seats_extend, ttl_ms, "ttl")),
    ANSWER(REPLY_LEAD, seats_extend_reply, NUMBER(seats_extend_reply, expires_at_ms)),
    HTTP("POST", "/v1/events/{event}/bookings/{id}/extend"),
    ALIAS("/v1/bookings/{id}/extend", HF_RESERVATION_NOT_FOUND),
    SCRIPT("extend_booking", "booking ttl",
           KEY_BOOKING, KEY_SEATS_DUE)},

[SEATS_GET] = {.name = "SEATS.GET", .number = 6, .flags = READS,
    .help = "One booking",
    ARGS(seats_get, 2, ID(seats_get, event, "event"), ID(seats_get, booking, "id")),
    ANSWER(REPLY_FIELDS, seats_get_reply,
           WORD(seats_get_reply, booking_id), WORD(seats_get_reply, user_id),
           WORD(seats_get_reply, zone_id), WORD(seats_get_reply, event_id),
           WORD(seats_get_reply, show_id), NUMBER(seats_get_reply, quantity),
           NUMBER(seats_get_reply, unit_price), WORD(seats_get_reply, status),
           NUMBER(seats_get_reply, created_at), NUMBER(seats_get_reply, expires_at),
           NUMBER(seats_get_reply, confirmed_at), WORD(seats_get_reply, payment_id),
           WORD(seats_get_reply, confirmation_code)),
    HTTP("GET", "/v1/events/{event}/bookings/{id}"),
    ALIAS("/v1/bookings/{id}", HF_RESERVATION_NOT_FOUND),
    SCRIPT("get_booking", "booking",
           KEY_BOOKING, KEY_SEATS_DUE)},

[SEATS_ZONE] = {.name = "SEATS.ZONE", .number = 7, .flags = READS,
    .help = "A zone's totals: capacity = available + reserved + confirmed",
    ARGS(seats_zone, 2, ID(seats_zone, event, "event"), ID(seats_zone, zone, "zone")),
    ANSWER(REPLY_FIELDS, seats_zone_reply,
           NUMBER(seats_zone_reply, capacity), NUMBER(seats_zone_reply, available),
           NUMBER(seats_zone_reply, reserved), NUMBER(seats_zone_reply, confirmed)),
    HTTP("GET", "/v1/events/{event}/zones/{zone}"),
    SCRIPT("get_zone", "",
           KEY_ZONE, KEY_ZONE_TOTALS, KEY_SEATS_DUE)},

[SEATS_USER] = {.name = "SEATS.USER", .number = 8, .flags = READS,
    .help = "How many seats a user holds and has confirmed in an event",
    ARGS(seats_user, 2, ID(seats_user, event, "event"), ID(seats_user, user, "user")),
    ANSWER(REPLY_LIST, seats_user_reply,
           NUMBER(seats_user_reply, held), NUMBER(seats_user_reply, confirmed)),
    SCRIPT("get_user", "",
           KEY_USER, KEY_USER_CONFIRMED, KEY_SEATS_DUE)},

/* Quota. */
[QUOTA_LIMIT] = {.name = "QUOTA.LIMIT", .number = 9, .flags = WRITES,
    .help = "Set a tenant's limit",
    ARGS(quota_limit, 2, ID(quota_limit, tenant, "tenant"), AMOUNT(quota_limit, limit, 0)),
    ANSWER(REPLY_LEAD, quota_reply, NUMBER(quota_reply, used), NUMBER(quota_reply, limit)),
    HTTP("PUT", "/v1/quotas/{tenant}"),
    SCRIPT("limit_quota", "limit",
           KEYS_OF_QUOTA)},

[QUOTA_RESERVE] = {.name = "QUOTA.RESERVE", .number = 10, .flags = WRITES,
    .figures_code = HF_QUOTA_EXCEEDED,
    .help = "Count an amount as used; with HOLD it returns at the TTL unless committed",
    ARGS(quota_reserve, 2, ID(quota_reserve, tenant, "tenant"), AMOUNT(quota_reserve, amount, 1),
         OPTIONAL_ID(quota_reserve, hold, "HOLD", "id", "hold_id"),
         {.name = "s", .field = "ttl_seconds", .keyword = "TTL", .type = ARG_DURATION,
          .offset = AT(quota_reserve, ttl_ms), .min = HF_TTL_MIN_MS, .max = HF_TTL_MAX_MS,
          .default_value = QUOTA_TTL_DEFAULT_MS, .needs = "HOLD"}),
    ANSWER(REPLY_LEAD, quota_reply, NUMBER(quota_reply, used), NUMBER(quota_reply, limit)),
    HTTP("POST", "/v1/quotas/{tenant}/reserve"),
    SCRIPT("reserve_quota", "amount hold ttl",
           KEYS_OF_QUOTA, KEY_QUOTA_CLOSED)},

[QUOTA_REFUND] = {.name = "QUOTA.REFUND", .number = 11, .flags = WRITES,
    .help = "Give committed usage back, never below 0",
    ARGS(quota_refund, 2, ID(quota_refund, tenant, "tenant"), AMOUNT(quota_refund, amount, 1)),
    ANSWER(REPLY_NUMBER, quota_refund_reply, NUMBER(quota_refund_reply, used)),
    HTTP("POST", "/v1/quotas/{tenant}/refund"),
    SCRIPT("refund_quota", "amount",
           KEYS_OF_QUOTA)},

[QUOTA_COMMIT] = {.name = "QUOTA.COMMIT", .number = 12, .flags = WRITES,
    .help = "A hold becomes usage",
    ARGS(quota_commit, 2, ID(quota_commit, tenant, "tenant"), ID(quota_commit, hold, "hold_id")),
    ANSWER(REPLY_LEAD, quota_reply, NUMBER(quota_reply, used), NUMBER(quota_reply, limit)),
    HTTP("POST", "/v1/quotas/{tenant}/commit"),
    SCRIPT("commit_quota", "hold",
           KEYS_OF_QUOTA, KEY_QUOTA_CLOSED)},

[QUOTA_CANCEL] = {.name = "QUOTA.CANCEL", .number = 13, .flags = WRITES,
    .help = "A hold is given back",
    ARGS(quota_cancel, 2, ID(quota_cancel, tenant, "tenant"), ID(quota_cancel, hold, "hold_id")),
    ANSWER(REPLY_LEAD, quota_reply, NUMBER(quota_reply, used), NUMBER(quota_reply, limit)),
    HTTP("POST", "/v1/quotas/{tenant}/cancel"),
    SCRIPT("cancel_quota", "hold",
           KEYS_OF_QUOTA, KEY_QUOTA_CLOSED)},

[QUOTA_SYNC] = {.name = "QUOTA.SYNC", .number = 14, .flags = WRITES,
    .help = "What the database says is used; open holds are added on top",
    ARGS(quota_sync, 2, ID(quota_sync, tenant, "tenant"), AMOUNT(quota_sync, actual, 0)),
    ANSWER(REPLY_LEAD, quota_reply, NUMBER(quota_reply, used), NUMBER(quota_reply, limit)),
    HTTP("POST", "/v1/quotas/{tenant}/sync"),
    SCRIPT("sync_quota", "actual",
           KEYS_OF_QUOTA)},

[QUOTA_GET] = {.name = "QUOTA.GET", .number = 15, .flags = READS,
    .help = "A tenant's totals; used includes held",
    ARGS(quota_get, 1, ID(quota_get, tenant, "tenant")),
    ANSWER(REPLY_LIST, quota_get_reply, NUMBER(quota_get_reply, used),
           NUMBER(quota_get_reply, limit), NUMBER(quota_get_reply, held)),
    HTTP("GET", "/v1/quotas/{tenant}"),
    SCRIPT("get_quota", "",
           KEYS_OF_QUOTA)},

/* Semaphore. */
[SEM_ACQUIRE] = {.name = "SEM.ACQUIRE", .number = 16, .flags = WRITES | WAITS,
    .help = "Take a slot, waiting in line for it if asked to",
    ARGS(sem_acquire, 3, ID(sem_acquire, name, "name"), ID(sem_acquire, id, "id"),
         COUNT(sem_acquire, limit, 1, HF_INTEGER_MAX),
         OPTIONAL_DURATION(sem_acquire, heartbeat_ms, "HEARTBEAT", "heartbeat_seconds",
                           SEM_HEARTBEAT_DEFAULT_MS),
         OPTIONAL_DURATION(sem_acquire, ttl_ms, "TTL", "ttl_seconds", SEM_TTL_DEFAULT_MS),
         OPTIONAL_WAIT(sem_acquire, wait_ms, "WAIT")),
    ANSWER(REPLY_LEAD, sem_acquire_reply,
           NUMBER(sem_acquire_reply, in_use), NUMBER(sem_acquire_reply, fence)),
    .undo = &command_table[SEM_RELEASE],
    HTTP("POST", "/v1/semaphores/{name}/acquire"), .made = 2,
    SCRIPT("acquire_slot", "id limit heartbeat ttl wait",
           KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_MAX, KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

[SEM_QUEUE] = {.name = "SEM.QUEUE", .number = 17, .flags = WRITES,
    .help = "Stand in line without waiting for the answer",
    ARGS(sem_queue, 4, ID(sem_queue, name, "name"), ID(sem_queue, id, "id"),
         DURATION(sem_queue, heartbeat_ms, "heartbeat"), DURATION(sem_queue, ttl_ms, "ttl")),
    ANSWER(REPLY_LEAD, sem_queue_reply, NUMBER(sem_queue_reply, position)),
    SCRIPT("queue", "id heartbeat ttl",
           KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_MAX, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

[SEM_WAKE] = {.name = "SEM.WAKE", .number = 18, .flags = WRITES,
    .help = "Hand free slots to the first in line",
    ARGS(sem_wake, 4, ID(sem_wake, name, "name"), COUNT(sem_wake, limit, 1, HF_INTEGER_MAX),
         DURATION(sem_wake, heartbeat_ms, "heartbeat"), DURATION(sem_wake, ttl_ms, "ttl")),
    ANSWER(REPLY_NUMBER, sem_wake_reply, NUMBER(sem_wake_reply, granted)),
    SCRIPT("wake_up_nexts", "limit heartbeat ttl",
           KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_MAX, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

[SEM_CONFIRM] = {.name = "SEM.CONFIRM", .number = 19, .flags = WRITES,
    .help = "Take a slot that was handed over into use; changed 0: the grant is stale",
    ARGS(sem_confirm, 5, ID(sem_confirm, name, "name"), ID(sem_confirm, id, "id"),
         COUNT(sem_confirm, limit, 1, HF_INTEGER_MAX),
         DURATION(sem_confirm, heartbeat_ms, "heartbeat"), DURATION(sem_confirm, ttl_ms, "ttl")),
    ANSWER(REPLY_LIST, sem_confirm_reply,
           NUMBER(sem_confirm_reply, changed), NUMBER(sem_confirm_reply, in_use)),
    SCRIPT("acquire", "id limit heartbeat ttl",
           KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_MAX, KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

[SEM_RELEASE] = {.name = "SEM.RELEASE", .number = 20, .flags = WRITES,
    .help = "Leave the slot or the line; the slot goes to the next in line in the same step",
    ARGS(sem_release, 2, ID(sem_release, name, "name"), ID(sem_release, id, "id")),
    ANSWER(REPLY_NUMBER, sem_release_reply, NUMBER(sem_release_reply, released)),
    HTTP("POST", "/v1/semaphores/{name}/release"),
    SCRIPT("release", "id",
           KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_MAX, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

[SEM_PING] = {.name = "SEM.PING", .number = 21, .flags = WRITES,
    .help = "Still alive; [0, 0]: the caller was taken for dead",
    ARGS(sem_ping, 4, ID(sem_ping, name, "name"), ID(sem_ping, id, "id"),
         DURATION(sem_ping, heartbeat_ms, "heartbeat"), DURATION(sem_ping, ttl_ms, "ttl")),
    ANSWER(REPLY_LIST, sem_ping_reply,
           NUMBER(sem_ping_reply, changed_waiting), NUMBER(sem_ping_reply, changed_slot)),
    HTTP("POST", "/v1/semaphores/{name}/ping"),
    SCRIPT("ping", "id heartbeat ttl",
           KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_MAX, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

[SEM_CARD] = {.name = "SEM.CARD", .number = 22, .flags = READS,
    .help = "Slots in use",
    ARGS(sem_card, 1, ID(sem_card, name, "name")),
    ANSWER(REPLY_NUMBER, sem_card_reply, NUMBER(sem_card_reply, in_use)),
    SCRIPT("card", "",
           KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_MAX, KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

[SEM_STATS] = {.name = "SEM.STATS", .number = 23, .flags = READS,
    .help = "Slots in use, the limit last given, and how many wait",
    ARGS(sem_stats, 1, ID(sem_stats, name, "name")),
    ANSWER(REPLY_FIELDS, sem_stats_reply, NUMBER(sem_stats_reply, in_use),
           NUMBER(sem_stats_reply, max), NUMBER(sem_stats_reply, waiting)),
    HTTP("GET", "/v1/semaphores/{name}"),
    SCRIPT("stats", "",
           KEY_SEM_SLOTS, KEY_SEM_SLOT_TTL, KEY_SEM_MAX, KEY_SEM_LINE, KEY_SEM_ALIVE, KEY_SEM_OWN,
           KEY_SEM_FENCE)},

/* Lock. */
[LOCK_TRY] = {.name = "LOCK.TRY", .number = 24, .flags = WRITES | RANDOM, .nil_code = HF_LOCKED,
    .help = "Take a lock; nil while somebody else holds it",
    ARGS(lock_try, 2, ID(lock_try, resource, "resource"), DURATION(lock_try, ttl_ms, "ttl"),
         OPTIONAL_ID(lock_try, id, "ID", "lock_id", "lock_id")),
    ANSWER(REPLY_LIST, lock_try_reply,
           WORD(lock_try_reply, lock_id), NUMBER(lock_try_reply, fence)),
    HTTP("POST", "/v1/locks/{resource}/lock"),
    SCRIPT("try_lock", "@lock_id ttl",
           KEY_LOCK, KEY_LOCK_FENCE)},

[LOCK_UNLOCK] = {.name = "LOCK.UNLOCK", .number = 25, .flags = WRITES,
    .help = "Unlock; 0 if that lock id does not hold it",
    ARGS(lock_unlock, 2, ID(lock_unlock, resource, "resource"),
         ID(lock_unlock, lock_id, "lock_id")),
    ANSWER(REPLY_NUMBER, lock_unlock_reply, NUMBER(lock_unlock_reply, unlocked)),
    HTTP("POST", "/v1/locks/{resource}/unlock"),
    SCRIPT("unlock", "lock_id",
           KEY_LOCK, KEY_LOCK_FENCE)},

[LOCK_EXTEND] = {.name = "LOCK.EXTEND", .number = 26, .flags = WRITES,
    .help = "Set a lock's deadline to now + ttl; 0 if that lock id does not hold it",
    ARGS(lock_extend, 3, ID(lock_extend, resource, "resource"),
         ID(lock_extend, lock_id, "lock_id"), DURATION(lock_extend, ttl_ms, "ttl")),
    ANSWER(REPLY_NUMBER, lock_extend_reply, NUMBER(lock_extend_reply, extended)),
    HTTP("POST", "/v1/locks/{resource}/extend"),
    SCRIPT("extend_lock", "lock_id ttl",
           KEY_LOCK, KEY_LOCK_FENCE)},

[LOCK_GET] = {.name = "LOCK.GET", .number = 27, .flags = READS, .nil_code = HF_NOT_FOUND,
    .help = "Who holds a lock, with its fence and the milliseconds left; nil if nobody",
    ARGS(lock_get, 1, ID(lock_get, resource, "resource")),
    ANSWER(REPLY_LIST, lock_get_reply, WORD(lock_get_reply, lock_id),
           NUMBER(lock_get_reply, fence), NUMBER(lock_get_reply, ttl_ms)),
    HTTP("GET", "/v1/locks/{resource}"),
    SCRIPT("get_lock", "",
           KEY_LOCK, KEY_LOCK_FENCE)},

/* Stock. */
[STOCK_LOAD] = {.name = "STOCK.LOAD", .number = 28, .flags = WRITES,
    .help = "Set how much of a product there is to sell",
    ARGS(stock_load, 2, ID(stock_load, product, "product"),
         COUNT(stock_load, quantity, 0, HF_INTEGER_MAX),
         OPTIONAL_COUNT(stock_load, shards, "SHARDS", 1, STOCK_SHARDS_MAX, 1),
         OPTIONAL_COUNT(stock_load, watermark, "WATERMARK", 0, HF_INTEGER_MAX, 0),
         OPTIONAL_CHOICE(stock_load, policy, "POLICY", "merge|steal")),
    ANSWER(REPLY_LEAD, stock_load_reply, NUMBER(stock_load_reply, available)),
    HTTP("PUT", "/v1/products/{product}"),
    SCRIPT("load_stock", "quantity shards watermark policy",
           KEYS_OF_STOCK)},

[STOCK_TAKE] = {.name = "STOCK.TAKE", .number = 29, .flags = WRITES,
    .help = "Hold some of a product for an order until it is settled, given back, or due",
    ARGS(stock_take, 4, ID(stock_take, product, "product"), ID(stock_take, order, "order_id"),
         ID(stock_take, user, "user_id"), COUNT(stock_take, quantity, 1, HF_INTEGER_MAX),
         OPTIONAL_DURATION(stock_take, ttl_ms, "TTL", "ttl_seconds", STOCK_TTL_DEFAULT_MS)),
    ANSWER(REPLY_LEAD, stock_take_reply, NUMBER(stock_take_reply, remaining)),
    SCRIPT("take_stock", "order user quantity ttl",
           KEYS_OF_STOCK)},

[STOCK_SETTLE] = {.name = "STOCK.SETTLE", .number = 30, .flags = WRITES,
    .help = "An order is sold for good",
    ARGS(stock_settle, 2, ID(stock_settle, product, "product"),
         ID(stock_settle, order, "order_id")),
    ANSWER(REPLY_LEAD, stock_settle_reply, NUMBER(stock_settle_reply, remaining)),
    SCRIPT("settle_stock", "order",
           KEYS_OF_STOCK)},

[STOCK_GIVE] = {.name = "STOCK.GIVE", .number = 31, .flags = WRITES,
    .help = "An order is taken back",
    ARGS(stock_give, 2, ID(stock_give, product, "product"), ID(stock_give, order, "order_id")),
    ANSWER(REPLY_LEAD, stock_give_reply, NUMBER(stock_give_reply, remaining)),
    SCRIPT("give_stock", "order",
           KEYS_OF_STOCK)},

[STOCK_GET] = {.name = "STOCK.GET", .number = 32, .flags = READS,
    .help = "A product's totals: loaded = available + taken + sold",
    ARGS(stock_get, 1, ID(stock_get, product, "product")),
    ANSWER(REPLY_FIELDS, stock_get_reply,
           NUMBER(stock_get_reply, available), NUMBER(stock_get_reply, taken),
           NUMBER(stock_get_reply, sold), NUMBER(stock_get_reply, loaded),
           NUMBER(stock_get_reply, shards), WORD(stock_get_reply, mode)),
    HTTP("GET", "/v1/products/{product}"),
    SCRIPT("get_stock", "",
           KEYS_OF_STOCK)},

[STOCK_ADJUST] = {.name = "STOCK.ADJUST", .number = 33, .flags = WRITES,
    .help = "Move what is available by a difference",
    ARGS(stock_adjust, 3, ID(stock_adjust, product, "product"),
         COUNT(stock_adjust, delta, -HF_INTEGER_MAX, HF_INTEGER_MAX),
         TEXT(stock_adjust, reason, 1, REASON_MAX)),
    ANSWER(REPLY_LEAD, stock_adjust_reply, NUMBER(stock_adjust_reply, available)),
    SCRIPT("adjust_stock", "delta reason",
           KEYS_OF_STOCK)},

/* Waiting room. */
[ROOM_JOIN] = {.name = "ROOM.JOIN", .number = 34, .flags = WRITES | RANDOM,
    .help = "Stand in an event's line",
    ARGS(room_join, 2, ID(room_join, event, "event"), ID(room_join, user, "user_id"),
         OPTIONAL_COUNT(room_join, max, "MAX", 1, HF_INTEGER_MAX, HF_INTEGER_MAX),
         OPTIONAL_DURATION(room_join, ttl_ms, "TTL", "ttl_seconds", ROOM_TTL_DEFAULT_MS)),
    ANSWER(REPLY_LEAD, room_join_reply, NUMBER(room_join_reply, position),
           NUMBER(room_join_reply, total), WORD(room_join_reply, token)),
    HTTP("POST", "/v1/events/{event}/queue"), .created = true,
    SCRIPT("join_queue", "user max ttl @token",
           KEY_QUEUE, KEY_QUEUE_USER, KEY_QUEUE_DUE)},

[ROOM_POSITION] = {.name = "ROOM.POSITION", .number = 35, .flags = READS,
    .help = "Where a user stands in line, and how many do",
    ARGS(room_position, 2, ID(room_position, event, "event"), ID(room_position, user, "user")),
    ANSWER(REPLY_LIST, room_position_reply,
           NUMBER(room_position_reply, position), NUMBER(room_position_reply, total)),
    HTTP("GET", "/v1/events/{event}/queue/{user}"),
    SCRIPT("queue_position", "user",
           KEY_QUEUE, KEY_QUEUE_USER, KEY_QUEUE_DUE)},

[ROOM_LEAVE] = {.name = "ROOM.LEAVE", .number = 36, .flags = WRITES,
    .help = "Leave the line; 0 if the user was not in it",
    ARGS(room_leave, 2, ID(room_leave, event, "event"), ID(room_leave, user, "user")),
    ANSWER(REPLY_NUMBER, room_leave_reply, NUMBER(room_leave_reply, left)),
    HTTP("DELETE", "/v1/events/{event}/queue/{user}"),
    SCRIPT("leave_queue", "user",
           KEY_QUEUE, KEY_QUEUE_USER, KEY_QUEUE_DUE)},

[ROOM_ADMIT] = {.name = "ROOM.ADMIT", .number = 37, .flags = WRITES | RANDOM,
    .help = "The first in line leave it and get a pass, in one step",
    ARGS(room_admit, 2, ID(room_admit, event, "event"),
         COUNT(room_admit, count, 1, HF_INTEGER_MAX),
         OPTIONAL_DURATION(room_admit, pass_ms, "PASS", "pass_seconds", ROOM_PASS_DEFAULT_MS)),
    ANSWER(REPLY_PAIRS, room_admitted, WORD(room_admitted, user), WORD(room_admitted, pass)),
    HTTP("POST", "/v1/events/{event}/queue/admit"),
    SCRIPT("admit_queue", "count pass @token",
           KEY_QUEUE, KEY_QUEUE_DUE)},

[ROOM_CHECK] = {.name = "ROOM.CHECK", .number = 38, .flags = READS,
    .help = "Is this the user's pass, and still good?",
    ARGS(room_check, 3, ID(room_check, event, "event"), ID(room_check, user, "user_id"),
         ID(room_check, pass, "pass")),
    ANSWER(REPLY_NUMBER, room_check_reply, NUMBER(room_check_reply, valid)),
    SCRIPT("check_pass", "user pass",
           KEY_QUEUE, KEY_QUEUE_USER, KEY_QUEUE_DUE)},

/* Idempotency. */
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
};
/* clang-format on */

const struct command_spec *command_find(struct hf_bytes name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (text_is_word(name, command_table[i].name)) {
            return &command_table[i];
        }
    }
    return NULL;
}

const struct command_spec *command_by_number(uint64_t number)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (command_table[i].number == number) {
            return &command_table[i];
        }
    }
    return NULL;
}
