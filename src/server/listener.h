/* SPDX-License-Identifier: Apache-2.0
 *
 * A listening port, and the front that is spoken there. */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include "net/address.h"
#include "server/session.h"

#include <uv.h>

struct loop;

struct listener {
    struct loop *loop;
    const struct front *front;
    uv_poll_t poll;
    int fd; /* -1: not open */
    char name[ADDRESS_TEXT_SIZE];
};

/* Listens on the address of the settings; port 0 is a free one. */
bool listener_open(struct listener *listener, struct loop *loop, const struct front *front,
                   int64_t port, struct problem *problem);
void listener_close(struct listener *listener);

#endif
