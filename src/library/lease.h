/* SPDX-License-Identifier: Apache-2.0
 *
 * The lease keeper of a handle: two threads, begun with its first lease. One sends the signs of
 * life. The other watches the time and reports what is lost; it never waits for the engine, so that
 * an engine that hangs cannot keep a holder in the belief that it still holds.
 *
 *     held ──the engine says no, or the time is up──> lost ──reported──> over
 *       └───────────────────── hf_lease_release() ───────┴────────────────┴──> freed */
#ifndef LIBRARY_LEASE_H
#define LIBRARY_LEASE_H

#include "library/handle.h"

struct lease_keeper;

/* NULL for want of memory or threads. */
struct lease_keeper *lease_keeper_start(hf_handle *handle);

/* Ends both threads. Leases that are left hold nothing any more and are still to be released, which
 * frees them. NULL is fine. */
void lease_keeper_stop(struct lease_keeper *keeper);

#endif
