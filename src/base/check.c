/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends the process when a CHECK() does not hold: going on would write a wrong state to disk. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "holdfast: internal check failed: %s at %s:%d\n", condition, file, line);
    abort();
}
