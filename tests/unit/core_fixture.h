/* SPDX-License-Identifier: Apache-2.0
 *
 * A core to be talked to in words, so that a test reads like the contract:
 *
 *     at(f, 1000);
 *     expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
 *     expect(f, "SEATS.RESERVE gala floor b1 ann 2 4 TTL 10ms", "1 8 2 *");
 *     at(f, 1010);
 *     expect(f, "SEATS.GET gala b1", "0 RESERVATION_NOT_FOUND");
 *
 * Words are separated by one space. A reply is written with its elements separated by a space; a
 * refusal is "0 CODE", a malformed request "-ERR", nil "nil", a command that waits "WAIT", an empty
 * list or text "". `*` in an expectation stands for any one element. After every command the audit
 * must be clean. */
#ifndef UNIT_CORE_FIXTURE_H
#define UNIT_CORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/core.h"

struct fixture {
    struct memory memory;
    struct core *core;
    struct reply reply;
    int64_t now_ms;
    uint64_t commands; /* so far; entropy is made from it */
    uint64_t ticket;   /* of the last command that waited */
    char text[8192];   /* the last reply, written out */
};

/* Setup and teardown for cmocka; *state is the fixture. Teardown checks that no memory is lost. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* The time of the commands to come. It may go back. */
void at(struct fixture *f, int64_t now_ms);

/* Runs a command and compares its reply. */
#define expect(f, words, reply) expect_at((f), (words), (reply), __FILE__, __LINE__)
void expect_at(struct fixture *f, const char *words, const char *reply, const char *file, int line);

/* The same, and not a bit of the state is different afterwards. */
#define expect_unchanged(f, words, reply)                                                          \
    expect_unchanged_at((f), (words), (reply), __FILE__, __LINE__)
void expect_unchanged_at(struct fixture *f, const char *words, const char *reply, const char *file,
                         int line);

/* Runs a command whose reply is not looked at, and returns it written out, until the next command.
 */
const char *run(struct fixture *f, const char *words);

/* Runs a command without the audit, which would clean up and free what is behind. */
enum hf_error run_unaudited(struct fixture *f, const char *words);

/* Runs a command given as bytes, for ids with spaces and the like. */
const char *run_words(struct fixture *f, size_t count, const struct hf_bytes *words);

/* The answers to commands that waited since the last look, oldest first, "ticket:reply" separated
 * by
 * "; ". Tickets count from 1. */
#define expect_wakes(f, text) expect_wakes_at((f), (text), __FILE__, __LINE__)
void expect_wakes_at(struct fixture *f, const char *text, const char *file, int line);

/* Goes on with a core made from a snapshot of this one; the digest must be the same. */
void snapshot_and_restore(struct fixture *f);

#endif
