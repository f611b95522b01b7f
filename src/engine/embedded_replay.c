/* SPDX-License-Identifier: Apache-2.0
 *
 * The state as its directory has it: read from a snapshot, then every record of the journal after
 * it applied. Records are decoded on one thread and applied on another; see journal/journal.h. */
#include "base/huge_pages.h"
#include "command/binary.h"
#include "engine/embedded_state.h"
#include "engine/own_record.h"

#include <stdio.h>
#include <stdlib.h>

/* So far ahead of a command what it looks up is fetched. */
#define FETCHED_AHEAD 12

/* A record that is decoded and not applied yet. */
struct decoded {
    int64_t time_ms;
    bool is_own;
    struct own_record own;
    struct command command;
    struct binary_scratch scratch;
};

struct replaying {
    struct embedded *embedded;
    struct decoded slots[JOURNAL_SLOTS];
};

static struct decoded *slot(struct replaying *replaying, uint64_t number)
{
    return &replaying->slots[number % JOURNAL_SLOTS];
}

static enum journal_taken recover_state(void *context, uint64_t sequence, struct reader *state,
                                        char why[256])
{
    struct embedded *embedded = ((struct replaying *)context)->embedded;
    uint64_t seed[2];
    struct problem problem;
    (void)sequence;

    random_bytes(&embedded->random, seed, sizeof seed);
    struct core *core = core_restore_from(&embedded->memory, seed, state, &problem);
    if (core == NULL) {
        snprintf(why, 256, "%.250s", problem.message);
        return problem.code == HF_BUSY ? JOURNAL_NO_MEMORY : JOURNAL_REFUSED;
    }
    core_destroy(embedded->core);
    embedded->core = core;
    return JOURNAL_TAKEN;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static enum journal_taken decode_record(void *context, uint64_t number, int64_t time_ms,
                                        struct hf_bytes bytes, char why[256])
{
    struct decoded *decoded = slot(context, number);
    struct problem problem;

    if (time_ms < 0 || time_ms > CLOCK_MAX_MS) {
        snprintf(why, 256, "the time of the record is out of bounds");
        return JOURNAL_REFUSED;
    }
    decoded->time_ms = time_ms;
    decoded->is_own = own_record_is(bytes);
    if (decoded->is_own) {
        if (!own_record_decode(&decoded->own, bytes)) {
            snprintf(why, 256, "malformed record of a start or of the passing of time");
            return JOURNAL_REFUSED;
        }
        return JOURNAL_TAKEN;
    }
    if (command_from_binary(&decoded->command, bytes, &decoded->scratch, &problem) != HF_OK) {
        snprintf(why, 256, "%.250s", problem.message);
        return JOURNAL_REFUSED;
    }
    return JOURNAL_TAKEN;
}

/* ---- applying -------------------------------------------------------------------------------- */

static void apply_own(struct embedded *embedded, const struct decoded *decoded)
{
    if (decoded->own.kind == OWN_START) {
        core_begin_run(embedded->core, &decoded->own.run, decoded->own.fence, decoded->time_ms);
    } else {
        core_advance(embedded->core, decoded->time_ms);
    }
}

/* There is no limit of memory yet: what was acknowledged is taken whatever it takes, and BUSY means
 * that the system has no more. */
static enum journal_taken apply_record(struct embedded *embedded, const struct decoded *decoded,
                                       char why[256])
{
    embedded->recorded_ms = decoded->time_ms;
    if (decoded->is_own) {
        apply_own(embedded, decoded);
        core_clear_wakeups(embedded->core);
        return JOURNAL_TAKEN;
    }
    core_apply(embedded->core, &decoded->command, decoded->time_ms, &embedded->reply);
    core_clear_wakeups(embedded->core);
    if (embedded->reply.code == HF_OK) {
        return JOURNAL_TAKEN;
    }
    snprintf(why, 256, "%s was acknowledged but is refused now: %s", decoded->command.spec->name,
             hf_error_name(embedded->reply.code));
    return embedded->reply.code == HF_BUSY ? JOURNAL_NO_MEMORY : JOURNAL_REFUSED;
}

static void fetch(struct replaying *replaying, uint64_t number, uint64_t to)
{
    if (number < to && !slot(replaying, number)->is_own) {
        core_prepare(replaying->embedded->core, &slot(replaying, number)->command, 1);
    }
}

static uint64_t apply_records(void *context, uint64_t from, uint64_t to, enum journal_taken *taken,
                              char why[256])
{
    struct replaying *replaying = context;

    *taken = JOURNAL_TAKEN;
    for (uint64_t i = from; i < from + FETCHED_AHEAD; i++) {
        fetch(replaying, i, to);
    }
    for (uint64_t i = from; i < to; i++) {
        fetch(replaying, i + FETCHED_AHEAD, to);
        *taken = apply_record(replaying->embedded, slot(replaying, i), why);
        if (*taken != JOURNAL_TAKEN) {
            return i;
        }
    }
    return to;
}

static void tell_progress(void *context, int64_t done, int64_t total)
{
    struct embedded *embedded = ((struct replaying *)context)->embedded;
    embedded->options.progress(embedded->options.progress_context, done, total);
}

struct journal *embedded_replay(struct embedded *embedded, const struct journal_options *options,
                                bool *no_memory, char why[256])
{
    struct storage *storage = embedded->options.storage;
    struct replaying *replaying = malloc(sizeof *replaying);

    embedded->options.storage = NULL;
    if (replaying == NULL) {
        storage_free(storage);
        snprintf(why, 256, "out of memory");
        *no_memory = true;
        return NULL;
    }
    replaying->embedded = embedded;
    struct journal_sink sink = {.state = recover_state,
                                .decode = decode_record,
                                .apply = apply_records,
                                .no_memory = no_memory,
                                .progress =
                                    embedded->options.progress != NULL ? tell_progress : NULL,
                                .context = replaying};
    huge_pages_at_once(&embedded->memory, true);
    struct journal *journal = journal_open(storage, options, &sink, why);
    huge_pages_at_once(&embedded->memory, false);
    free(replaying);
    return journal;
}
