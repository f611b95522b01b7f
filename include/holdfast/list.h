/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/list.h: LIST, what there is. */
#ifndef HOLDFAST_LIST_H
#define HOLDFAST_LIST_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* LIST: the names of all that there is of a kind ("events", "zones", "tenants", "semaphores",
 * "locks", "products", "rooms" or "keys") that begin with `match`, with its totals. A zone's name
 * is that of its event, a space and its own. A server tells names only; totals of other kinds, and
 * those that an engine does not know, are 0 or empty. */
struct hf_list_args {
    struct hf_bytes kind;
    struct hf_bytes match; /* optional */
    struct hf_bytes after; /* optional: the cursor of the page before */
    int64_t count;         /* 0: 100 */
};
struct hf_list_item {
    char name[2 * HF_ID_SIZE];
    char event_id[HF_ID_SIZE], zone_id[HF_ID_SIZE];   /* of a zone */
    int64_t zones, bookings;                          /* of an event */
    int64_t capacity, available, reserved, confirmed; /* of a zone */
    int64_t used, limit, held;                        /* of a tenant */
    int64_t in_use, max, waiting;                     /* of a semaphore; waiting of a room */
    int64_t inside;                                   /* of a room */
    char lock_id[HF_ID_SIZE];                         /* of a lock */
    int64_t fence, ttl_ms;                            /* of a lock */
    int64_t taken, sold, loaded, shards;              /* of a product, with available */
    char mode[HF_WORD_SIZE];                          /* of a product */
    char state[HF_WORD_SIZE];                         /* of a key: "PROCESSING", "COMPLETED" */
};
struct hf_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for `after` of the next page; empty at the end */
    size_t count;
    struct hf_list_item *items; /* free with hf_free() */
};
HF_API enum hf_error hf_list(hf_handle *handle, const struct hf_list_args *args,
                             struct hf_list_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
