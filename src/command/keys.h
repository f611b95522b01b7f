/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys that scripts touch, each by a name. Rows, the release worker, the audit and the shards
 * of stock name keys, and this list says how they are called in Redis. */
#ifndef COMMAND_KEYS_H
#define COMMAND_KEYS_H

#include <stdbool.h>

/* X(name, form on a single Redis, form on a cluster), with $argument where an argument goes.
 *
 * On a cluster the scope stands in braces, as the hash tag. A single Redis has no braces where the
 * scope is all there is to tell keys apart; where it is not (a zone's name may come again in the
 * next event), both forms are the same. No key may be of two forms: the audit and the worker read
 * the names of keys back. */
#define KEY_LIST(X)                                                                                \
    X(ZONE, "zone:availability:{$event}:$zone", "zone:availability:{$event}:$zone")                \
    X(ZONE_TOTALS, "zone:totals:{$event}:$zone", "zone:totals:{$event}:$zone")                     \
    X(USER, "user:reservations:{$event}:$user", "user:reservations:{$event}:$user")                \
    X(USER_CONFIRMED, "user:confirmed:{$event}:$user", "user:confirmed:{$event}:$user")            \
    X(BOOKING, "reservation:{$event}:$booking", "reservation:{$event}:$booking")                   \
    X(SEATS_DUE, "seats:due:{$event}", "seats:due:{$event}")                                       \
    X(SEATS_DUE_PLAIN, "seats:due:$event", "seats:due:$event")                                     \
    X(SEATS_RULES, "seats:rules:{$event}", "seats:rules:{$event}")                                 \
    X(SEATS_BOOKINGS, "seats:bookings:{$event}", "seats:bookings:{$event}")                        \
    X(SEATS_ZONES, "seats:zones:{$event}", "seats:zones:{$event}")                                 \
    X(QUOTA_USED, "quota:tenant:$tenant:used", "quota:tenant:{$tenant}:used")                      \
    X(QUOTA_LIMIT, "quota:tenant:$tenant:limit", "quota:tenant:{$tenant}:limit")                   \
    X(QUOTA_HELD, "quota:tenant:$tenant:held", "quota:tenant:{$tenant}:held")                      \
    X(QUOTA_HOLDS, "quota:tenant:$tenant:holds", "quota:tenant:{$tenant}:holds")                   \
    X(QUOTA_DUE, "quota:tenant:$tenant:due", "quota:tenant:{$tenant}:due")                         \
    X(QUOTA_NAMES, "quota:tenant:$tenant:names", "quota:tenant:{$tenant}:names")                   \
    X(QUOTA_ENDED, "quota:tenant:$tenant:ended", "quota:tenant:{$tenant}:ended")                   \
    X(QUOTA_COMMITS, "quota:tenant:$tenant:commits", "quota:tenant:{$tenant}:commits")             \
    X(QUOTA_CLOSED, "quota:closed:{$tenant}:$hold", "quota:closed:{$tenant}:$hold")                \
    X(SEM_SLOTS, "adv-sem:semaphore_main:$name", "adv-sem:semaphore_main:{$name}")                 \
    X(SEM_SLOT_TTL, "adv-sem:semaphore_ttl:$name", "adv-sem:semaphore_ttl:{$name}")                \
    X(SEM_MAX, "adv-sem:semaphore_max:$name", "adv-sem:semaphore_max:{$name}")                     \
    X(SEM_LINE, "adv-sem:semaphore_waiting:$name", "adv-sem:semaphore_waiting:{$name}")            \
    X(SEM_ALIVE, "adv-sem:semaphore_waiting_heartbeat:$name",                                      \
      "adv-sem:semaphore_waiting_heartbeat:{$name}")                                               \
    X(SEM_OWN, "adv-sem:semaphore_own:$name", "adv-sem:semaphore_own:{$name}")                     \
    X(SEM_FENCE, "adv-sem:semaphore_fence:$name", "adv-sem:semaphore_fence:{$name}")               \
    X(SEM_NAMES, "adv-sem:semaphore_names:$name", "adv-sem:semaphore_names:{$name}")               \
    X(LOCK, "seat:locked:$resource", "seat:locked:{$resource}")                                    \
    X(LOCK_FENCE, "seat:fence:$resource", "seat:fence:{$resource}")                                \
    X(STOCK, "stock:$product_main", "stock:{$product_main}")                                       \
    X(STOCK_TOTALS, "stock:totals:{$product_main}", "stock:totals:{$product_main}")                \
    X(STOCK_ORDERS, "stock:orders:{$product_main}", "stock:orders:{$product_main}")                \
    X(STOCK_DUE, "stock:due:{$product_main}", "stock:due:{$product_main}")                         \
    X(STOCK_USERS, "stock:users:{$product_main}", "stock:users:{$product_main}")                   \
    X(STOCK_NAMES, "stock:names:{$product_main}", "stock:names:{$product_main}")                   \
    X(STOCK_OUTBOX, "stock:outbox:{$product_main}", "stock:outbox:{$product_main}")                \
    X(STOCK_INBOX, "stock:inbox:{$product_main}", "stock:inbox:{$product_main}")                   \
    X(QUEUE, "queue:$event", "queue:{$event}")                                                     \
    X(QUEUE_USER, "queue:user:{$event}:$user", "queue:user:{$event}:$user")                        \
    X(QUEUE_DUE, "queue:due:{$event}", "queue:due:{$event}")                                       \
    X(QUEUE_ROOM, "queue:room:{$event}", "queue:room:{$event}")                                    \
    X(QUEUE_PASSES, "queue:passes:{$event}", "queue:passes:{$event}")                              \
    X(QUEUE_ADMISSION, "queue:admission:{$event}:$id", "queue:admission:{$event}:$id")             \
    X(IDEM, "idemp:$key", "idemp:{$key}")

/* KEY_NONE, which is 0, ends a list of keys. */
enum key_id {
    KEY_NONE,
#define X(name, standalone, cluster) KEY_##name,
    KEY_LIST(X)
#undef X
        KEY_COUNT
};

/* The keys that all scripts of a family touch, in their order. */
#define KEYS_OF_QUOTA                                                                              \
    KEY_QUOTA_USED, KEY_QUOTA_LIMIT, KEY_QUOTA_HELD, KEY_QUOTA_HOLDS, KEY_QUOTA_DUE
#define KEYS_OF_ROOM KEY_QUEUE, KEY_QUEUE_DUE, KEY_QUEUE_ROOM, KEY_QUEUE_PASSES
#define KEYS_OF_STOCK                                                                              \
    KEY_STOCK, KEY_STOCK_TOTALS, KEY_STOCK_ORDERS, KEY_STOCK_DUE, KEY_STOCK_USERS, KEY_STOCK_NAMES

/* The form of a key, such as "zone:totals:{$event}:$zone". */
const char *key_form(enum key_id key, bool cluster);

#endif
