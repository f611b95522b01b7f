/* SPDX-License-Identifier: Apache-2.0
 *
 * The script with a given name, found in the table that tools/assemble-lua has sorted. */
#include "redis/client/script.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *name, const void *script)
{
    return strcmp(name, ((const struct script *)script)->name);
}

const struct script *script_find(const char *name)
{
    const struct script *script =
        bsearch(name, script_table, script_count, sizeof script_table[0], compare);

    CHECK(script != NULL);
    return script;
}
