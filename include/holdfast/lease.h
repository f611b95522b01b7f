/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/lease.h: slots and locks that are kept alive. */
#ifndef HOLDFAST_LEASE_H
#define HOLDFAST_LEASE_H

#include <holdfast/lock.h>
#include <holdfast/semaphore.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A slot or a lock held by this process, kept alive by threads of the handle: they send a SEM.PING
 * or LOCK.EXTEND five times in each heartbeat or ttl, and again soon after one that failed.
 *
 *     static void stop(void *context, const char *why) { … make the work end, quickly … }
 *
 *     struct hf_sem_acquire_args ask = {.name = HF_TEXT("gpu"), .id = hf_text(me), .limit = 4,
 *                                       .heartbeat_ms = 30000, .wait_ms = 600000};
 *     hf_lease *lease;
 *     if (hf_lease_slot(hf, &ask, stop, work, &lease, NULL) != HF_OK)
 *         return fprintf(stderr, "%s\n", hf_last_message()), 1;
 *     do_the(work, hf_lease_fence(lease));
 *     if (hf_lease_release(lease) != HF_OK)
 *         fprintf(stderr, "not held to the end: %s\n", hf_last_message());
 *
 * A lease is lost as soon as the engine says that it is not held, or when a heartbeat (of a lock,
 * its ttl) has passed since the last sign of life that the engine answered was sent; for a slot
 * also at the end of its ttl, which counts from the call, or if that waited, from its answer. 2 ms
 * and a thousandth are taken off each of these, for clocks that do not go alike, and the time goes
 * on while the machine is suspended. So the engine gives the hold to nobody else before
 * hf_lease_held() is false. What the hold protects should still refuse writes with a smaller
 * fence than it has seen: a process may be stopped between asking and writing. */
typedef struct hf_lease hf_lease;

/* Called once when a lease is lost, from a thread of the handle; `why` is valid during the call
 * only. It may call hf_lease_release() on this lease, not hf_close(), and should return soon:
 * losses are reported one after the other. */
typedef void hf_lease_lost(void *context, const char *why);

/* Acquires a slot, as hf_sem_acquire(), and keeps it. `lost` and `reply` may be NULL. On success
 * *lease is yours to hf_lease_release(); otherwise it is NULL and no trace of it is left, unless
 * the message says that the outcome is unknown: then it lapses by itself. The id should be one that
 * holds nothing yet: of a slot that was held before, only the engine knows when its ttl ends. */
HF_API enum hf_error hf_lease_slot(hf_handle *handle, const struct hf_sem_acquire_args *args,
                                   hf_lease_lost *lost, void *context, hf_lease **lease,
                                   struct hf_sem_acquire_reply *reply);

/* Takes a lock, as hf_lock_try(), and keeps it; as hf_lease_slot(). */
HF_API enum hf_error hf_lease_lock(hf_handle *handle, const struct hf_lock_try_args *args,
                                   hf_lease_lost *lost, void *context, hf_lease **lease,
                                   struct hf_lock_try_reply *reply);

/* Is it still held? To the moment, also before `lost` was called. Costs no call to the engine. */
HF_API bool hf_lease_held(const hf_lease *lease);

/* The number of the grant, larger than that of every grant before. */
HF_API int64_t hf_lease_fence(const hf_lease *lease);

/* Gives the slot or lock back and frees the lease, whatever is returned. `lost` is not called any
 * more once this has returned. NOT_FOUND if it had been lost before; errors of the engine, after
 * which it lapses by itself. After hf_close() of its handle a lease is not held, nothing was
 * reported or given back (it lapses by itself), and this only frees it. NULL is fine. */
HF_API enum hf_error hf_lease_release(hf_lease *lease);

#ifdef __cplusplus
}
#endif

#endif
