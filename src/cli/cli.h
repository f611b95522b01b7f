/* SPDX-License-Identifier: Apache-2.0
 *
 * The subcommands of the program, a file each, and what they share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/histogram.h"
#include "holdfast.h"

/* Exit codes. */
enum {
    EXIT_DONE = 0,
    EXIT_REFUSED = 1, /* a refusal, or a proof that failed */
    EXIT_USAGE = 2,   /* what was asked for is not understood */
    EXIT_DISK = 3,    /* the data directory failed; nothing more was acknowledged */
};

int cli_audit(int argc, char **argv);
int cli_backup(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_call(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_help(int argc, char **argv);
int cli_journal(int argc, char **argv);
int cli_restore(int argc, char **argv);

/* "holdfast: …" on standard error; returns EXIT_USAGE. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An integer option within bounds; says what is wrong with it otherwise. */
bool cli_number(const char *option, const char *text, int64_t min, int64_t max, int64_t *number);

/* A line that is written over: shown only on a terminal. */
bool cli_is_live(void);
void cli_live(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_live_end(void);

/* "12.3 M", "950 k", "17". */
void cli_count(char out[16], double number);

/* Percentiles and a bar for each decade of latencies. */
void cli_print_latencies(const struct histogram *histogram);

#endif
