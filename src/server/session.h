/* SPDX-License-Identifier: Apache-2.0
 *
 * One client's conversation, whatever protocol it speaks and whatever carries the bytes. Bytes go
 * in (session_feed), answers pile up in `out` until the turn's changes are on disk, and the loop
 * sends them. Answers come in the order of the requests. A command that waits (for its turn in a
 * line) stops the reading until it is answered. Other commands that the engine does not answer at
 * once, because the state is elsewhere, are in flight several at a time if the protocol lets
 * clients pipeline; an answer out of order is kept until those before it are there
 * (session_call.c).
 *
 *     idle ──bytes──> reading ──a command that waits──> waiting ──its answer──> idle
 *       └───────────────┴────────── closing ──all sent──> gone ────┘ (client left: undone)
 */
#ifndef SERVER_SESSION_H
#define SERVER_SESSION_H

#include "base/list.h"
#include "base/trace.h"
#include "command/reply.h"
#include "server/auth.h"

struct server;
struct session;
struct session_call;
struct origin;
struct login;

/* A protocol. */
struct front {
    const char *name;      /* "resp", "http" */
    const char *sorry;     /* the answer to a client beyond max-connections */
    const char *wants_tls; /* the answer to a client that speaks plainly to a port of TLS */
    const char *overdue;   /* what a client is told that did not sign in in time, or NULL */
    bool has_health;       /* has requests that are answered also when there are too many clients */
    bool pipelines;        /* takes more requests while answers are not there yet */

    /* Makes session->state; false when there is no memory. */
    bool (*open)(struct session *session);
    /* Gives it back. Calls nothing else of the session. */
    void (*close)(struct session *session);

    /* Takes bytes and returns how many it used; the rest is offered again, with more behind it.
     * Stops where session_stopped() says so. */
    size_t (*feed)(struct session *session, const char *data, size_t size);

    /* The reply to the command given to session_submit(), whose row is session->spec. */
    void (*answer)(struct session *session, const struct reply *reply);
    /* An answer that says what is wrong, instead of the reply. */
    void (*refuse)(struct session *session, const struct problem *problem);
    /* What session_authenticate() found. */
    void (*authenticated)(struct session *session, bool right);

    /* What session_audit() found: so many things, and their texts, each with a line end. */
    void (*audited)(struct session *session, uint64_t count, struct hf_bytes findings);

    /* Nothing was heard for a while; close politely (a 408, say). */
    void (*timed_out)(struct session *session);
    /* Bytes of memory held for this client, apart from the session's own buffers; may be NULL. */
    size_t (*memory)(const struct session *session);
    /* A few times a second, if session->wants_ticks: streams look after themselves. May be NULL. */
    void (*tick)(struct session *session);
    /* What the client says of its request: its id and its trace, if it does. *number is what the
     * request is counted as; the front may count otherwise. */
    void (*describe)(const struct session *session, uint64_t *number, struct trace_request *out);
    /* The name of what was asked for, for the audit log; NULL if it is not known. */
    const char *(*asked)(const struct session *session);
};

extern const struct front front_resp;
extern const struct front front_http;

struct session {
    struct server *server;
    const struct front *front;
    void *state; /* the front's own */
    uint64_t id;
    char peer[64]; /* "127.0.0.1:51234" */
    struct identity who;
    struct origin *origin;        /* where it comes from; NULL outside of a loop */
    struct login *login;          /* its password in flight, or NULL */
    uint64_t opened_ns, heard_ns; /* when it was opened, and last offered bytes */

    struct buffer out;        /* answers not sent yet */
    size_t firm;              /* so much of it shows nothing that could still be lost */
    size_t covered;           /* so much of it is in the batch in flight, if is_flushing */
    unsigned answers_covered; /* from `firm` to there */
    unsigned answers;         /* beyond that */
    uint64_t answered;        /* requests so far */
    size_t out_usual;         /* how much was in it when it was sent last, up to a bound */

