/* SPDX-License-Identifier: Apache-2.0
 *
 * A service to be talked to in words: an embedded engine, in a directory or not, and a ledger on
 * SQLite, all of them real; between the two an engine that can be made to fail.
 *
 *     sale_open(w, SALE_GUARDED);
 *     sale_expect(w, "STOCK.LOAD sneaker 10", "1 10");
 *     sale_expect(w, "STOCK.BUY sneaker o1 ann 1", "1 9 SOLD");
 *     assert_int_equal(sale_sql(w, "SELECT stock FROM inventory"), 9);
 *
 * A reply is written with its elements separated by a space, a refusal as "0 CODE". */
#ifndef UNIT_SERVICE_FIXTURE_H
#define UNIT_SERVICE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/service_state.h"

enum sale_kind {
    SALE_GUARDED,  /* the ledger was given */
    SALE_DEFAULT,  /* it is made when first needed */
    SALE_NO_LEDGER /* there can be none */
};

/* What the engine between does with a command. */
enum sale_fault {
    FAULT_NONE,
    FAULT_DOWN,         /* ENGINE_DOWN: not carried out */
    FAULT_LOST,         /* TIMEOUT, outcome unknown: not carried out */
    FAULT_DONE_UNHEARD, /* TIMEOUT, outcome unknown: carried out */
};

struct sale_answer {
    bool done;
    enum hf_error code;
    bool unknown;
    char text[1024];
    char message[MESSAGE_SIZE];
    const struct command_spec *spec;
};

struct sale_world {
    char folder[64];
    char engine_url[128], ledger_url[128];
    struct engine *engine; /* the service */
    struct engine *inner;  /* the embedded engine */
    struct service_options settings;
    bool answers_before_flush;
    bool simulated; /* the clock is the machine's and so much more: */
    int64_t ahead_ms;
    enum sale_fault fault;
    unsigned fault_command; /* COMMAND_COUNT: any */
    unsigned fault_count;   /* so many of them, then no more */
    bool away;              /* what engine_is_away() says */
    uint64_t commands;      /* that reached the engine */
    struct sale_answer last;
};

int sale_setup(void **state);
int sale_teardown(void **state);

/* Opens a service with the settings of the world. */
void sale_open(struct sale_world *world, enum sale_kind kind);
void sale_close(struct sale_world *world);

/* The engine fails from now on. */
void sale_fail(struct sale_world *world, enum sale_fault fault, unsigned command, unsigned count);

/* Submits a command; its answer comes with sale_wait() or at once. */
void sale_submit(struct sale_world *world, const char *words, struct sale_answer *answer);
void sale_wait(struct sale_world *world, struct sale_answer *answers, size_t count);
/* One turn, as a server has it. */
void sale_turn(struct sale_world *world);

/* Runs a command, and returns its answer until the next one. */
struct sale_answer *sale_run(struct sale_world *world, const char *words);
#define sale_expect(world, words, reply)                                                           \
    sale_expect_at((world), (words), (reply), __FILE__, __LINE__)
void sale_expect_at(struct sale_world *world, const char *words, const char *reply,
                    const char *file, int line);

/* A number out of the ledger's database; runs a statement that gives none. */
int64_t sale_sql(struct sale_world *world, const char *statement);

/* Copies a folder of files in the world's own folder. */
void sale_copy(struct sale_world *world, const char *from, const char *to);

#endif
