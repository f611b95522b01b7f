/* SPDX-License-Identifier: Apache-2.0
 *
 * Kills the process at a named point. Only compiled for tests; see fault.h. */
#include "base/fault.h"

#ifdef HOLDFAST_FAULT_POINTS
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name) [FAULT_##name] = #name,
    FAULT_POINTS(X)
#undef X
};

/* Passed by the threads of the ledger, too. */
void fault_pass(enum fault_point point)
{
    static atomic_long passes;
    const char *wanted = getenv("HOLDFAST_FAULT");
    size_t size = strlen(names[point]);

    if (wanted == NULL || strncmp(wanted, names[point], size) != 0 ||
        (wanted[size] != '\0' && wanted[size] != ':')) {
        return;
    }
    long at = wanted[size] == ':' ? strtol(wanted + size + 1, NULL, 10) : 1;
    if (atomic_fetch_add(&passes, 1) + 1 == at) {
        fprintf(stderr, "holdfast-faults: killed at %s, pass %ld\n", names[point], at);
        fflush(stderr);
        raise(SIGKILL);
    }
}
#endif