    const struct command_spec *spec; /* of the command in flight, or whose answer is written */
    struct session_call *submitted;  /* inside engine_submit(), until it is answered */
    bool waits;                      /* for the answer to its command, or to who it is */
    bool unfinished;                 /* the front goes on with the last request when resumed */
    bool closing;                    /* no more requests; over when `out` is sent */
    bool partial;                    /* in the middle of a request; the front says so */
    bool wants_ticks;
    bool yielded; /* has more to do than this turn has time for, or must ask again in the next */
    bool only_health; /* beyond max-connections: may ask how the server is, once, and no more */
    bool given_up;    /* what waits was taken out of its line because the server stops */
    bool gone;        /* the client left while its command waits: freed with the answer */
    bool prepaid;     /* the command to be submitted has its token already: session_access.h */

    struct list calls;   /* in flight: struct session_call, in the order of the requests */
    unsigned call_count; /* of them */
    bool barrier;        /* the next request has to wait until all of them are answered */

    struct buffer undo; /* commands that take back what the client may never have learned of */
    size_t undo_last;   /* where the last of them begins */
    /* Counted in bytes of all answers so far: where `out` begins, and what has been delivered for
     * sure. The latter is set by the connection, before session_close(). */
    uint64_t out_begins, delivered;

    struct list node;     /* of server->sessions */
    struct list touched;  /* of server->touched, if is_touched */
    struct list flushing; /* of server->flushing, if is_flushing */
    struct list sending;  /* of server->sending, if is_sending */
    struct list resumed;  /* of server->resumed or another queue for a turn, if is_resumed */
    struct list ticking;  /* of server->ticking, if wants_ticks */
    bool is_touched, is_flushing, is_sending, is_resumed;
};

/* A position in server->sessions that stays valid while sessions come and go: a list of all of
 * them is made in steps. session_iterator.c */
struct session_iterator {
    struct list node;  /* of server->iterators */
    struct list *next; /* of server->sessions */
};
void session_iterator_begin(struct session_iterator *iterator, struct server *server);
/* The next one, NULL behind the last. */
struct session *session_iterator_next(struct session_iterator *iterator,
                                      const struct server *server);
void session_iterator_end(struct session_iterator *iterator);
/* This session is about to leave the list. */
void session_iterators_pass(const struct session *session);

/* Begins a conversation; false when there is no memory. */
bool session_open(struct session *session, struct server *server, const struct front *front);

/* The client is there no longer. `heard` says that it has taken every answer; otherwise it has
 * taken what was `delivered`. What waits is taken out of its line, and what was granted in an
 * answer that cannot have been received is given back. Returns true if the session can be freed;
 * otherwise it is `gone`, and server->release() is called with it when it can be. */
bool session_close(struct session *session, bool heard);
void session_free(struct session *session);

/* Answers are about to be written: makes room in an empty `out` for about as much as it had when it
 * was sent last, instead of letting it grow from nothing each time. */
void session_expect_answers(struct session *session);

/* All of `out` was sent: it is emptied, and its memory given back unless it is small. */
void session_sent(struct session *session);

/* The server stops: takes what waits out of its line, and answers it with that. */
void session_give_up(struct session *session);

/* The client spoke again: it knows what it was answered so far. */
void session_heard(struct session *session);

/* Offers bytes; returns how many were used. */
size_t session_feed(struct session *session, const char *data, size_t size);

/* A client that has not taken so many bytes is not answered further until it has. */
#define SESSION_OUT_MAX ((size_t)128 << 10)
/* So many requests of a client may be in flight. */
#define SESSION_CALLS_MAX 128

/* Must the front stop taking requests? Its command waits, it is closing, it yielded, or its client
 * takes answers more slowly than it asks. */
static inline bool session_stopped(const struct session *session)
{
    return session->waits || session->closing || session->gone || session->barrier ||
           session->yielded || session->call_count >= SESSION_CALLS_MAX ||
           session->out.size > SESSION_OUT_MAX;
}

/* The session goes on in the next turn, after others. */
void session_yield(struct session *session);

