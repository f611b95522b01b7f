/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request as llhttp reads it, apart from the front's own reader: both have names of
 * their own for the same things, which cannot be in one file. */
#ifndef FUZZ_LLHTTP_VIEW_H
#define FUZZ_LLHTTP_VIEW_H

#include "holdfast.h"

#define LLHTTP_FIELDS_MAX 64

struct llhttp_view {
    const char *method;
    struct hf_bytes target;
    unsigned minor;
    bool chunked;
    uint64_t content_length;
    size_t count;
    struct {
        struct hf_bytes name, value;
    } fields[LLHTTP_FIELDS_MAX];
};

/* NULL, or what llhttp finds wrong with it. The view is of the head's own bytes. */
const char *llhttp_view_read(struct llhttp_view *view, struct hf_bytes head);

#endif
