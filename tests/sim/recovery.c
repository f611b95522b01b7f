/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting an engine on a disk, and comparing what it makes of it with what was done before. */
#include "world_parts.h"

#include "base/check.h"
#include "command/binary.h"
#include "engine/own_record.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t core_seed[2] = {3, 4};
static const struct log silent = {.level = (enum log_level)(LOG_ERROR + 1)};

/* ---- reading a journal ----------------------------------------------------------------------- */

struct tap {
    struct world *world;
    uint64_t last;     /* the last record, or that of the snapshot */
    int64_t time_ms;   /* of the snapshot: it may have seen more time than the records tell */
    bool more_allowed; /* the engine may have added what a start adds and the history has not */
};

static enum journal_taken see_state(void *context, uint64_t sequence, struct reader *state,
                                    char why[256])
{
    struct tap *tap = context;
    struct problem problem;
    struct core *core = core_restore_from(&tap->world->memory, core_seed, state, &problem);

    if (core == NULL) {
        snprintf(why, 256, "%.250s", problem.message);
        return JOURNAL_REFUSED;
    }
    tap->last = sequence;
    tap->time_ms = core_now(core);
    core_destroy(core);
    return JOURNAL_TAKEN;
}

/* What a start adds by itself: that it begins, and nobody is there any more who waited. */
static bool is_of_start(struct tap *tap, struct hf_bytes bytes)
{
    struct command command;
    struct binary_scratch scratch;
    struct own_record own;

    if (own_record_decode(&own, bytes)) {
        if (own.fence <= told_last_fence(&tap->world->told)) {
            world_wrong(tap->world, "a start at fence %" PRId64 ", though %" PRId64 " was given",
                        own.fence, told_last_fence(&tap->world->told));
        }
        return own.kind == OWN_START;
    }
    return command_from_binary(&command, bytes, &scratch, NULL) == HF_OK &&
           command_id(command.spec) == SEM_RELEASE;
}

static enum journal_taken see_record(void *context, uint64_t sequence, int64_t time_ms,
                                     struct hf_bytes command, char why[256])
{
    struct tap *tap = context;
    struct history *history = &tap->world->history;

    tap->last = sequence;
    if (sequence <= history->count) {
        if (!history_is(history, sequence, time_ms, command)) {
            snprintf(why, 256, "record %" PRIu64 " is not what was carried out", sequence);
            return JOURNAL_REFUSED;
        }
        return JOURNAL_TAKEN;
    }
    if (sequence != history->count + 1 || !tap->more_allowed || !is_of_start(tap, command)) {
        snprintf(why, 256, "record %" PRIu64 " was never carried out", sequence);
        return JOURNAL_REFUSED;
    }
    history_add(history, time_ms, command);
    return JOURNAL_TAKEN;
}

/* Compares the journal on the disk with the history, which gets what a start has added. */
static bool read_journal(struct world *world, bool more_allowed, struct tap *tap)
{
    *tap = (struct tap){.world = world, .more_allowed = more_allowed};
    struct journal_sink sink = {.state = see_state, .record = see_record, .context = tap};
    struct journal_options options = {
        .segment_bytes = world->segment_bytes, .read_only = true, .log = &silent};
    char why[256] = "";

    sim_disk_faults(world->disk, NULL, NULL);
    struct journal *journal = journal_open(sim_storage(world->disk), &options, &sink, why);
    if (journal == NULL) {
        world_wrong(world, "refused: %s", why);
        return false;
    }
    journal_close(journal);
    sim_disk_faults(world->disk, world->faults, &world->dice);
    return true;
}

/* ---- the core beside ------------------------------------------------------------------------- */

/* Carries out a record of the engine's own, if it is one. */
static bool repeat_own(struct world *world, struct hf_bytes bytes, int64_t time_ms)
{
    struct own_record own;

    if (!own_record_decode(&own, bytes)) {
        return false;
    }
    if (own.kind == OWN_START) {
        core_begin_run(world->core, &own.run, own.fence, time_ms);
    } else {
        core_advance(world->core, time_ms);
    }
    core_clear_wakeups(world->core);
    return true;
}

