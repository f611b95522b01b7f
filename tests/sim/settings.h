/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers from the environment. */
#ifndef SIM_SETTINGS_H
#define SIM_SETTINGS_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

#endif
