/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine holds the state, keeps the time and carries out commands. It is used by one thread at a
 * time, except where a function says otherwise.
 *
 * A command is submitted with a callback for its answer, which comes before engine_submit() returns
 * or from a later call of the engine; the caller need not know which engine does what. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/log.h"
#include "command/event.h"
#include "command/reply.h"
#include "engine/audit_child.h"

struct engine;

/* What the caller of engine_open() may ask for; all zero is fine. */
struct engine_options {
    struct log log;
    void (*progress)(void *context, int64_t done, int64_t total); /* of recovery; may be NULL */
    void *progress_context;
    /* engine_turn() has something to do. Called from another thread, and only by an engine that has
     * one; may be NULL. */
    void (*wake)(void *context);
    void *wake_context;
    /* With less room than this where the data is kept, engine_unready() says so; 0: it does not. */
    int64_t min_free_bytes;
    /* With more memory than this in use for the state, new scopes and holds are refused. 0: three
     * quarters of what machine or container has. */
    int64_t max_memory_bytes;
    /* An answer comes as soon as it is known, also while what it shows could still be lost: the
     * caller promises to send none before the next flush has succeeded. It saves a copy of each
     * answer. False: an answer comes when what it shows is on disk. */
    bool answers_before_flush;
    bool worker; /* give back what fell due also where no command comes, if that takes a worker */
    /* Tests only: the time, in ms. NULL: the engine's own clock. */
    int64_t (*clock)(void *context);
    void *clock_context;
};

/* The answer to a command; valid during the call. It comes exactly once. It must not call the
 * engine. */
typedef void engine_done(void *context, const struct reply *reply);

/* What an engine counts of its own, for metrics: called for every figure. */
typedef void engine_figure(void *context, const char *name, const char *help, bool grows,
                           double value);

/* A server that the state is on, if it is elsewhere. The texts are valid during the call. */
struct engine_node {
    const char *name;             /* its address */
    const char *role;             /* "master", or "former master" */
    const char *state;            /* "up", "silent", "connecting", "down" */
    uint64_t commands, in_flight; /* sent to it and over; sent and not answered */
    int64_t reply_us;             /* how long a reply took lately; -1: it is not known */
    int64_t up_ms;                /* for how long it has been up; -1: it is not */
    const char *problem;          /* why it is not up; NULL: it is, or nothing is known */
};
typedef void engine_node_each(void *context, const struct engine_node *node);

/* Opens the engine a URL names. INVALID_ARGUMENT for an unknown one, IOERR for a directory that
 * cannot be used, INVALID_STATE while the machine's clock cannot be right. */
enum hf_error engine_open(const char *url, const struct engine_options *options,
                          struct engine **engine, struct problem *problem);

/* Is it a URL that could be opened? INVALID_ARGUMENT and what is wrong with it, if not. */
enum hf_error engine_check(const char *url, struct problem *problem);

/* What an engine must be able to do. The functions below call these, and say what they promise;
 * what may be NULL is marked. */
