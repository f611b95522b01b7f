/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/semaphore.h: SEM.*, N slots, strict FIFO, heartbeats. Their scope is the name. */
#ifndef HOLDFAST_SEMAPHORE_H
#define HOLDFAST_SEMAPHORE_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SEM.ACQUIRE: take a slot, or several at once. With wait_ms the calling thread waits in line up to
 * that long; nobody behind it overtakes, however few slots it wants. NO_SLOT without a wait,
 * TIMEOUT when it ran out; either way no trace of the caller is left. More slots than the limit:
 * INVALID_QUANTITY. A lock to wait for is a semaphore of limit 1. */
struct hf_sem_acquire_args {
    struct hf_bytes name, id;
    int64_t limit;
    int64_t heartbeat_ms; /* 0: 180 s */
    int64_t ttl_ms;       /* 0: 24 h */
    int64_t wait_ms;      /* 0: do not wait */
    int64_t slots;        /* 0: 1; at most 128 */
};
struct hf_sem_acquire_reply {
    int64_t in_use, fence;
};
HF_API enum hf_error hf_sem_acquire(hf_handle *handle, const struct hf_sem_acquire_args *args,
                                    struct hf_sem_acquire_reply *reply);

/* SEM.QUEUE: stand in line without waiting here; position counts from 1, 0 means a slot is held. */
struct hf_sem_queue_args {
    struct hf_bytes name, id;
    int64_t heartbeat_ms, ttl_ms;
};
struct hf_sem_queue_reply {
    int64_t position;
};
HF_API enum hf_error hf_sem_queue(hf_handle *handle, const struct hf_sem_queue_args *args,
                                  struct hf_sem_queue_reply *reply);

/* SEM.WAKE: hand free slots to the first in line. */
struct hf_sem_wake_args {
    struct hf_bytes name;
    int64_t limit, heartbeat_ms, ttl_ms;
};
struct hf_sem_wake_reply {
    int64_t granted;
};
HF_API enum hf_error hf_sem_wake(hf_handle *handle, const struct hf_sem_wake_args *args,
                                 struct hf_sem_wake_reply *reply);

/* SEM.CONFIRM: a client that was woken takes its slot into use. changed 0: the grant is stale. */
struct hf_sem_confirm_args {
    struct hf_bytes name, id;
    int64_t limit, heartbeat_ms, ttl_ms;
};
struct hf_sem_confirm_reply {
    int64_t changed, in_use;
};
HF_API enum hf_error hf_sem_confirm(hf_handle *handle, const struct hf_sem_confirm_args *args,
                                    struct hf_sem_confirm_reply *reply);

/* SEM.RELEASE: leave the slot or the line; a freed slot goes to the next in line at once. */
struct hf_sem_release_args {
    struct hf_bytes name, id;
};
struct hf_sem_release_reply {
    int64_t released;
};
HF_API enum hf_error hf_sem_release(hf_handle *handle, const struct hf_sem_release_args *args,
                                    struct hf_sem_release_reply *reply);

/* SEM.PING: still alive. Both 0: the caller was taken for dead. */
struct hf_sem_ping_args {
    struct hf_bytes name, id;
    int64_t heartbeat_ms, ttl_ms;
};
struct hf_sem_ping_reply {
    int64_t changed_waiting, changed_slot;
};
HF_API enum hf_error hf_sem_ping(hf_handle *handle, const struct hf_sem_ping_args *args,
                                 struct hf_sem_ping_reply *reply);

/* SEM.CARD: slots in use. */
struct hf_sem_card_args {
    struct hf_bytes name;
};
struct hf_sem_card_reply {
    int64_t in_use;
};
HF_API enum hf_error hf_sem_card(hf_handle *handle, const struct hf_sem_card_args *args,
                                 struct hf_sem_card_reply *reply);

/* SEM.STATS: slots in use, the limit last given, and how many wait. */
struct hf_sem_stats_args {
    struct hf_bytes name;
};
struct hf_sem_stats_reply {
    int64_t in_use, max, waiting;
};
HF_API enum hf_error hf_sem_stats(hf_handle *handle, const struct hf_sem_stats_args *args,
                                  struct hf_sem_stats_reply *reply);

/* SEM.LIST: the clients of a semaphore, holders and waiters, a page at a time. INVALID_ARGUMENT for
 * what is no cursor. */
struct hf_sem_list_args {
    struct hf_bytes name;
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_sem_client {
    char id[HF_ID_SIZE];
    char state[HF_WORD_SIZE]; /* "holding", "waiting" */
    int64_t slots;            /* that it holds, or waits for */
    int64_t position;         /* in line, from 1; 0: it holds */
    int64_t fence;            /* of the grant; 0: it waits */
    int64_t age_ms;           /* since it got its slots, or joined the line */
    int64_t expires_in_ms;    /* until it is out, unless it pings; of a wait, until it ends */
};
struct hf_sem_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_sem_client *items; /* NULL if there are none; free with hf_free() */
};
HF_API enum hf_error hf_sem_list(hf_handle *handle, const struct hf_sem_list_args *args,
                                 struct hf_sem_list_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
