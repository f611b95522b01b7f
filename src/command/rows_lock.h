/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of locks, for the table in table.c. */
/* clang-format off */

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
