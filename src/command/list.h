/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of commands. The enum, the union of arguments, the core's functions and their
 * dispatch, and the typed calls of the library are made from it; all else about a command stands in
 * its row (rows_*.h). Nothing depends on the order of the lines.
 *
 * X(id, name, reply, memory, scope):
 *
 *   id      its enumerator.
 *   name    names the core's function, the member of union command_args, the public argument struct
 *           hf_<name>_args and the public call hf_<name>().
 *   reply   the public reply struct hf_<reply>.
 *   memory  PLAIN: the reply struct is filled by the row. OWNED: the reply struct has memory that
 *           the caller frees, and a function of library/typed.c fills it. PAGE: the reply struct
 *           has a cursor and items, which the caller frees; the row is that of an item.
 *   scope   the core's kind of record that the first argument names: what is due of it expires
 *           before the command runs. SEMAPHORES: all of them, for they share a counter of fences.
 *           NO_KIND: only the record that the command looks up itself. SERVICE: no engine carries
 *           it out; the row has the flag COMMAND_SERVICE, and neither a function of the core nor a
 *           script. */
#ifndef COMMAND_LIST_H
#define COMMAND_LIST_H

/* clang-format off */
#define COMMAND_LIST(X)                                                                            \
    X(SEATS_OPEN,     seats_open,     seats_open_reply,     PLAIN, EVENTS)                         \
    X(SEATS_RESERVE,  seats_reserve,  seats_reserve_reply,  PLAIN, EVENTS)                         \
    X(SEATS_CONFIRM,  seats_confirm,  seats_confirm_reply,  PLAIN, EVENTS)                         \
    X(SEATS_RELEASE,  seats_release,  seats_release_reply,  PLAIN, EVENTS)                         \
    X(SEATS_REFUND,   seats_refund,   seats_refund_reply,   PLAIN, EVENTS)                         \
    X(SEATS_EXTEND,   seats_extend,   seats_extend_reply,   PLAIN, EVENTS)                         \
    X(SEATS_GET,      seats_get,      seats_get_reply,      PLAIN, EVENTS)                         \
    X(SEATS_LIST,     seats_list,     seats_list_reply,     PAGE,  EVENTS)                         \
    X(SEATS_ZONE,     seats_zone,     seats_zone_reply,     PLAIN, EVENTS)                         \
    X(SEATS_USER,     seats_user,     seats_user_reply,     PLAIN, EVENTS)                         \
    X(SEATS_CLOSE,    seats_close,    seats_close_reply,    PLAIN, EVENTS)                         \
    X(SEATS_BOOKINGS, seats_bookings, seats_bookings_reply, PAGE,  SERVICE)                        \
    X(SEATS_HISTORY,  seats_history,  seats_history_reply,  PAGE,  SERVICE)                        \
    X(SEATS_SUMMARY,  seats_summary,  seats_summary_reply,  PLAIN, SERVICE)                        \
    X(SEATS_CHECKOUT, seats_checkout, seats_checkout_reply, PLAIN, SERVICE)                        \
    X(QUOTA_LIMIT,    quota_limit,    quota_reply,          PLAIN, TENANTS)                        \
    X(QUOTA_RESERVE,  quota_reserve,  quota_reply,          PLAIN, TENANTS)                        \
    X(QUOTA_REFUND,   quota_refund,   quota_refund_reply,   PLAIN, TENANTS)                        \
    X(QUOTA_COMMIT,   quota_commit,   quota_reply,          PLAIN, TENANTS)                        \
    X(QUOTA_CANCEL,   quota_cancel,   quota_reply,          PLAIN, TENANTS)                        \
    X(QUOTA_EXTEND,   quota_extend,   quota_extend_reply,   PLAIN, TENANTS)                        \
    X(QUOTA_LIST,     quota_list,     quota_list_reply,     PAGE,  TENANTS)                        \
    X(QUOTA_CLOSE,    quota_close,    quota_reply,          PLAIN, TENANTS)                        \
    X(QUOTA_SYNC,     quota_sync,     quota_reply,          PLAIN, TENANTS)                        \
    X(QUOTA_MARK,     quota_mark,     quota_mark_reply,     PLAIN, TENANTS)                        \
    X(QUOTA_SYNCALL,  quota_syncall,  quota_syncall_reply,  PLAIN, SERVICE)                        \
    X(QUOTA_SYNCED,   quota_synced,   quota_synced_reply,   PAGE,  SERVICE)                        \
    X(QUOTA_GET,      quota_get,      quota_get_reply,      PLAIN, TENANTS)                        \
    X(SEM_ACQUIRE,    sem_acquire,    sem_acquire_reply,    PLAIN, SEMAPHORES)                     \
    X(SEM_QUEUE,      sem_queue,      sem_queue_reply,      PLAIN, SEMAPHORES)                     \
    X(SEM_WAKE,       sem_wake,       sem_wake_reply,       PLAIN, SEMAPHORES)                     \
    X(SEM_CONFIRM,    sem_confirm,    sem_confirm_reply,    PLAIN, SEMAPHORES)                     \
    X(SEM_RELEASE,    sem_release,    sem_release_reply,    PLAIN, SEMAPHORES)                     \
    X(SEM_PING,       sem_ping,       sem_ping_reply,       PLAIN, SEMAPHORES)                     \
    X(SEM_CARD,       sem_card,       sem_card_reply,       PLAIN, SEMAPHORES)                     \
    X(SEM_STATS,      sem_stats,      sem_stats_reply,      PLAIN, SEMAPHORES)                     \
    X(SEM_LIST,       sem_list,       sem_list_reply,       PAGE,  SEMAPHORES)                     \
    X(LOCK_TRY,       lock_try,       lock_try_reply,       PLAIN, SEMAPHORES)                     \
    X(LOCK_UNLOCK,    lock_unlock,    lock_unlock_reply,    PLAIN, NO_KIND)                        \
    X(LOCK_EXTEND,    lock_extend,    lock_extend_reply,    PLAIN, NO_KIND)                        \
    X(LOCK_GET,       lock_get,       lock_get_reply,       PLAIN, NO_KIND)                        \
    X(STOCK_LOAD,     stock_load,     stock_load_reply,     PLAIN, PRODUCTS)                       \
    X(STOCK_TAKE,     stock_take,     stock_take_reply,     PLAIN, PRODUCTS)                       \
    X(STOCK_EXTEND,   stock_extend,   stock_extend_reply,   PLAIN, PRODUCTS)                       \
    X(STOCK_SETTLE,   stock_settle,   stock_settle_reply,   PLAIN, PRODUCTS)                       \
    X(STOCK_GIVE,     stock_give,     stock_give_reply,     PLAIN, PRODUCTS)                       \
    X(STOCK_LIST,     stock_list,     stock_list_reply,     PAGE,  PRODUCTS)                       \
    X(STOCK_SHARDS,   stock_shards,   stock_shards_reply,   PAGE,  PRODUCTS)                       \
    X(STOCK_CLOSE,    stock_close,    stock_close_reply,    PLAIN, PRODUCTS)                       \
    X(STOCK_GET,      stock_get,      stock_get_reply,      PLAIN, PRODUCTS)                       \
    X(STOCK_ADJUST,   stock_adjust,   stock_adjust_reply,   PLAIN, PRODUCTS)                       \
    X(STOCK_OPEN,     stock_open,     stock_open_reply,     PLAIN, SERVICE)                        \
    X(STOCK_BUY,      stock_buy,      stock_buy_reply,      PLAIN, SERVICE)                        \
    X(STOCK_RETURN,   stock_return,   stock_return_reply,   PLAIN, SERVICE)                        \
    X(STOCK_ORDER,    stock_order,    stock_order_reply,    PLAIN, SERVICE)                        \
    X(RECONCILE,      reconcile,      reconcile_reply,      PLAIN, SERVICE)                        \
    X(SAGA_GET,       saga_get,       saga_get_reply,       PLAIN, SERVICE)                        \
    X(SAGA_LIST,      saga_list,      saga_list_reply,      PAGE,  SERVICE)                        \
    X(SAGA_RESUME,    saga_resume,    saga_change_reply,    PLAIN, SERVICE)                        \
    X(SAGA_REFUND,    saga_refund,    saga_change_reply,    PLAIN, SERVICE)                        \
    X(SAGA_WAKE,      saga_wake,      saga_change_reply,    PLAIN, SERVICE)                        \
    X(WEBHOOKS_REPLAY, webhooks_replay, webhooks_replay_reply, PLAIN, SERVICE)                     \
    X(ROOM_OPEN,      room_open,      room_open_reply,      PLAIN, ROOMS)                          \
    X(ROOM_JOIN,      room_join,      room_join_reply,      PLAIN, ROOMS)                          \
    X(ROOM_POSITION,  room_position,  room_position_reply,  PLAIN, ROOMS)                          \
    X(ROOM_LEAVE,     room_leave,     room_leave_reply,     PLAIN, ROOMS)                          \
    X(ROOM_ADMIT,     room_admit,     room_admit_reply,     OWNED, ROOMS)                          \
    X(ROOM_TICK,      room_tick,      room_admit_reply,     OWNED, ROOMS)                          \
    X(ROOM_CHECK,     room_check,     room_check_reply,     PLAIN, ROOMS)                          \
    X(ROOM_DONE,      room_done,      room_done_reply,      PLAIN, ROOMS)                          \
    X(ROOM_STATS,     room_stats,     room_stats_reply,     PLAIN, ROOMS)                          \
    X(IDEM_BEGIN,     idem_begin,     idem_begin_reply,     OWNED, NO_KIND)                        \
    X(IDEM_COMPLETE,  idem_complete,  idem_complete_reply,  PLAIN, NO_KIND)                        \
    X(IDEM_ABORT,     idem_abort,     idem_abort_reply,     PLAIN, NO_KIND)                        \
    X(LIST,           list,           list_reply,           PAGE,  NO_KIND)
/* clang-format on */

#endif
