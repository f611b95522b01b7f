/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of requests of one scope. A request that a script answers AGAIN leads the line of its
 * scope: it is sent again by itself until it is answered otherwise, and the requests of its scope
 * that were sent after it are held back meanwhile. Those in flight behind it answer AGAIN as well
 * (lua/parts/common.lua, due_share), and join the line in the order in which they came. Then all of
 * them are sent, one behind the other.
 *
 * A request whose script may answer AGAIN for other reasons leads a line from the beginning.
 *
 *               AGAIN, or such a script             answered
 *     no line --------------------------> led line ----------> no line
 *                                          ^    |
 *                                          +----+ AGAIN
 *
 * A request that is held back is in flight for its caller: it counts against the queue, and is
 * answered when its time is over. Scopes with the same place among the lines only hold each other
 * up. */
#ifndef REDIS_CLIENT_SCOPE_LINE_H
#define REDIS_CLIENT_SCOPE_LINE_H

#include "redis/client/client.h"

#define SCOPE_LINES 64 /* a power of two */

struct scope_line {
    struct list held;           /* in the order of redis_client_send() */
    struct redis_request *head; /* leads the line: sent, or about to be; NULL: none does */
    bool releasing;
};

struct scope_lines {
    struct scope_line of[SCOPE_LINES];
};

void scope_lines_init(struct scope_lines *lines);

/* Has the request wait if there is a line that it is not the head of. Returns whether it does. */
bool scope_line_holds(struct redis_client *client, struct redis_request *request);
/* It is sent now: it leads a line if its script wants that. */
void scope_line_begin(struct redis_client *client, struct redis_request *request);
/* It was answered AGAIN: it joins the line, and the first of it is sent. */
void scope_line_again(struct redis_node *node, struct redis_request *request);

/* It is about to be answered. Returns the line that it led; NULL: none. */
struct scope_line *scope_line_left(struct redis_client *client, struct redis_request *request);
/* Sends those that were held back. */
void scope_line_release(struct redis_client *client, struct scope_line *line);

/* A request that is held back; NULL: there is none. */
struct redis_request *scope_lines_any(struct redis_client *client);

#endif
