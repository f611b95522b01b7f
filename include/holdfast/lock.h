/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/lock.h: LOCK.*, one holder, its own key to unlock. Their scope is the resource. */
#ifndef HOLDFAST_LOCK_H
#define HOLDFAST_LOCK_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* LOCK.TRY: take the lock, or LOCKED. Without an id a random UUID is made. */
struct hf_lock_try_args {
    struct hf_bytes resource;
    int64_t ttl_ms;
    struct hf_bytes id; /* optional */
};
struct hf_lock_try_reply {
    char lock_id[HF_ID_SIZE];
    int64_t fence;
};
HF_API enum hf_error hf_lock_try(hf_handle *handle, const struct hf_lock_try_args *args,
                                 struct hf_lock_try_reply *reply);

/* LOCK.UNLOCK: unlocked is 0 if that id does not hold the lock. */
struct hf_lock_unlock_args {
    struct hf_bytes resource, lock_id;
};
struct hf_lock_unlock_reply {
    int64_t unlocked;
};
HF_API enum hf_error hf_lock_unlock(hf_handle *handle, const struct hf_lock_unlock_args *args,
                                    struct hf_lock_unlock_reply *reply);

/* LOCK.EXTEND: the deadline becomes now + ttl; extended is 0 if that id does not hold the lock. */
struct hf_lock_extend_args {
    struct hf_bytes resource, lock_id;
    int64_t ttl_ms;
};
struct hf_lock_extend_reply {
    int64_t extended;
};
HF_API enum hf_error hf_lock_extend(hf_handle *handle, const struct hf_lock_extend_args *args,
                                    struct hf_lock_extend_reply *reply);

/* LOCK.GET: who holds it and for how long still. NOT_FOUND if nobody does. */
struct hf_lock_get_args {
    struct hf_bytes resource;
};
struct hf_lock_get_reply {
    char lock_id[HF_ID_SIZE];
    int64_t fence, ttl_ms;
};
HF_API enum hf_error hf_lock_get(hf_handle *handle, const struct hf_lock_get_args *args,
                                 struct hf_lock_get_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