struct engine_type {
    enum hf_error (*open)(const char *url, const struct engine_options *options,
                          struct engine **engine, struct problem *problem);
    enum hf_error (*check)(const char *url, struct problem *problem);
    void (*close)(struct engine *engine);
    void (*submit)(struct engine *engine, struct command *command, engine_done *done,
                   void *context);
    /* NULL: there is nothing to prepare */
    void (*prepare)(struct engine *engine, const struct command *commands, size_t count);
    /* NULL: it is submitted like any other command */
    void (*take_back)(struct engine *engine, struct command *undo, uint64_t grant,
                      const void *context);
    bool (*ready)(struct engine *engine, const struct command *command); /* NULL: always */
    void (*together)(struct engine *engine, bool together); /* NULL: the state is elsewhere */
    void (*turn)(struct engine *engine);
    int64_t (*idle_ms)(struct engine *engine);
    void (*wait)(struct engine *engine, int64_t ms); /* NULL: there is nothing to wait for */
    void (*settle)(struct engine *engine);           /* NULL: a turn does it */
    bool (*is_durable)(struct engine *engine);       /* NULL: it is not */
    bool (*flush_begin)(struct engine *engine);      /* NULL: there is never anything to flush */
    void (*flush_work)(struct engine *engine);
    void (*flush_end)(struct engine *engine);
    const char *(*failure)(struct engine *engine);               /* NULL: it never fails for good */
    bool (*is_away)(struct engine *engine);                      /* NULL: it never is */
    const char *(*unready)(struct engine *engine);               /* NULL: it always is ready */
    void (*collect_events)(struct engine *engine, bool collect); /* NULL: it has none */
    bool (*next_event)(struct engine *engine, struct event *event);
    enum hf_error (*snapshot)(struct engine *engine, struct problem *problem);
    void (*figures)(struct engine *engine, engine_figure *each, void *context); /* NULL: none */
    /* NULL: the state is in this process. */
    size_t (*nodes)(struct engine *engine, engine_node_each *each, void *context);
    enum hf_error (*info)(struct engine *engine, struct hf_info *info);
    enum hf_error (*audit)(struct engine *engine, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem);
    enum hf_error (*audit_begin)(struct engine *engine, struct audit_child *child,
                                 struct problem *problem); /* NULL: the state is elsewhere */
};

/* The head of every engine's own struct. */
struct engine {
    const struct engine_type *type;
    const char *name; /* "embedded", or where it is, with no secret in it */
};

extern const struct engine_type engine_embedded;
extern const struct engine_type engine_redis;

static inline const char *engine_name(const struct engine *engine)
{
    return engine->name;
}

