/* SPDX-License-Identifier: Apache-2.0
 *
 * A server of the program's own, in a temporary directory: started, killed, started again on the
 * same ports, and gone with its directory in the end. */
#ifndef CLI_OWN_SERVER_H
#define CLI_OWN_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#define OWN_SERVER_FLAGS 12

struct own_server {
    char directory[64];
    char resp_port[8], http_port[8]; /* "0": any that is free, and the same again from then on */
    const char *flags[OWN_SERVER_FLAGS]; /* more for `holdfast serve`, up to a NULL */
    pid_t pid;                           /* 0: it is not running */
};

/* Makes the directory; false, and errno says why not. */
bool own_server_make(struct own_server *server);

/* Starts it and waits until it is ready. False if it did not become so: it has said why on standard
 * error. */
bool own_server_start(struct own_server *server);

/* As a crash, and waits until it is gone. */
void own_server_kill(struct own_server *server);

/* In good order; then the directory is taken away. */
void own_server_end(struct own_server *server);

#endif
