/* SPDX-License-Identifier: Apache-2.0
 *
 * The server: one thread, one loop, one engine. Each turn of the loop reads all that is ready and
 * applies it, writes one batch to the journal and syncs it, and only then sends the answers.
 *
 * This header has what sessions and fronts share; it can be had without sockets and without a loop
 * (server_init), which is how tests and fuzzers use it. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "server/feed.h"
#include "server/flusher.h"
#include "server/logins.h"
#include "server/metrics.h"
#include "server/options.h"
#include "server/origins.h"
#include "server/session.h"
#include "server/session_undo.h"
#include "server/slowlog.h"
#include "server/turn_budget.h"
#include "server/warnings.h"

enum server_state {
    SERVER_LOADING, /* the engine is being opened */
    SERVER_READY,
    SERVER_DRAINING, /* asked to stop: answers what it has */
    SERVER_FAILED,   /* the disk failed: refuses everything, then ends */
};

struct http_shared;
struct audit_log;
const char *server_state_name(enum server_state state);

struct loop;

struct server {
    const struct server_options *options;
    struct log log;
    struct memory memory; /* of all that clients make us keep */
    enum server_state state;
    _Atomic int64_t loaded, load_total; /* bytes, while another thread loads */
    struct engine *engine;              /* NULL until it is open */
    struct auth *auth;                  /* NULL: everybody may do everything */
    struct audit_log *audit_log;        /* NULL: none is kept */
    bool records;                       /* each answer goes to that, or to the log */
    uint8_t trace_key[SIPHASH_KEY];     /* of the traces that begin here */
    struct metrics metrics;
    struct slowlog slowlog;
    struct feed feed;
    struct undo_table undos;
    struct http_shared *http; /* what HTTP sessions share; theirs to make and free */

    struct list sessions;
    struct list iterators; /* over them, in steps: struct session_iterator */
    size_t session_count;
    size_t stranger_count; /* of them; see strangers.h */
    size_t waiting;        /* sessions whose command waits */
    uint64_t sessions_made;
    uint64_t started_ns, started_ticks;
    struct turn_budget turn;
    struct session_call *spare_call; /* for the next command; NULL: one has to be made */
    uint64_t last_ticks;             /* when the last command was done */
    uint64_t slow_ticks;             /* a command that takes longer goes to the slow log */

    struct list touched;  /* sessions with something to send once it is committed */
    struct list flushing; /* sessions with something that the batch in flight covers */
    struct list sending;  /* sessions with something that is committed */
    struct list resumed;  /* sessions that can go on reading */
    struct list yielded;  /* sessions with more requests than one turn has time for */
    struct list ticking;  /* sessions that get a tick a few times a second */
    size_t ticking_count;
    bool auditing;                   /* another thread carries out an audit */
    struct audit_child *audit_child; /* the process that the audit waits for, or NULL */
    struct origins origins;          /* of the sessions */
    struct logins logins;
    struct warnings warnings; /* that strangers bring about */

    struct flusher flusher;
    bool in_flight;            /* a batch is being put on disk, while the loop goes on */
    uint64_t flush_started_ns; /* when the last one was begun */

    struct loop *loop; /* NULL: there is none, slow work is done at once */
    /* A session that was `gone` can be freed now; not at once, it is still in use. */
    void (*release)(struct session *session);
};

void server_init(struct server *server, const struct server_options *options);
void server_free(struct server *server);

/* The engine's name, with no secret in it; "loading" while it is being opened. */
const char *server_engine_name(const struct server *server);

/* What the engine carries. NULL, and *info is filled in; otherwise why it is not known, and *info
 * means nothing: a figure that is not known must not be shown as 0. */
const char *server_info(struct server *server, struct hf_info *info);
/* A figure that the engine has for metrics; 0 where it has none of that name. */
uint64_t server_figure(const struct server *server, const char *name);
/* The engine did this of its own accord: those who watch hear of it. */
void server_carried_out(void *server, const struct command *command, const struct reply *reply);

/* The engine is there: commands are carried out from now on. */
void server_attach(struct server *server, struct engine *engine);

/* The engine is closed; what it had not answered is never answered. */
void server_detach(struct server *server);

/* Logs a warning that strangers bring about, unless there were many of its kind. */
#define server_warn(server, kind, ...)                                                             \
    warnings_line(&(server)->warnings, &(server)->log, kind, NULL, __VA_ARGS__)

/* A client was refused because there are too many: counts it, and says so now and then. */
void server_refused(struct server *server, const char *peer);

/* Ends a turn as far as the engine goes: what is due, one flush. What is on disk then may be sent,
 * of every `out` as far as `firm` says. A batch that is still in flight afterwards is looked at
 * again in the next turns; those who waited for it, and for the next one, wait on. After a failure
 * every answer that was not on disk yet has become IOERR. */
void server_commit(struct server *server);

/* Waits for the batch in flight, if there is one. */
void server_settle(struct server *server);

/* Exit codes of the program. */
enum server_exit {
    SERVER_DONE = 0,
    SERVER_USAGE = 2,        /* the settings are no good */
    SERVER_DISK = 3,         /* the data directory cannot be used, or failed */
    SERVER_UNAVAILABLE = 69, /* an engine elsewhere that cannot be reached, or no threads */
};

/* Tries all that a start would need and says of everything that is wrong; starts and changes
 * nothing. */
enum server_exit server_check(const struct server_options *options);

/* Serves until it is asked to stop. */
enum server_exit server_run(const struct server_options *options);

#endif
