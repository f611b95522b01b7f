/* SPDX-License-Identifier: Apache-2.0
 *
 * Random commands of every family over a few names. All of it follows from a seed and the number of
 * the command, which counts from 1. */
#ifndef CRASH_COMMANDS_H
#define CRASH_COMMANDS_H

#include "command/command.h"

/* Never gives one that waits. Its texts are static. */
void make_command(struct command *command, uint64_t seed, uint64_t number);

/* When it is carried out; never before the one before it. */
int64_t command_time(uint64_t seed, uint64_t number);

/* How many commands the batch that begins with this one has. */
uint64_t batch_size(uint64_t seed, uint64_t number, uint64_t most);

#endif
