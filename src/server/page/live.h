/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of the server at a moment, as one JSON object: what the dashboard is sent once a
 * second. They are written once for all that watch, and cost the same however many scopes there
 * are: nothing in them is found by walking over scopes or holds. */
#ifndef SERVER_PAGE_LIVE_H
#define SERVER_PAGE_LIVE_H

#include "base/buffer.h"

struct server;

struct live {
    struct buffer text; /* an event: "event: figures", its data, and the line that ends it */
    uint64_t made_ns;   /* when it was written; 0: never */
    size_t watchers;
};

void live_init(struct live *live, struct memory *memory);

/* A page begins or ceases to watch. With the last one the memory goes. */
void live_watch(struct live *live);
void live_leave(struct live *live);

/* Writes the figures anew if those at hand are a second old. False when there is no memory. */
bool live_refresh(struct live *live, struct server *server, uint64_t now_ns);

#endif
