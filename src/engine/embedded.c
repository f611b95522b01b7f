/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine in this process: the core, a clock, randomness, and the callers who wait. In memory
 * only. */
#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/slab.h"
#include "base/table.h"
#include "core/core.h"
#include "engine/engine.h"

#include <stdlib.h>

/* A command that was not answered at once. */
struct waiter {
    uint64_t ticket;
    engine_done *done;
    void *context;
};

struct embedded {
    struct engine engine;
    struct memory memory;  /* of the state */
    struct memory scratch; /* of replies and waiters */
    struct core *core;
    struct clock clock;
    struct random random;
    struct reply reply;
    struct slab waiters;
    struct table by_ticket;
};

static struct embedded *self(struct engine *engine)
{
    return (struct embedded *)engine;
}

static void embedded_close(struct engine *engine)
{
    struct embedded *embedded = self(engine);

    core_destroy(embedded->core);
    reply_free(&embedded->reply);
    slab_free(&embedded->waiters);
    table_free(&embedded->by_ticket);
    CHECK(embedded->memory.used == 0 && embedded->scratch.used == 0);
    free(embedded);
}

static enum hf_error embedded_open(const char *rest, struct engine **engine,
                                   struct problem *problem)
{
    uint64_t seed[2];

    if (*rest != '\0') {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "embedded:%.60s: only embedded: (in memory) is supported", rest);
    }
    struct embedded *embedded = calloc(1, sizeof *embedded);
    if (embedded == NULL) {
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    embedded->engine.type = &engine_embedded;
    memory_init(&embedded->memory);
    memory_init(&embedded->scratch);
    clock_real(&embedded->clock);
    random_init(&embedded->random);
    random_bytes(&embedded->random, seed, sizeof seed);
    slab_init(&embedded->waiters, &embedded->scratch, sizeof(struct waiter));
    table_init(&embedded->by_ticket, &embedded->scratch);
    bool ready = reply_init(&embedded->reply, &embedded->scratch);
    embedded->core = ready ? core_create(&embedded->memory, seed) : NULL;
    if (embedded->core == NULL) {
        embedded_close(&embedded->engine);
        return problem_set(problem, HF_BUSY, "out of memory");
    }
    *engine = &embedded->engine;
    return HF_OK;
}

struct wanted {
    const struct slab *waiters;
    uint64_t ticket;
};

static bool has_ticket(const void *context, uint32_t index)
{
    const struct wanted *wanted = context;
    return ((struct waiter *)slab_at(wanted->waiters, index))->ticket == wanted->ticket;
}

static uint32_t find_waiter(struct embedded *embedded, uint64_t ticket)
{
    struct wanted wanted = {&embedded->waiters, ticket};
    return table_find(&embedded->by_ticket, (uint32_t)ticket, has_ticket, &wanted);
}

/* Answers those whose wait is over. */
static void deliver(struct embedded *embedded)
{
    size_t count;
    const struct wakeup *wakeups = core_wakeups(embedded->core, &count);

    for (size_t i = 0; i < count; i++) {
        uint32_t index = find_waiter(embedded, wakeups[i].ticket);
        CHECK(index != NONE);
        struct waiter waiter = *(struct waiter *)slab_at(&embedded->waiters, index);
        table_remove(&embedded->by_ticket, (uint32_t)waiter.ticket, index);
        slab_give(&embedded->waiters, index);
        wakeup_reply(&wakeups[i], &embedded->reply);
        waiter.done(waiter.context, &embedded->reply);
    }
    core_clear_wakeups(embedded->core);
}

/* Carries out a command that may have to wait, with a place for its waiter kept ready. */
static void submit_waiting(struct embedded *embedded, const struct command *command,
                           engine_done *done, void *context)
{
    struct reply *reply = &embedded->reply;

    if (!slab_reserve(&embedded->waiters, 1) || !table_reserve(&embedded->by_ticket, 1)) {
        reply_clear(reply);
        reply_refuse(reply, HF_BUSY, NULL);
        done(context, reply);
        return;
    }
    core_apply(embedded->core, command, clock_now(&embedded->clock), reply);
    if (!reply->waits) {
        done(context, reply);
        return;
    }
    uint32_t index = slab_take(&embedded->waiters);
    struct waiter *waiter = slab_at(&embedded->waiters, index);
    *waiter = (struct waiter){reply->ticket, done, context};
    table_add(&embedded->by_ticket, (uint32_t)reply->ticket, index);
}

static void embedded_submit(struct engine *engine, struct command *command, engine_done *done,
                            void *context)
{
    struct embedded *embedded = self(engine);

    if (command->spec->flags & COMMAND_RANDOM) {
        random_bytes(&embedded->random, command->entropy, sizeof command->entropy);
    }
    if (command->spec->flags & COMMAND_WAITS) {
        submit_waiting(embedded, command, done, context);
    } else {
        core_apply(embedded->core, command, clock_now(&embedded->clock), &embedded->reply);
        done(context, &embedded->reply);
    }
    deliver(embedded);
}

static void embedded_turn(struct engine *engine)
{
    struct embedded *embedded = self(engine);

    core_advance(embedded->core, clock_now(&embedded->clock));
    deliver(embedded);
}

static int64_t embedded_idle_ms(struct engine *engine)
{
    struct embedded *embedded = self(engine);
    int64_t due_ms = core_next_due(embedded->core);

    if (due_ms == INT64_MAX) {
        return -1;
    }
    int64_t left_ms = due_ms - clock_now(&embedded->clock);
    return left_ms > 0 ? left_ms : 0;
}

static enum hf_error embedded_info(struct engine *engine, struct hf_info *info)
{
    embedded_turn(engine);
    core_info(self(engine)->core, info);
    return HF_OK;
}

static enum hf_error embedded_audit(struct engine *engine, hf_audit_report *report, void *context,
                                    uint64_t *findings)
{
    embedded_turn(engine);
    *findings = core_audit(self(engine)->core, report, context);
    return *findings == UINT64_MAX ? HF_BUSY : HF_OK;
}

const struct engine_type engine_embedded = {
    .scheme = "embedded:",
    .open = embedded_open,
    .close = embedded_close,
    .submit = embedded_submit,
    .turn = embedded_turn,
    .idle_ms = embedded_idle_ms,
    .info = embedded_info,
    .audit = embedded_audit,
};
