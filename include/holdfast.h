/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast.h: hand out scarce things, never more than there are.
 *
 *     hf_handle *hf;
 *     struct hf_seats_open_args open = {
 *         .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = 500};
 *     struct hf_seats_reserve_args ask = {
 *         .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .booking = HF_TEXT("b-1"),
 *         .user = HF_TEXT("ann"), .quantity = 2, .max_per_user = 4};
 *     struct hf_seats_reserve_reply got;
 *
 *     if (hf_open("embedded:", &hf) != HF_OK || hf_seats_open(hf, &open, NULL) != HF_OK ||
 *         hf_seats_reserve(hf, &ask, &got) != HF_OK)
 *         return fprintf(stderr, "%s\n", hf_last_message()), 1;
 *     printf("%lld seats left\n", (long long)got.remaining);
 *     hf_close(hf);
 *
 * Rules that hold for every call:
 * - A call returns HF_OK or the code of what went wrong, and then has changed nothing.
 *   hf_last_message() says it in words. There are two exceptions. BUSY for want of memory for the
 *   reply: its message says that the command was carried out. And TIMEOUT from a server, with a
 *   message that starts "outcome unknown:": the command was sent and no answer came. In both cases
 *   ask again with the same id; a retry is safe. The library itself never sends anything twice.
 * - Arguments are borrowed for the length of the call; nothing you pass in is kept.
 * - In an argument struct a zero optional member means "the default". Times are in milliseconds.
 * - A reply struct is yours, filled in place, and may be NULL when you do not want it. Only
 *   members marked "free with hf_free()" own memory.
 * - A list answers a page: items, and a cursor for the `after` of the next call, which is empty at
 *   the end. A page may be short, or empty, with a cursor: then go on. What is there from the first
 *   page to the last comes exactly once, whatever else comes and goes.
 * - A handle may be used by any number of threads at once, and by the process that opened it only.
 *   After a fork() the child opens a handle of its own: on one that it inherited, and on its
 *   leases, every call is refused with INVALID_STATE and does nothing, hf_lease_held() is false,
 *   and hf_close() leaves journal, lock, connections and memory to the parent, which goes on as if
 *   nothing had happened. A program that is executed inherits no files or connections.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

/* The version of this header; hf_version() has that of the library. */
#define HF_VERSION "0.1.0"

/* What all calls have in common. */
#include <holdfast/common.h>
#include <holdfast/error.h>
#include <holdfast/handle.h>
#include <holdfast/call.h>

/* The families. Each command has a struct of its arguments, one of its reply, and a function that
 * takes both. The comment on top of the three says what it does and which refusals it has of its
 * own. */
#include <holdfast/seats.h>
#include <holdfast/quota.h>
#include <holdfast/semaphore.h>
#include <holdfast/lock.h>
#include <holdfast/lease.h>
#include <holdfast/stock.h>
#include <holdfast/saga.h>
#include <holdfast/webhooks.h>
#include <holdfast/room.h>
#include <holdfast/idempotency.h>
#include <holdfast/list.h>

#endif
