/* SPDX-License-Identifier: Apache-2.0
 *
 * What hf_open_with() was given, as the service takes it. */
#ifndef LIBRARY_OPEN_OPTIONS_H
#define LIBRARY_OPEN_OPTIONS_H

#include "service/service.h"

struct open_options {
    const char *engine; /* a URL, never NULL */
    struct service_options service;
    char own_ledger[4200]; /* that of the engine's directory */
};

/* INVALID_ARGUMENT for options that no version of the library has, or that do not fit together. The
 * texts of `out` are those of `given`, and its own. */
enum hf_error open_options_read(struct open_options *out, const struct hf_open_options *given,
                                struct problem *problem);

#endif
