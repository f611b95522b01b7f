/* SPDX-License-Identifier: Apache-2.0
 *
 * Which connections the loop closes by itself: those that hold memory without need, those that are
 * slow or silent for too long, and all of a server that stops. */
#include "server/loop.h"

#define EVICT_EXAMINED 512 /* connections that one turn may examine to reclaim memory */
/* A connection that waits, and holds no more, is never closed for it. */
#define WAITER_SMALL ((size_t)4 << 10)

/* ---- memory ---------------------------------------------------------------------------------- */

/* Closes connections of a list that hold at least `least` bytes, the longest there first, until the
 * memory in use is `enough`. Returns how many were closed. */
static unsigned close_some(struct loop *loop, struct time_limit *limit, size_t least, size_t enough)
{
    struct list *head = &limit->connections;
    unsigned closed = 0, seen = 0;

    for (struct list *node = head->next, *next; node != head; node = next) {
        struct connection *connection = LIST_ENTRY(node, struct connection, limited);
        next = node->next;
        if (connections_memory(loop) <= enough || seen++ == EVICT_EXAMINED) {
            break;
        }
        if (connection_memory(connection) >= least) {
            connection_end(connection);
            closed++;
        }
    }
    return closed;
}

/* Closes connections that hold memory without need: strangers first, then those that do not read
 * their answers, the largest first, then those that wait with more behind them than a waiter has.
 * More is reclaimed than is missing, so that the next turn does not have to do it again. */
void loop_evict(struct loop *loop)
{
    enum { BACKLOGS = 4 };
    static const size_t backlogs[BACKLOGS] = {(size_t)64 << 10, (size_t)16 << 10, WAITER_SMALL,
                                              CONNECTION_SMALL};
    struct server *server = &loop->server;
    size_t limit = (size_t)server->options->client_memory_bytes, used = connections_memory(loop);
    size_t enough = limit / 4 * 3;

    unsigned strangers = strangers_evict(loop, enough), closed = 0;
    for (size_t i = 0; i < BACKLOGS; i++) {
        closed += close_some(loop, &loop->slow, backlogs[i], enough);
    }
    for (size_t i = 0; i < BACKLOGS && backlogs[i] >= WAITER_SMALL; i++) {
        closed += close_some(loop, &loop->crowding, backlogs[i], enough);
    }
    closed += close_some(loop, &loop->slow, 0, limit);
    if (closed + strangers > 0) {
        server->metrics.evicted += closed + strangers;
        server_warn(
            server, WARNING_MEMORY,
            "clients kept %zu bytes waiting, at most %zu are allowed: closed %u of them, and "
            "%u that had not signed in",
            used, limit, closed, strangers);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Answers a slow client that is in the middle of a request with an error, and gives it as much time
 * again to read that. */
static bool warn(struct time_limit *limit, struct connection *connection, uint64_t now_ns)
{
    struct session *session = &connection->session;

    if (!(session->partial || session->only_health) || session->closing || session->waits) {
        return false;
    }
    if (session->only_health) {
        server_refused(session->server, session->peer);
        buffer_text(&session->out, session->front->sorry);
    } else {
        session->front->timed_out(session);
    }
    session->closing = true;
    session->partial = false;
    session_touch(session);
    connection->limited_ns = now_ns;
    list_remove(&connection->limited);
    list_add_last(&limit->connections, &connection->limited);
    return true;
}

/* Closes connections that were in a list for too long. False if there was no time for all. */
static bool end_overdue(struct loop *loop, struct time_limit *limit, uint64_t ends)
{
    uint64_t limit_ns = (uint64_t)limit->limit_ms * 1000000, now_ns = clock_nanoseconds();

    while (limit->limit_ms > 0 && !list_empty(&limit->connections)) {
        struct connection *connection =
            LIST_ENTRY(limit->connections.next, struct connection, limited);
        if (now_ns - connection->limited_ns < limit_ns) {
            return true;
        }
        if (!turn_has_time(ends)) {
            return false;
        }
        bool slow = limit == &loop->slow;
        loop->server.metrics.timed_out += slow;
        if (!(slow || limit == &loop->health) || !warn(limit, connection, now_ns)) {
            connection_end(connection);
        }
    }
    return true;
}

/* The first session of the list gets its tick and becomes the last. */
static void tick_one(struct server *server)
{
    struct session *session = LIST_ENTRY(server->ticking.next, struct session, ticking);

    list_remove(&session->ticking);
    list_add_last(&server->ticking, &session->ticking);
    if (!session->gone) {
        session->front->tick(session);
    }
}

/* A server that stops does not wait for its clients to hang up first. */
static void hang_up(struct loop *loop, uint64_t ends)
{
    struct list *head = &loop->lingering.connections;

    for (struct list *node = head->next, *next; node != head && turn_has_time(ends); node = next) {
        next = node->next;
        connection_hang_up(LIST_ENTRY(node, struct connection, limited));
    }
}

void loop_keep_house(struct loop *loop)
{
    uint64_t ends = turn_deadline(&loop->server, TURN_HOUSEKEEPING);

    if (loop->server.state == SERVER_DRAINING) {
        hang_up(loop, ends);
    }

    if (loop->limits_due) {
        loop->limits_due =
            !(end_overdue(loop, &loop->slow, ends) && end_overdue(loop, &loop->quiet, ends) &&
              end_overdue(loop, &loop->lingering, ends) && end_overdue(loop, &loop->health, ends) &&
              strangers_end_overdue(loop, ends));
    }
    while (loop->ticks_left > 0 && !list_empty(&loop->server.ticking) && turn_has_time(ends)) {
        loop->ticks_left--;
        tick_one(&loop->server);
    }
    if (list_empty(&loop->server.ticking)) {
        loop->ticks_left = 0;
    }
}