/* Puts on disk what is not there yet. Commands that still wait are never answered. */
static inline void engine_close(struct engine *engine)
{
    if (engine != NULL) {
        engine->type->close(engine);
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Carries out a checked command, which is borrowed for the call. */
static inline void engine_submit(struct engine *engine, struct command *command, engine_done *done,
                                 void *context)
{
    engine->type->submit(engine, command, done, context);
}

/* Checked commands that came together and will be submitted next: what they will look at is brought
 * near. Changes nothing; it may be left out, and the commands may be submitted later or never. */
static inline void engine_prepare(struct engine *engine, const struct command *commands,
                                  size_t count)
{
    if (engine->type->prepare != NULL) {
        engine->type->prepare(engine, commands, count);
    }
}

/* Takes back what a command granted, or still waits for, whose answer nobody reads: `undo` is the
 * command that its row names for that, `grant` that of its reply, 0 if it has none yet, `context`
 * the one it was submitted with. Nobody else's grant is taken back, also if the undo command by
 * itself would. There is no answer. */
void engine_take_back(struct engine *engine, struct command *undo, uint64_t grant,
                      const void *context);

/* Can it take this command now? If not, it is in the middle of something long of the same scope and
 * goes on with it in each turn: the same command is to be submitted after the next one. */
static inline bool engine_ready(struct engine *engine, const struct command *command)
{
    return engine->type->ready == NULL || engine->type->ready(engine, command);
}

/* Commands submitted from `true` to `false` came together and happen at one moment: the time is
 * read once for all of them. */
static inline void engine_together(struct engine *engine, bool together)
{
    if (engine->type->together != NULL) {
        engine->type->together(engine, together);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Lets time pass: what is due expires, and answers that are there by now are given. */
static inline void engine_turn(struct engine *engine)
{
    engine->type->turn(engine);
}

/* How long until engine_turn() has something to do: 0 is now, -1 is never. */
static inline int64_t engine_idle_ms(struct engine *engine)
{
    return engine->type->idle_ms(engine);
}

/* Waits until engine_turn() has something to do, at most so long. Returns at once unless answers
 * come from another thread. */
static inline void engine_wait(struct engine *engine, int64_t ms)
{
    if (engine->type->wait != NULL) {
        engine->type->wait(engine, ms);
    }
}

/* Returns when all that was submitted is answered or waits for its turn as of now. For tests, which
 * move the clock by hand. */
static inline void engine_settle(struct engine *engine)
{
    if (engine->type->settle != NULL) {
        engine->type->settle(engine);
    } else {
        engine->type->turn(engine);
    }
}

/* ---- disk ------------------------------------------------------------------------------------ */

/* Is what it has acknowledged on a disk of this machine? */
static inline bool engine_is_durable(struct engine *engine)
{
    return engine->type->is_durable != NULL && engine->type->is_durable(engine);
}

/* Group commit in three steps. Begin says whether there is anything to put on disk; work does it,
 * and may run while other threads submit; end gives the answers that waited for it. One at a
 * time. */
static inline bool engine_flush_begin(struct engine *engine)
{
    return engine->type->flush_begin != NULL && engine->type->flush_begin(engine);
}

static inline void engine_flush_work(struct engine *engine)
{
    engine->type->flush_work(engine);
}

static inline void engine_flush_end(struct engine *engine)
{
    engine->type->flush_end(engine);
}

/* Why nothing can be kept any more; NULL while all is well. */
static inline const char *engine_failure(struct engine *engine)
{
    return engine->type->failure != NULL ? engine->type->failure(engine) : NULL;
}

/* Begins a snapshot of the state, if the engine keeps any. BUSY while one is being made. */
static inline enum hf_error engine_snapshot(struct engine *engine, struct problem *problem)
{
    return engine->type->snapshot(engine, problem);
}

/* ---- how it is ------------------------------------------------------------------------------- */

/* Is the state elsewhere, and nothing there to be reached at this moment? */
static inline bool engine_is_away(struct engine *engine)
{
    return engine->type->is_away != NULL && engine->type->is_away(engine);
}

/* Why it had better be given no work, though it carries out commands: it may fail before long. NULL
 * while all is well. */
static inline const char *engine_unready(struct engine *engine)
{
    return engine->type->unready != NULL ? engine->type->unready(engine) : NULL;
}

static inline void engine_figures(struct engine *engine, engine_figure *each, void *context)
{
    if (engine->type->figures != NULL) {
        engine->type->figures(engine, each, context);
    }
}

/* Is the state on servers of its own? */
static inline bool engine_has_nodes(const struct engine *engine)
{
    return engine->type->nodes != NULL;
}

/* Calls `each` for every such server, up to a bound; returns how many more there are. What it tells
 * is at most a few seconds old. */
static inline size_t engine_nodes(struct engine *engine, engine_node_each *each, void *context)
{
    return engine->type->nodes != NULL ? engine->type->nodes(engine, each, context) : 0;
}

/* INVALID_STATE where the engine cannot know. */
static inline enum hf_error engine_info(struct engine *engine, struct hf_info *info)
{
    return engine->type->info(engine, info);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Does it report what happens without a command: holds that expire, what becomes of waiters? */
static inline bool engine_has_events(const struct engine *engine)
{
    return engine->type->next_event != NULL;
}

/* Keeps what happens from now on, within bounds, or no longer. */
static inline void engine_collect_events(struct engine *engine, bool collect)
{
    if (engine->type->collect_events != NULL) {
        engine->type->collect_events(engine, collect);
    }
}

/* Takes the oldest event; false if there is none. */
static inline bool engine_next_event(struct engine *engine, struct event *event)
{
    return engine->type->next_event != NULL && engine->type->next_event(engine, event);
}

/* ---- audits ---------------------------------------------------------------------------------- */

/* Recomputes every total, and reports each that does not agree. */
static inline enum hf_error engine_audit(struct engine *engine, hf_audit_report *report,
                                         void *context, uint64_t *findings, struct problem *problem)
{
    return engine->type->audit(engine, report, context, findings, problem);
}

/* The same of the state as it is now, in a process of its own that audit_child_end() waits for, so
 * that the engine can go on. INVALID_STATE if the engine has no such thing: then engine_audit() may
 * be called on any thread. */
static inline enum hf_error engine_audit_begin(struct engine *engine, struct audit_child *child,
                                               struct problem *problem)
{
    if (engine->type->audit_begin == NULL) {
        return problem_set(problem, HF_INVALID_STATE, "the state is not in this process");
    }
    return engine->type->audit_begin(engine, child, problem);
}

#endif
