/* SPDX-License-Identifier: Apache-2.0
 *
 * Which request something belongs to: the request's id, and its place in a trace as W3C Trace
 * Context has it, https://www.w3.org/TR/trace-context/:
 *
 *     traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *                  version  the trace's id              the parent's id  flags
 *
 * Ids are made when somebody writes them down, not before: a request that is not logged and calls
 * nobody costs nothing. */
#ifndef BASE_TRACE_H
#define BASE_TRACE_H

#include "base/random.h"
#include "base/siphash.h"
#include "holdfast.h"

#define TRACE_REQUEST_MAX 128 /* bytes of a request's id */
#define TRACE_STATE_MAX 512   /* of a tracestate */
#define TRACE_PARENT_SIZE 56  /* of a traceparent, with its NUL */
#define TRACE_ID_SIZE 33      /* of a trace's id in hexadecimal, with its NUL */

struct trace_parent {
    uint8_t id[16];    /* all zeros: there is none */
    uint8_t parent[8]; /* whoever called */
    uint8_t flags;
};

/* Reads a traceparent. False for one that is malformed, whose ids are all zeros, or of version ff.
 * Of a version that is not known yet the four fields count that this one has. */
bool trace_read(struct hf_bytes text, struct trace_parent *trace);

/* May it be passed on? Of a list of key=value without anything that could not stand in a header. */
bool trace_state_is_valid(struct hf_bytes state);

/* 1 to TRACE_REQUEST_MAX printable characters, none of them a space. */
bool trace_request_is_valid(struct hf_bytes id);

/* A trace of our own, always the same for the same key and bytes: what nobody else has begun can be
 * named again without having been kept. */
void trace_derive(const uint8_t key[SIPHASH_KEY], const void *data, size_t size,
                  struct trace_parent *trace);

static inline bool trace_is_known(const struct trace_parent *trace)
{
    static const uint8_t none[sizeof trace->id] = {0};

    return memcmp(trace->id, none, sizeof none) != 0;
}

void trace_write(const struct trace_parent *trace, char out[TRACE_PARENT_SIZE]);
void trace_write_id(const struct trace_parent *trace, char out[TRACE_ID_SIZE]);

/* The same trace one call further: for a request of ours, with an id of its own as the parent. */
void trace_continue(const struct trace_parent *trace, struct random *random,
                    char out[TRACE_PARENT_SIZE]);

/* What is known of a request. */
struct trace_request {
    char id[TRACE_REQUEST_MAX + 1]; /* "": not known */
    struct trace_parent trace;
    char state[TRACE_STATE_MAX + 1]; /* what came with the trace, to be passed on; "": nothing */
};

/* Whoever can tell which request it is. Asked on the thread that handles the request, and no longer
 * than until that is answered. */
struct trace_source {
    void (*describe)(const struct trace_source *source, struct trace_request *out);
};

#endif
