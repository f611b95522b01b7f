/* SPDX-License-Identifier: Apache-2.0
 *
 * A turn of the loop is short, whatever clients ask for: each session has a share of it, and all
 * together have a little more than that. What does not fit is done in the next turn, after the loop
 * has seen who else has something to say. */
#ifndef SERVER_TURN_BUDGET_H
#define SERVER_TURN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct server;

/* Microseconds. A session that has more requests than fit its share yields. */
#define TURN_SHARE 500
/* From the start of a turn, sessions are served as soon as something comes from them. */
#define TURN_FRESH 1000
/* Of sending: what this turn answered comes first, then what earlier turns left. */
#define TURN_SENDING 700
/* Of what no request asks for: closing, ticks, events. */
#define TURN_HOUSEKEEPING 300

struct turn_budget {
    bool bounded;         /* there is a loop that goes on in the next turn */
    uint64_t began_ns;    /* when the turn began; 0: it has not */
    uint64_t began_ticks; /* when the turn began, in ticks */
    uint64_t ticks_a_ms;  /* how many make a millisecond */
    uint64_t share_ends;  /* of the session that is served now, in ticks */
};

/* Are so many microseconds over since the turn began? The first call begins it. */
bool turn_is_over(struct server *server, uint64_t microseconds);

/* When so many microseconds from now are over, in ticks; never, if turns have no bounds. */
uint64_t turn_deadline(struct server *server, uint64_t microseconds);
bool turn_has_time(uint64_t deadline);

#endif
