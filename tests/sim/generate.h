/* SPDX-License-Identifier: Apache-2.0
 *
 * Random commands of all families over a few names, so that they meet. */
#ifndef SIM_GENERATE_H
#define SIM_GENERATE_H

#include "command/command.h"
#include "dice.h"

/* A command and the text it is a view of. */
struct generated {
    struct command command;
    char text[8192];
};

/* Makes one; always valid. */
void generate(struct dice *dice, struct generated *out);

#endif
