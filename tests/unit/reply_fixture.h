/* SPDX-License-Identifier: Apache-2.0
 *
 * A reply to be filled, and a buffer it is written to, for the tests of each way of writing it. */
#ifndef UNIT_REPLY_FIXTURE_H
#define UNIT_REPLY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/reply.h"

static struct memory memory;
static struct reply reply;
static struct buffer out;

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    buffer_init(&out, &memory);
    assert_true(reply_init(&reply, &memory));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    reply_free(&reply);
    buffer_free(&out);
    assert_int_equal(memory.used, 0);
    return 0;
}

static void expect_written(const char *expected)
{
    buffer_byte(&out, '\0');
    assert_false(out.failed);
    assert_string_equal(out.data, expected);
    buffer_clear(&out);
}

#endif
