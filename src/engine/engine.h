/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine keeps the state, tells the time and carries out commands. It is used by one thread at a
 * time, except where a function says otherwise. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/log.h"
#include "command/event.h"
#include "command/reply.h"
#include "engine/audit_child.h"

struct engine;

/* What whoever opens an engine may want to say of it; all zero is fine. */
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
     * quarters of what the machine has. */
    int64_t max_memory_bytes;
    bool worker; /* give back what fell due also where nobody asks, if that takes a worker */
    /* Tests only: the time, in ms. NULL: the engine's own clock. */
    int64_t (*clock)(void *context);
    void *clock_context;
};

/* The answer to a command; valid during the call. It comes exactly once, before engine_submit()
 * returns or from a later call of the engine. It must not call the engine. */
typedef void engine_done(void *context, const struct reply *reply);

/* Opens the engine a URL names. INVALID_ARGUMENT for one we do not know, IOERR for a directory that
 * cannot be used, INVALID_STATE while the machine's clock cannot be right. */
enum hf_error engine_open(const char *url, const struct engine_options *options,
                          struct engine **engine, struct problem *problem);

/* Is it a URL that could be opened? INVALID_ARGUMENT and what is wrong with it, if not. */
enum hf_error engine_check(const char *url, struct problem *problem);

/* Puts on disk what is not there yet. Commands that still wait are never answered. */
void engine_close(struct engine *engine);

/* Carries out a checked command, which is borrowed for the call. No answer shows what could still
 * be lost: it may have to wait for the next flush. */
void engine_submit(struct engine *engine, struct command *command, engine_done *done,
                   void *context);

/* Can it take this command now? If not, it is in the middle of something long of the same scope and
 * goes on with it in each turn: the same command is to be offered again after the next one. */
bool engine_ready(struct engine *engine, const struct command *command);

/* Commands submitted from `true` to `false` came together and happen at one moment: the time is
 * read once for all of them. */
void engine_together(struct engine *engine, bool together);

/* Lets time pass: what is due expires, and those who waited for it are answered. */
void engine_turn(struct engine *engine);

/* How long until engine_turn() has something to do: 0 is now, -1 is never. */
int64_t engine_idle_ms(struct engine *engine);

/* Waits until engine_turn() has something to do, at most so long. Returns at once unless answers
 * come from another thread. */
void engine_wait(struct engine *engine, int64_t ms);

/* Returns when all that was submitted is answered or waits for its turn as of now. For tests, which
 * move the clock by hand. */
void engine_settle(struct engine *engine);

/* Group commit in three steps. Begin says whether there is anything to put on disk; work does it,
 * and may run while other threads submit; end answers those who waited for it. One at a time. */
bool engine_flush_begin(struct engine *engine);
void engine_flush_work(struct engine *engine);
void engine_flush_end(struct engine *engine);

/* Answers from now on come at once, and the caller promises to let nobody see them before the next
 * flush has ended well. It saves keeping a copy of each. */
void engine_answer_early(struct engine *engine);

/* "embedded", or where it is, with no secret in it. */
const char *engine_name(const struct engine *engine);

/* Why nothing can be kept any more; NULL while all is well. */
const char *engine_failure(struct engine *engine);

/* Is what keeps the state elsewhere, and nobody there to be asked at this moment? */
bool engine_is_away(struct engine *engine);

/* Why it had better be given no work, though it does what it is asked: it may fail before long.
 * NULL while all is well. */
const char *engine_unready(struct engine *engine);

/* Keeps what happens from now on, within bounds, or no longer; and takes the oldest of it. */
void engine_collect_events(struct engine *engine, bool collect);
bool engine_next_event(struct engine *engine, struct event *event);

/* Begins a snapshot of the state, if the engine keeps any. BUSY while one is being made. */
enum hf_error engine_snapshot(struct engine *engine, struct problem *problem);

/* What an engine counts of its own, for metrics: calls `each` for every figure. */
typedef void engine_figure(void *context, const char *name, const char *help, bool grows,
                           double value);
void engine_figures(struct engine *engine, engine_figure *each, void *context);

/* INVALID_STATE where the engine cannot know. */
enum hf_error engine_info(struct engine *engine, struct hf_info *info);
enum hf_error engine_audit(struct engine *engine, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem);

/* The same of the state as it is now, in a process of its own that audit_child_end() waits for, so
 * that the engine can go on. INVALID_STATE if the engine has no such thing: then engine_audit() may
 * be called on any thread. */
enum hf_error engine_audit_begin(struct engine *engine, struct audit_child *child,
                                 struct problem *problem);

/* What an engine must be able to do; the functions above call these. */
struct engine_type {
    enum hf_error (*open)(const char *url, const struct engine_options *options,
                          struct engine **engine, struct problem *problem);
    enum hf_error (*check)(const char *url, struct problem *problem);
    void (*close)(struct engine *engine);
    void (*submit)(struct engine *engine, struct command *command, engine_done *done,
                   void *context);
    bool (*ready)(struct engine *engine, const struct command *command); /* NULL: always */
    void (*turn)(struct engine *engine);
    int64_t (*idle_ms)(struct engine *engine);
    void (*wait)(struct engine *engine, int64_t ms); /* NULL: there is nothing to wait for */
    void (*settle)(struct engine *engine);           /* NULL: a turn does it */
    bool (*flush_begin)(struct engine *engine);
    void (*flush_work)(struct engine *engine);
    void (*flush_end)(struct engine *engine);
    const char *(*failure)(struct engine *engine);
    bool (*is_away)(struct engine *engine);        /* NULL: it never is */
    const char *(*unready)(struct engine *engine); /* NULL: it never is */
    void (*collect_events)(struct engine *engine, bool collect);
    bool (*next_event)(struct engine *engine, struct event *event);
    enum hf_error (*snapshot)(struct engine *engine, struct problem *problem);
    void (*figures)(struct engine *engine, engine_figure *each, void *context); /* may be NULL */
    enum hf_error (*info)(struct engine *engine, struct hf_info *info);
    enum hf_error (*audit)(struct engine *engine, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem);
    enum hf_error (*audit_begin)(struct engine *engine, struct audit_child *child,
                                 struct problem *problem); /* may be NULL */
};

/* The head of every engine's own struct. */
struct engine {
    const struct engine_type *type;
    const char *name;  /* see engine_name() */
    bool durable;      /* answers wait for flushes */
    bool later;        /* no answer comes at once: they are fetched from elsewhere */
    bool early;        /* … which the caller sees to */
    bool together;     /* see engine_together() */
    int64_t moment_ms; /* the time of those that came together; 0: not read yet */
};

extern const struct engine_type engine_embedded;
extern const struct engine_type engine_redis;

#endif
