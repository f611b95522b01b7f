/* SPDX-License-Identifier: Apache-2.0
 *
 * How much memory this process can have at most: what the machine has, or less where its control
 * group, as of a container or a unit, or a limit of the process allows only that. */
#ifndef BASE_MEMORY_BOUND_H
#define BASE_MEMORY_BOUND_H

#include <stddef.h>

/* In bytes; SIZE_MAX if nothing is known. `root` is "" but in tests: what stands before /proc and
 * /sys. */
size_t memory_bound(const char *root);

#endif
