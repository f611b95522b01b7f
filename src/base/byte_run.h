/* SPDX-License-Identifier: Apache-2.0
 *
 * How far bytes of one kind go: names, values, texts in JSON. */
#ifndef BASE_BYTE_RUN_H
#define BASE_BYTE_RUN_H

#include "holdfast.h"

/* How many bytes from the first on have a bit of `kind` in the table. Four at a time, since most
 * runs are of dozens. */
static inline size_t byte_run(const char *data, size_t size, const uint8_t kinds[256], uint8_t kind)
{
    const uint8_t *at = (const uint8_t *)data;
    size_t i = 0;

    while (size - i >= 4 &&
           kinds[at[i]] & kinds[at[i + 1]] & kinds[at[i + 2]] & kinds[at[i + 3]] & kind) {
        i += 4;
    }
    while (i < size && kinds[at[i]] & kind) {
        i++;
    }
    return i;
}

/* How many characters stand for themselves in a text of JSON: all of ASCII that is visible, and
 * spaces, but no quote and no backslash. */
size_t byte_run_json(const char *data, size_t size);

#endif