/* Has the session used up its share of this turn? Between two requests fronts ask this; if so it
 * has yielded, and what is left is offered again in the next turn. */
bool session_spent(struct session *session);
/* The same behind a command that was submitted, by the time that was taken when it was done. */
bool session_late(struct session *session);

/* Is there anything that is not answered yet? */
static inline bool session_busy(const struct session *session)
{
    return session->waits || session->call_count > 0 || session->unfinished || session->yielded;
}

/* Does a command wait that the client can still call off? */
static inline bool session_queues(const struct session *session)
{
    return session->waits && session->spec != NULL && session->spec->undo != NULL;
}

/* Does it wait for what is worth nothing once the client has left? */
static inline bool session_can_leave(const struct session *session)
{
    return session->login != NULL || session_queues(session);
}

/* May this command be submitted while others are not answered yet? NULL stands for a request that
 * is no command of the table. If not, nothing is read until they are; the request is offered again
 * then. */
bool session_takes_beside(struct session *session, const struct command_spec *spec);
static inline bool session_takes(struct session *session, const struct command_spec *spec)
{
    return session->call_count == 0 || session_takes_beside(session, spec);
}

/* The role that a command takes. */
enum role session_needed_role(const struct command_spec *spec);

/* May this client have such a command carried out, and is the engine there for it? Refuses and
 * returns false otherwise. */
bool session_accepts(struct session *session, const struct command_spec *spec);

/* Carries a command out, if the client may. front->answer() or front->refuse() is called once, now
 * or later. The command's texts are needed only during the call. False if the engine cannot take it
 * in this turn: nothing has happened, the session has yielded, and the front is to submit the same
 * request again when it is fed next. */
bool session_submit(struct session *session, struct command *command);

/* Answers with what is wrong: front->refuse(). */
void session_refuse(struct session *session, enum hf_error code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* May this client do it? Refuses (UNAUTHORIZED, FORBIDDEN) and returns false otherwise. */
bool session_allows(struct session *session, enum role needed);

/* Finds out who it is, by user and password, or by a token (user NULL). front->authenticated() is
 * called once, now or later; session->who is set if it is right. Or front->refuse(), if there is no
 * memory. */
void session_authenticate(struct session *session, const struct hf_bytes *user,
                          struct hf_bytes secret);

/* What became of that, once another thread has found out. `tried` is the user whose password it was
 * not, if there is one of that name; or NULL. */
void session_authenticated(struct session *session, bool right, const char *tried);

/* Recomputes every total; front->audited() or front->refuse() is called once, now or later. */
void session_audit(struct session *session);

/* The next line of a list, taken off it. */
struct hf_bytes next_finding(struct hf_bytes *findings);

/* Sets `waits`, and counts the sessions that do. */
void session_set_waits(struct session *session, bool waits);

/* Lets a session go on this very turn: its front is fed again, even if there is nothing new. */
void session_resume(struct session *session);

/* Has it wait in one of the server's queues for its turn, unless it does already. */
void session_wait_turn(struct session *session, struct list *queue);

/* front->tick() is called a few times a second from now on. */
void session_want_ticks(struct session *session);

/* What stands in `out` of a touched session is on disk: it may be sent. */
void session_committed(struct session *session);

/* What stands in `out` of a touched session is in the batch that begins now: it may be sent when
 * that is on disk, session_flushed(). */
void session_cover(struct session *session);
void session_flushed(struct session *session);
/* It is not, and never will be: all of it stands behind `firm`, and the session is touched. */
void session_uncover(struct session *session);

/* The last answer, which began at `start` in `out`, shows nothing of the engine: it is sent without
 * waiting for the disk, unless one before it has to. */
void session_shows_nothing(struct session *session, size_t start);

/* An answer that no command of the table gave stands in `out`. */
void session_answered(struct session *session);

/* There is something in `out` that answers nothing: an event of a stream, a 100 Continue. */
void session_touch(struct session *session);

#endif
