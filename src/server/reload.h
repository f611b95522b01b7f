/* SPDX-License-Identifier: Apache-2.0
 *
 * Users and certificate, read at the start and again on SIGHUP. */
#ifndef SERVER_RELOAD_H
#define SERVER_RELOAD_H

#include "server/loop.h"

/* Reads what the settings name. False, and the problem says why. */
bool reload_first(struct loop *loop, struct problem *problem);

/* Reads it again. What cannot be used leaves in place what was there before, and the log says so.
 * The new users count for the clients that are connected, too: who is a user no longer, or may do
 * less than before, loses what it waits for and what it watches. */
void reload_again(struct loop *loop);

#endif
