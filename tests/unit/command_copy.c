/* SPDX-License-Identifier: Apache-2.0
 *
 * A command's copy: it holds what the command held, and nothing of it lies in the original. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "command/copy.h"

static struct memory memory;
static struct buffer texts;

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    buffer_init(&texts, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_free(&texts);
    assert_int_equal(memory.used, 0);
    return 0;
}

static struct command reserve(char *event, char *user, const char *booking)
{
    struct command command = {.spec = &command_table[SEATS_RESERVE]};

    memset(command.entropy, 7, sizeof command.entropy);
    command.args.seats_reserve.event = hf_text(event);
    command.args.seats_reserve.user = hf_text(user);
    command.args.seats_reserve.zone = hf_text("floor");
    command.args.seats_reserve.booking = hf_text(booking);
    command.args.seats_reserve.quantity = 3;
    return command;
}

static void outlives_the_original(void **state)
{
    char event[] = "gala", user[] = "ann";
    struct command from = reserve(event, user, "b1"), to;

    (void)state;
    assert_true(command_copy(&to, &from, &texts));
    memset(event, 'x', sizeof event - 1);
    memset(user, 'x', sizeof user - 1);
    memset(&from.args, 0, sizeof from.args);
    assert_ptr_equal(to.spec, &command_table[SEATS_RESERVE]);
    assert_memory_equal(to.entropy, from.entropy, sizeof to.entropy);
    assert_true(text_equal(to.args.seats_reserve.event, hf_text("gala")));
    assert_true(text_equal(to.args.seats_reserve.user, hf_text("ann")));
    assert_true(text_equal(to.args.seats_reserve.zone, hf_text("floor")));
    assert_true(text_equal(to.args.seats_reserve.booking, hf_text("b1")));
    assert_int_equal(to.args.seats_reserve.quantity, 3);
}

/* The buffer is used again for a longer command: its views must be of where it lies now. */
static void is_made_again_in_the_same_buffer(void **state)
{
    char longer[201];
    struct command to, from = reserve("gala", "ann", "b1");

    (void)state;
    memset(longer, 'u', 200);
    longer[200] = '\0';
    assert_true(command_copy(&to, &from, &texts));
    from = reserve("gala", longer, "b2");
    assert_true(command_copy(&to, &from, &texts));
    assert_true(text_equal(to.args.seats_reserve.event, hf_text("gala")));
    assert_true(text_equal(to.args.seats_reserve.user, hf_text(longer)));
    assert_true(text_equal(to.args.seats_reserve.booking, hf_text("b2")));
}

static void keeps_a_missing_text_missing(void **state)
{
    struct command to, from = reserve("gala", "ann", "");

    (void)state;
    from.args.seats_reserve.zone = (struct hf_bytes){NULL, 0};
    assert_true(command_copy(&to, &from, &texts));
    assert_null(to.args.seats_reserve.zone.data);
    assert_non_null(to.args.seats_reserve.booking.data);
    assert_int_equal(to.args.seats_reserve.booking.size, 0);
}

static void *no_memory(struct memory *of, void *block, size_t old_size, size_t new_size)
{
    (void)of;
    (void)block;
    (void)old_size;
    (void)new_size;
    return NULL;
}

static void says_when_there_is_no_memory(void **state)
{
    struct command to, from = reserve("gala", "ann", "b1");

    (void)state;
    void *(*resize)(struct memory *, void *, size_t, size_t) = memory.resize;
    memory.resize = no_memory;
    assert_false(command_copy(&to, &from, &texts));
    memory.resize = resize;
    assert_true(command_copy(&to, &from, &texts));
    assert_true(text_equal(to.args.seats_reserve.event, hf_text("gala")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(outlives_the_original, setup, teardown),
        cmocka_unit_test_setup_teardown(is_made_again_in_the_same_buffer, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_a_missing_text_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(says_when_there_is_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
