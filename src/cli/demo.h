/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two forms of `holdfast demo` share. */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include "holdfast.h"

#include <stdio.h>

/* "buyer-17" */
static inline struct hf_bytes demo_name(char out[32], const char *what, size_t i)
{
    return (struct hf_bytes){out, (size_t)snprintf(out, 32, "%s-%zu", what, i)};
}

/* A finding of hf_audit(), on a line of its own. */
void demo_print_finding(void *context, const char *finding);

/* holdfast demo --serve: the options are read. Returns the exit code. */
struct demo_serve_options {
    const char *resp_port, *http_port;
    bool stay; /* the server goes on until Ctrl-C */
};
int demo_serve(const struct demo_serve_options *options);

#endif
