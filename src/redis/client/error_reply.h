/* SPDX-License-Identifier: Apache-2.0
 *
 * What an error reply of Redis asks for: its first word decides. */
#ifndef REDIS_CLIENT_ERROR_REPLY_H
#define REDIS_CLIENT_ERROR_REPLY_H

#include "base/problem.h"
#include "net/address.h"

#include <hiredis/hiredis.h>

enum error_action {
    ERROR_ANSWER,    /* the script's or the command's own: it is the answer */
    ERROR_RETRY,     /* certainly not carried out; a retry may be, after a pause */
    ERROR_REFUSED,   /* certainly not carried out, and it will not be soon */
    ERROR_AGAIN,     /* the script's own: not carried out, since more was due than it gives back */
    ERROR_NO_SCRIPT, /* not carried out: the script is to be loaded first */
    ERROR_MOVED,     /* not carried out: its slot is at that address, from now on */
    ERROR_ASK,       /* not carried out: at that address this once, after an ASKING */
};

struct error_reply {
    enum error_action action;
    enum hf_error code; /* ours, if it comes to nothing */
    bool not_master;    /* the server that answered is a replica */
    int slot;           /* of MOVED and ASK */
    uint16_t port;
    char host[ADDRESS_HOST_SIZE]; /* empty: the host that was asked */
};

void error_reply_read(const redisReply *reply, struct error_reply *error);

#endif
