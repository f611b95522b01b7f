/* SPDX-License-Identifier: Apache-2.0
 *
 * What went wrong, in words: what, with what value, and what to do. */
#ifndef BASE_PROBLEM_H
#define BASE_PROBLEM_H

#include "base/limits.h"

struct problem {
    enum hf_error code;
    char message[MESSAGE_SIZE];
};

/* Says what is wrong and returns the code. A NULL problem is fine. */
enum hf_error problem_set(struct problem *problem, enum hf_error code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
