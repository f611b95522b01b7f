/* SPDX-License-Identifier: Apache-2.0
 *
 * The shares of a turn, by the processor's own clock, which is read between any two requests. */
#include "server/turn_budget.h"

#include "server/server.h"

/* Begins the turn, unless it has begun: takes the time, and finds out how many ticks make a
 * millisecond and a slow command. */
static void begin(struct server *server)
{
    struct turn_budget *turn = &server->turn;

    if (turn->began_ns != 0) {
        return;
    }
    turn->began_ns = clock_nanoseconds();
    turn->began_ticks = clock_ticks();
    uint64_t ticks = turn->began_ticks - server->started_ticks;
    uint64_t elapsed_ns = turn->began_ns - server->started_ns;
    double ticks_a_ms = elapsed_ns > 0 ? (double)ticks * 1e6 / (double)elapsed_ns : 1;
    turn->ticks_a_ms = (uint64_t)ticks_a_ms;
    server->slow_ticks = (uint64_t)((double)server->options->slow_ms * ticks_a_ms);
}

uint64_t turn_deadline(struct server *server, uint64_t microseconds)
{
    begin(server);
    if (!server->turn.bounded) {
        return UINT64_MAX;
    }
    return clock_ticks() + microseconds * server->turn.ticks_a_ms / 1000;
}

bool turn_is_over(struct server *server, uint64_t microseconds)
{
    begin(server);
    return server->turn.bounded &&
           clock_ticks() - server->turn.began_ticks > microseconds * server->turn.ticks_a_ms / 1000;
}

bool turn_has_time(uint64_t deadline)
{
    return clock_ticks() <= deadline;
}
