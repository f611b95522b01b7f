/* SPDX-License-Identifier: Apache-2.0
 *
 * The release worker reads off a command's row whether it sets a deadline, and of which family. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis/worker/worker_scopes.h"

static enum worker_family read_deadline(const char *line, int64_t *in_ms)
{
    struct hf_bytes words[20];
    struct command command;
    size_t count = 0;

    for (const char *at = line; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        words[count++] = (struct hf_bytes){at, size};
        at += size;
    }
    assert_int_equal(command_from_words(&command, count, words, NULL), HF_OK);
    return worker_scopes_deadline(&command, in_ms);
}

static void expect_deadline(const char *line, enum worker_family family, int64_t expected_ms)
{
    int64_t in_ms = 0;

    assert_int_equal(read_deadline(line, &in_ms), family);
    assert_int_equal(in_ms, expected_ms);
}

static void commands_with_a_ttl_set_a_deadline_of_their_family(void **state)
{
    (void)state;
    expect_deadline("SEATS.RESERVE e z b u 1 0 TTL 7", WORKER_FAMILY_SEATS, 7000);
    expect_deadline("SEATS.RESERVE e z b u 1 0", WORKER_FAMILY_SEATS, SEATS_TTL_DEFAULT_MS);
    expect_deadline("SEATS.EXTEND e b 8", WORKER_FAMILY_SEATS, 8000);
    expect_deadline("QUOTA.RESERVE t 1 HOLD h TTL 9", WORKER_FAMILY_QUOTA, 9000);
    expect_deadline("STOCK.TAKE p o u 1 TTL 10", WORKER_FAMILY_STOCK, 10000);
    expect_deadline("ROOM.JOIN e u TTL 11", WORKER_FAMILY_QUEUE, 11000);
}

static void what_counts_until_it_is_refunded_has_no_deadline(void **state)
{
    (void)state;
    expect_deadline("QUOTA.RESERVE t 1", WORKER_FAMILY_COUNT, 0);
}

static void others_set_none(void **state)
{
    static const char *const lines[] = {
        "SEATS.CONFIRM e b",      "SEATS.GET e b",       "QUOTA.COMMIT t h", "STOCK.SETTLE p o",
        "ROOM.ADMIT e 1 PASS 60", "SEM.ACQUIRE n i 1",   "LOCK.TRY r 5",     "LOCK.EXTEND r l 5",
        "IDEM.BEGIN k f TTL 5",   "SEM.QUEUE n i 10 20", "ROOM.LEAVE e u",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        expect_deadline(lines[i], WORKER_FAMILY_COUNT, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_with_a_ttl_set_a_deadline_of_their_family),
        cmocka_unit_test(what_counts_until_it_is_refunded_has_no_deadline),
        cmocka_unit_test(others_set_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
