/* SPDX-License-Identifier: Apache-2.0
 *
 * A handle in memory for each test, whose audit is clean at its end. */
#ifndef UNIT_LIBRARY_FIXTURE_H
#define UNIT_LIBRARY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"

static int open_handle(void **state)
{
    return hf_open("embedded:", (hf_handle **)state) != HF_OK;
}

static int close_handle(void **state)
{
    uint64_t findings = 1;
    enum hf_error code = hf_audit(*state, NULL, NULL, &findings);

    hf_close(*state);
    return code != HF_OK || findings != 0;
}

#define ok(call) assert_int_equal(call, HF_OK)
#define refused(call, code) assert_int_equal(call, code)

#endif
