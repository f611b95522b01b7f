/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client would like, by header fields that need not be heeded: Prefer (RFC 7240) and Accept
 * (RFC 9110). What cannot be understood is as if it were not there. No session, no memory. */
#ifndef SERVER_HTTP_HTTP_PREFERENCE_H
#define SERVER_HTTP_HTTP_PREFERENCE_H

#include "holdfast.h"

/* Seconds of "wait=N" in Prefer; the first one counts. False if there is none. */
bool http_prefers_wait(struct hf_bytes prefer, int64_t *seconds);

/* Thousandths of the quality that a list (Accept, Accept-Encoding) gives what it calls by this
 * name, which is in capitals; 1000 where it says none, 0 if the name is not in it. */
int http_quality(struct hf_bytes list, const char *name);

/* Does Accept name application/problem+json, and want it no less than application/json? Ranges do
 * not ask for it: who sends them has always been given our own form. */
bool http_accepts_problem(struct hf_bytes accept);

#endif
