/* SPDX-License-Identifier: Apache-2.0 */
#include "world_parts.h"

#include "base/check.h"
#include "command/binary.h"
#include "engine/own_record.h"
#include "generate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void world_wait(struct world *world)
{
    if (world->engine != NULL) {
        machine_wait(&world->dice);
    } else {
        machine_rest(&world->dice);
    }
}

bool world_is_right(const struct world *world)
{
    return world->why[0] == '\0';
}

void world_wrong(struct world *world, const char *format, ...)
{
    va_list args;

    if (world_is_right(world)) {
        va_start(args, format);
        vsnprintf(world->why, sizeof world->why, format, args);
        va_end(args);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The engine's time, which is read whenever the engine reads it. */
static int64_t now(struct world *world)
{
    int64_t now_ms = clock_now(&world->clock), at_ms = machine_elapsed();
    int64_t passed_ms = at_ms - world->seen_at_ms;
    int64_t wrong_ms = now_ms - world->seen_ms - passed_ms;

    if (wrong_ms > passed_ms / 1000 + 1 || wrong_ms < -passed_ms / 1000 - 1) {
        world_wrong(world, "in %" PRId64 " ms the time went on by %" PRId64, passed_ms,
                    now_ms - world->seen_ms);
    }
    world->seen_ms = now_ms;
    world->seen_at_ms = at_ms;
    return now_ms;
}

static int64_t recorded_ms(const struct world *world)
{
    size_t count = world->history.count;
    return count > 0 ? world->history.deeds[count - 1].time_ms : 0;
}

static void remember_own(struct world *world, const struct own_record *record)
{
    struct buffer bytes;

    buffer_init(&bytes, &world->memory);
    own_record_encode(record, &bytes);
    CHECK(!bytes.failed);
    history_add(&world->history, core_now(world->core), (struct hf_bytes){bytes.data, bytes.size});
    buffer_free(&bytes);
}

/* Something is shown: if anything fell due since the last record, there must be one of it. */
static void tick(struct world *world)
{
    if (core_changed_ms(world->core) > recorded_ms(world)) {
        remember_own(world, &(struct own_record){.kind = OWN_TICK});
    }
}

/* The engine records it when the offset of its clock has moved by a second. */
static void follow_drift(struct world *world)
{
    struct own_record record = {.kind = OWN_START, .run = clock_run(&world->clock)};
    int64_t drift_ms = record.run.offset_ms - core_run(world->core)->offset_ms;

    if (drift_ms >= 1000 || drift_ms <= -1000) {
        core_begin_run(world->core, &record.run, 0, core_now(world->core));
        remember_own(world, &record);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, struct hf_bytes text)
{
    for (size_t at = 0; at < text.size; at++) {
        hash = mix(hash + (uint8_t)text.data[at]);
    }
    return hash;
}

static uint64_t hash_reply(const struct reply *reply)
{
    uint64_t hash = mix((uint64_t)reply->code * 31 + (uint64_t)reply->lead);

    for (size_t i = 0; i < reply->count; i++) {
        if (reply->values[i].kind == VALUE_NUMBER) {
            hash = mix(hash + (uint64_t)reply->values[i].number);
        } else if (reply->values[i].kind == VALUE_TEXT) {
            hash = hash_text(hash, reply_bytes(reply, i));
        }
    }
    return hash;
}

/* Who asks for a slot or a lock; 0 for any other command. */
static uint64_t asks_for_grant(const struct command *command)
{
    const union command_args *args = &command->args;

    if (command_id(command->spec) == SEM_ACQUIRE) {
        return hash_text(hash_text(1, args->sem_acquire.name), args->sem_acquire.id);
    }
    return command_id(command->spec) == LOCK_TRY ? hash_text(2, args->lock_try.resource) : 0;
}

/* Both answers have the fence as their second value. A lock's id may be random: the answer has it.
 */
static void take_grant(struct call *call, const struct reply *reply)
{
    if (call->who == 0 || reply->code != HF_OK) {
        return;
    }
    if (reply->values[0].kind != VALUE_NUMBER) {
        call->who = hash_text(call->who, reply_bytes(reply, 0));
    }
    call->fence = reply->values[1].number;
}

static void take_answer(void *context, const struct reply *reply)
{
    struct call *call = context;

    CHECK(!call->answered);
    call->answered = true;
    call->code = reply->code;
    call->answer = hash_reply(reply);
    take_grant(call, reply);
}

static void settle(struct world *world, struct call *call)
{
    call->settled = true;
    if (call->code == HF_IOERR) {
        if (world->engine != NULL && !world_failed(world)) {
            world_wrong(world, "answered IOERR, but nothing has failed");
        }
        return;
    }
    if (!call->expected || call->answer != call->right_answer) {
        world_wrong(world, "answered %s, which is not what the core beside says",
                    hf_error_name(call->code));
    }
    if (call->needs > world->acknowledged) {
        world->acknowledged = call->needs;
    }
    if (call->due_ms > world->told.due_ms) {
        world->told.due_ms = call->due_ms;
    }
    if (call->fence != 0 && !told_grant(&world->told, call->fence, call->who)) {
        world_wrong(world, "fence %" PRId64 " was handed out before", call->fence);
    }
    world->trace = mix(world->trace + call->answer);
}

/* Those answered since the last look. Only those still open stay in the list. */
static void settle_all(struct world *world)
{
    size_t kept = 0;

    for (size_t i = 0; i < world->call_count; i++) {
        struct call *call = world->calls[i];
        if (call->answered && !call->settled) {
            settle(world, call);
        }
        if (call->settled) {
            free(call);
        } else {
            world->calls[kept++] = call;
        }
    }
    world->call_count = kept;
}

/* Those whose wait ended in the core beside. */
static void see_wakeups(struct world *world)
{
    size_t count;
    const struct wakeup *wakeups = core_wakeups(world->core, &count);

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < world->call_count; j++) {
            struct call *call = world->calls[j];
            if (call->ticket == wakeups[i].ticket) {
                wakeup_reply(&wakeups[i], &world->reply);
                call->expected = true;
                call->right_answer = hash_reply(&world->reply);
                call->needs = world->history.count;
                call->due_ms = core_changed_ms(world->core);
            }
        }
    }
    core_clear_wakeups(world->core);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void remember(struct world *world, const struct command *command, int64_t when_ms)
{
    struct buffer bytes;

    buffer_init(&bytes, &world->memory);
    command_to_binary(command, &bytes);
    CHECK(!bytes.failed);
    history_add(&world->history, when_ms, (struct hf_bytes){bytes.data, bytes.size});
    buffer_free(&bytes);
}

static void submit(struct world *world)
{
    struct generated generated;
    struct command *command = &generated.command;
    struct call *call = calloc(1, sizeof *call);
    bool failed = world_failed(world);

    CHECK(call != NULL);
    generate(&world->dice, &generated);
    world->calls =
        disk_room(world->calls, world->call_count, &world->call_capacity, sizeof(struct call *));
    world->calls[world->call_count++] = call;
    world->commands++;
    call->who = asks_for_grant(command);
    engine_submit(world->engine, command, take_answer, call);
    if (failed) {
        if (!call->answered || call->code != HF_IOERR) {
            world_wrong(world, "%s was answered after a failure", command->spec->name);
        }
        settle_all(world);
        return;
    }
    core_apply(world->core, command, now(world), &world->reply);
    if (command->spec->flags & COMMAND_WRITES && world->reply.code == HF_OK) {
        remember(world, command, core_now(world->core));
    } else {
        tick(world);
    }
    call->needs = world->history.count;
    call->due_ms = core_changed_ms(world->core);
    if (world->reply.waits) {
        call->ticket = world->reply.ticket;
    } else {
        call->expected = true;
        call->right_answer = hash_reply(&world->reply);
    }
    see_wakeups(world);
    settle_all(world);
}

static void submit_some(struct world *world, size_t most)
{
    for (size_t count = dice_below(&world->dice, most + 1); count > 0; count--) {
        submit(world);
    }
}

void world_turn(struct world *world)
{
    size_t woken = 0;
    bool failed = world_failed(world);

    engine_turn(world->engine);
    if (!failed) { /* Time passes first; what comes next in a turn, a snapshot, may fail. */
        core_advance(world->core, now(world));
        follow_drift(world);
        core_wakeups(world->core, &woken);
    }
    if (woken > 0) {
        tick(world);
    }
    see_wakeups(world);
    settle_all(world);
}

/* While the disk is busy, others go on submitting. */
static void flush(struct world *world)
{
    size_t most = dice_chance(&world->dice, 500) ? 3 : 0;

    if (engine_flush_begin(world->engine)) {
        submit_some(world, most);
        engine_flush_work(world->engine);
        submit_some(world, most);
        engine_flush_end(world->engine);
    }
    settle_all(world);
}

static void snapshot(struct world *world)
{
    struct problem problem;
    enum hf_error code = engine_snapshot(world->engine, &problem);

    world->snapshots++;
    if (code != HF_OK && !world_failed(world)) {
        world_wrong(world, "no snapshot: %s", problem.message);
    }
    settle_all(world);
}

void world_step(struct world *world)
{
    size_t roll = dice_below(&world->dice, 1000);

    if (roll < world->eagerness) {
        flush(world);
    } else if (roll < world->eagerness + 60) {
        world_wait(world);
    } else if (roll < world->eagerness + 90) {
        world_turn(world);
    } else if (roll < world->eagerness + 93) {
        snapshot(world);
    } else {
        submit(world);
    }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

bool world_failed(const struct world *world)
{
    return engine_failure(world->engine) != NULL;
}

static void end(struct world *world)
{
    engine_close(world->engine);
    world->engine = NULL;
    settle_all(world);
    for (size_t i = 0; i < world->call_count; i++) {
        free(world->calls[i]);
    }
    world->call_count = 0;
}

void world_kill(struct world *world)
{
    if (world->engine != NULL) {
        sim_disk_stop_after(world->disk, 0);
        end(world);
    }
}

void world_close(struct world *world)
{
    uint64_t injected = sim_disk_injected(world->disk);
    bool failed = world_failed(world);

    if (!failed) { /* its last record says when it ended */
        core_advance(world->core, now(world));
        core_clear_wakeups(world->core);
        if (core_now(world->core) > recorded_ms(world)) {
            remember_own(world, &(struct own_record){.kind = OWN_TICK});
        }
    }
    end(world);
    if (!failed && sim_disk_injected(world->disk) == injected && !sim_disk_stopped(world->disk)) {
        world->acknowledged = world->history.count;
    }
}

void world_init(struct world *world, uint64_t seed, enum journal_policy policy)
{
    *world = (struct world){.dice = {seed}, .policy = policy};
    memory_init(&world->memory);
    CHECK(reply_init(&world->reply, &world->memory));
    machine_new();
    world->segment_bytes = (int64_t)256 << dice_below(&world->dice, 5);
    world->snapshot_bytes = dice_chance(&world->dice, 700) ? 16384 : 3000;
    world->eagerness = (unsigned)dice_between(&world->dice, 20, 500);
    world->disk = sim_disk_new();
}

void world_free(struct world *world)
{
    world_kill(world);
    sim_disk_free(world->disk);
    core_destroy(world->core);
    reply_free(&world->reply);
    history_free(&world->history);
    told_free(&world->told);
    free(world->calls);
    CHECK(world->memory.used == 0);
}
