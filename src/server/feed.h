/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens, for clients that watch: every command that changed something, and everything
 * that fell due by itself. There are two kinds of watchers.
 *
 * A listener gets all of it, as server-sent events, numbered. The latest entries are kept while
 * there is a listener, and for a minute after, so that a listener whose connection broke misses
 * nothing when it comes back. One that cannot keep up loses entries, and is sent how many.
 *
 * A visitor is a user in a waiting room who wants to know when it is their turn. */
#ifndef SERVER_FEED_H
#define SERVER_FEED_H

#include "base/list.h"
#include "base/siphash.h"
#include "base/slab.h"
#include "base/table.h"
#include "command/family.h"
#include "command/reply.h"

#define FEED_KEPT 1024                       /* entries; a power of two */
#define FEED_ENTRY_MAX ((size_t)4096)        /* bytes of one; what is longer is left out of it */
#define FEED_BACKLOG_MAX ((size_t)256 << 10) /* bytes that a listener has not taken yet */
#define FEED_LISTENERS_MAX 64
#define FEED_LINGER_NS (UINT64_C(60) * 1000000000)

struct engine;
struct session;

/* One entry: its scope, and behind it the event as it is sent. */
struct feed_entry {
    char *data;
    uint32_t scope_size, size;
    enum family family;
    bool scoped; /* it is a scope, and not another id that the command begins with */
};

struct feed {
    struct memory *memory;
    bool wanted;     /* there is a listener or a visitor, or entries are kept */
    bool collecting; /* the engine keeps events */
    bool behind;     /* it has more of them than one turn had time for */

    struct feed_entry *kept; /* FEED_KEPT of them; NULL while none are kept */
    uint64_t first, next;    /* numbers of the oldest entry kept and of the one to come */
    uint64_t since;          /* the first of those that were all kept at the time */
    struct buffer scratch;
    struct list listeners;
    size_t listener_count;
    uint64_t left_ns; /* when the last listener left */

    struct table visitors; /* by event and user, of indexes in visitor_slab */
    struct slab visitor_slab;
    uint8_t key[SIPHASH_KEY];
};

void feed_init(struct feed *feed, struct memory *memory);
/* Sessions that watch have left before. */
void feed_free(struct feed *feed);

/* Is it worth calling feed_command()? */
static inline bool feed_wanted(const struct feed *feed)
{
    return feed->wanted;
}

/* A command that may write was carried out. May be called from an engine's answer. */
void feed_command(struct feed *feed, const struct command *command, const struct reply *reply);
/* Something fell due: from engine_next_event(), which the loop empties each turn. */
void feed_event(struct feed *feed, const struct event *event);

/* Once a turn, outside the engine's answers: tells the engine whether to collect events, and gives
 * back the memory of entries that no listener came back for. */
void feed_turn(struct feed *feed, struct engine *engine, uint64_t now_ns);

/* ---- listeners ------------------------------------------------------------------------------- */

struct feed_listener {
    struct list node;
    struct session *session;
    uint64_t next;   /* the first number it has not been offered */
    uint64_t missed; /* how many of those before it never got, since it was last sent how many */
    bool lost_track; /* it missed more than `missed`, of unknown number */
    char scope[HF_ID_SIZE]; /* only this one, unless empty */
};

/* Begins to listen, with what is kept after number `after` (UINT64_MAX: with what comes). False if
 * there are too many listeners or there is no memory. The rest of the struct is filled in. */
bool feed_listen(struct feed *feed, struct feed_listener *listener, uint64_t after);
void feed_leave(struct feed *feed, struct feed_listener *listener, uint64_t now_ns);
/* Goes on where it stopped, if the client has taken enough of what it was sent. */
void feed_catch_up(struct feed *feed, struct feed_listener *listener);

/* ---- visitors of waiting rooms --------------------------------------------------------------- */

struct feed_visitor {
    struct session *session;
    /* Admitted: the visitor is out of the feed already. */
    void (*admitted)(struct feed_visitor *visitor);
    uint32_t hash, index;
    char event[HF_ID_SIZE], user[HF_ID_SIZE];
};

/* False when there is no memory. */
bool feed_watch(struct feed *feed, struct feed_visitor *visitor);
/* Of a visitor that was not admitted. */
void feed_unwatch(struct feed *feed, struct feed_visitor *visitor);

#endif
