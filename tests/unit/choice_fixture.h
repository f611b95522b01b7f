/* SPDX-License-Identifier: Apache-2.0
 *
 * A word that an argument allows, for tests that try every command. */
#ifndef UNIT_CHOICE_FIXTURE_H
#define UNIT_CHOICE_FIXTURE_H

#include "command/command.h"

/* The last of "merge|steal", which is not the default. */
static inline struct hf_bytes last_choice(const struct arg_spec *arg)
{
    const char *bar = strrchr(arg->choices, '|');

    return hf_text(bar != NULL ? bar + 1 : arg->choices);
}

#endif
