/* SPDX-License-Identifier: Apache-2.0
 *
 * A ledger on SQLite in a directory of its own, with what was submitted to it. Answers are given by
 * waiting for them; another connection to the same file sees what is really there. */
#ifndef UNIT_LEDGER_FIXTURE_H
#define UNIT_LEDGER_FIXTURE_H

#include "ledger/ledger.h"
#include "ledger/sql.h"

#include <pthread.h>

/* A sale, its texts, and how often it was answered. */
struct sold {
    struct ledger_sale sale;
    char texts[5][HF_ID_MAX + 1];
    unsigned times, order; /* order: of the answers, from 1 */
};

#define SOLD_MAX 4096
#define LATE_MAX 64

struct late {
    char id[HF_ID_MAX + 1];
    enum ledger_answer answer;
    uint64_t batch;
    unsigned writer;
};

struct world {
    char directory[64];
    char url[128];
    struct ledger_options options;
    const struct sql_driver *driver; /* NULL: that of the URL */
    struct ledger *ledger;
    struct problem problem;
    struct sold *sold;
    size_t sold_count, answered;
    struct late late[LATE_MAX];
    size_t late_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;
    bool job_done;
};

int ledger_world_make(void **state);
int ledger_world_remove(void **state);

enum hf_error world_open(struct world *world);
void world_close(struct world *world);
/* A ledger with one product and so much of it. */
void world_stocked(struct world *world, const char *product, int64_t stock);

/* Submits an order of a product; its answer is there after world_wait(). */
struct sold *world_sell(struct world *world, const char *product, const char *order,
                        const char *user, int64_t quantity);
/* The same, not submitted yet. */
struct sold *world_sale(struct world *world, const char *product, const char *order,
                        const char *user, int64_t quantity);
void world_submit(struct world *world, struct sold *sold);
/* … and waits for the answer, which it returns. */
enum ledger_answer world_buy(struct world *world, const char *product, const char *order,
                             const char *user, int64_t quantity);

/* Turns the ledger until everything that was submitted is answered. */
void world_wait(struct world *world);
/* Turns it until so many late answers were given. */
void world_wait_for_late(struct world *world, size_t count);
void world_tell_all(struct world *world);

/* Carries out a job; its deadline and callbacks are set here. */
enum ledger_answer world_job(struct world *world, struct ledger_job *job);
int64_t world_stock(struct world *world, const char *product, int64_t delta);
struct ledger_counter world_read(struct world *world, const char *product);

/* What another program sees, or does. */
int64_t world_ask(struct world *world, const char *query);
void world_do(struct world *world, const char *statement);

#endif