/* Carries out number `from` to the last of the history. */
static void repeat(struct world *world, uint64_t from)
{
    for (uint64_t i = from; i <= world->history.count && world_is_right(world); i++) {
        struct command command;
        struct binary_scratch scratch;
        struct problem problem;
        struct hf_bytes bytes = history_command(&world->history, i);
        if (repeat_own(world, bytes, world->history.deeds[i - 1].time_ms)) {
            continue;
        }
        CHECK(command_from_binary(&command, bytes, &scratch, &problem) == HF_OK);
        core_apply(world->core, &command, world->history.deeds[i - 1].time_ms, &world->reply);
        core_clear_wakeups(world->core);
        if (world->reply.code != HF_OK) {
            world_wrong(world, "number %" PRIu64 ", %s, is refused when repeated: %s", i,
                        command.spec->name, hf_error_name(world->reply.code));
        }
    }
}

static void repeat_all(struct world *world)
{
    core_destroy(world->core);
    world->core = core_create(&world->memory, core_seed);
    CHECK(world->core != NULL);
    repeat(world, 1);
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool start(struct world *world)
{
    struct embedded_options options = {
        .storage = sim_storage(world->disk),
        .policy = world->policy,
        .segment_bytes = world->segment_bytes,
        .snapshot_bytes = world->snapshot_bytes,
        .clock = machine_clock(),
        .log = silent,
        .fixed_entropy = true,
    };
    struct problem problem = {.message = ""};
    uint64_t injected = sim_disk_injected(world->disk);

    enum hf_error code = embedded_open_with(&options, &world->engine, &problem);
    bool excused = sim_disk_stopped(world->disk) || sim_disk_injected(world->disk) > injected;
    world->interrupted = code != HF_OK || world_failed(world) || sim_disk_stopped(world->disk);
    if (world->interrupted && !excused) {
        world_wrong(world, "refused by the engine: %s", problem.message);
    }
    if (world->interrupted) {
        world_kill(world);
    }
    return !world->interrupted;
}

static void report(void *context, const char *finding)
{
    world_wrong(context, "audit: %s", finding);
}

static void compare(struct world *world)
{
    char name[HF_ID_SIZE], id[HF_ID_SIZE];
    uint32_t cursor = 0;
    uint64_t findings = 0;

    world_turn(world);
    if (core_waiting_call(world->core, &cursor, name, id)) {
        world_wrong(world, "%s still waits in %s after the start", id, name);
    }
    uint64_t digest = embedded_digest(world->engine);
    if (digest != core_digest(world->core)) {
        world_wrong(world, "the state is not that after the first %zu commands",
                    world->history.count);
    }
    engine_audit(world->engine, report, world, &findings, NULL);
    if (findings != 0) {
        world_wrong(world, "the audit finds something");
    }
    world->trace = mix(world->trace + digest);
}

/* Puts the clock where the engine will begin: behind all that the journal and the snapshot tell of.
 */
static void begin_clock(struct world *world, bool all_there, int64_t snapshot_ms)
{
    int64_t last_ms = core_now(world->core);
    struct clock_beginning found;

    last_ms = last_ms > snapshot_ms ? last_ms : snapshot_ms;
    if (!all_there) {
        world->told.due_ms = 0; /* what was told may be lost, and with it when */
    }
    if (last_ms < world->told.due_ms) {
        world_wrong(world,
                    "something fell due at %" PRId64
                    " and was shown; the disk only knows of %" PRId64,
                    world->told.due_ms, last_ms);
    }
    world->clock = machine_clock();
    CHECK(clock_begin(&world->clock, last_ms, core_run(world->core), &found));
    world->seen_ms = clock_now(&world->clock);
    world->seen_at_ms = machine_elapsed();
}

bool world_recover(struct world *world, bool power_cut)
{
    bool all = world->policy == JOURNAL_ALWAYS || !power_cut;
    size_t least = all ? world->acknowledged : world->solid;
    struct tap tap;

    if (!read_journal(world, world->interrupted, &tap)) {
        return false;
    }
    if (tap.last < least) {
        world_wrong(world, "%zu commands were acknowledged, %" PRIu64 " are there", least,
                    tap.last);
        return false;
    }
    history_cut(&world->history, tap.last);
    world->acknowledged = least;
    world->solid = power_cut ? tap.last : world->solid;
    size_t recovered = world->history.count;
    repeat_all(world);
    begin_clock(world, all, tap.time_ms);
    if (!start(world) || !read_journal(world, true, &tap)) {
        return false;
    }
    repeat(world, recovered + 1);
    if (world_is_right(world)) {
        compare(world);
    }
    /* All of it can be read from now on. */
    world->acknowledged = world->history.count;
    return world_is_right(world);
}
