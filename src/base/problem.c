/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills in a struct problem as printf() would. */
#include "base/problem.h"

#include <stdarg.h>
#include <stdio.h>

enum hf_error problem_set(struct problem *problem, enum hf_error code, const char *format, ...)
{
    if (problem != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(problem->message, sizeof problem->message, format, args);
        va_end(args);
        problem->code = code;
        /* Messages travel on a line of their own and inside JSON: nothing but plain characters. */
        for (char *at = problem->message; *at != '\0'; at++) {
            if (*at < ' ' || *at > '~') {
                *at = '?';
            }
        }
    }
    return code;
}
