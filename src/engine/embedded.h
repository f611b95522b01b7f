/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine in this process, opened with parts of the caller's choosing: for tests and
 * simulations. Everybody else uses engine_open(). */
#ifndef ENGINE_EMBEDDED_H
#define ENGINE_EMBEDDED_H

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "journal/journal.h"

struct embedded_options {
    struct storage *storage; /* NULL: in memory only. Taken over in any case */
    enum journal_policy policy;
    int64_t segment_bytes;  /* 0: 64 MiB */
    int64_t snapshot_bytes; /* a snapshot after so much growth; 0: 256 MiB, -1: only on demand */
    int64_t snapshot_timeout_ms; /* a snapshot may make no progress for so long; 0: a minute */
    int64_t max_memory_bytes;    /* of the state; 0: three quarters of what there is */
    int64_t min_free_bytes;      /* with less room than this it is not ready; 0: it always is */
    struct clock clock;
    struct log log;
    bool answers_before_flush; /* see engine_options */
    bool pages_ahead;          /* a thread finds memory in advance */
    bool fixed_entropy; /* of commands: counted instead of random, so that runs can be repeated */
    bool steady_fences; /* no jump at the start: so that states before and after can be compared */
    void (*progress)(void *context, int64_t done, int64_t total); /* of recovery; may be NULL */
    void *progress_context;
};

enum hf_error embedded_open_with(const struct embedded_options *options, struct engine **engine,
                                 struct problem *problem);

/* The digest of the state: equal for equal states. */
uint64_t embedded_digest(struct engine *engine);

#endif
