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
    EXIT_REFUSED = 1,      /* a refusal, or a proof that failed */
    EXIT_USAGE = 2,        /* what was asked for is not understood */
    EXIT_DISK = 3,         /* the data directory failed; nothing more was acknowledged */
    EXIT_UNAVAILABLE = 69, /* the server cannot be reached */
    EXIT_TRY_AGAIN = 75,   /* the wait ran out */
    EXIT_LOST = 76,        /* what was held was lost, and the command was stopped */
    EXIT_DENIED = 77,      /* the server does not let us in */
};

int cli_audit(int argc, char **argv);
int cli_auth(int argc, char **argv);
int cli_backup(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_call(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_help(int argc, char **argv);
int cli_journal(int argc, char **argv);
int cli_load(int argc, char **argv);
int cli_reconcile(int argc, char **argv);
int cli_restore(int argc, char **argv);
int cli_serve(int argc, char **argv);
int cli_sync_quotas(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_webhooks(int argc, char **argv);

/* "holdfast: …" on standard error; returns EXIT_USAGE. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What getopt_long() did not understand, with what may have been meant; --help and -h print what
 * `holdfast help` says of the subcommand. Returns the exit code. `options` may be NULL. */
struct option;
int cli_bad_option(const char *subcommand, char **argv, const struct option *options);

/* Is it --help or -h? */
bool cli_is_help(const char *word);

/* Prints all about a subcommand. False if there is none of this name. */
bool cli_help_subcommand(const char *name);

/* Shows a guess every subcommand. */
struct text_guess;
void cli_guess_subcommand(struct text_guess *guess);

/* Where the server is if no URL is given: $HOLDFAST_URL, or port 4653 of this machine. */
const char *cli_server_url(void);

#define CLI_URL_SIZE 512

/* The URL without a user, a secret and options, which may have one too; cut off if it is longer. */
const char *cli_url_shown(const char *url, char shown[CLI_URL_SIZE]);

/* Opens a server, or an engine in this process with a ledger; NULL: that of its directory, or none.
 * Engine and ledger are compared on demand only. */
enum hf_error cli_open(const char *url, const char *ledger, hf_handle **handle);

/* The figures of a reconciliation, or of what one would do. */
void cli_print_reconciled(const struct hf_reconcile_reply *reply, bool dry);

/* Compares all products of the engine with the ledger, or corrects them, one by one, and tells of
 * each that differs. */
enum hf_error cli_reconcile_all(hf_handle *handle, bool dry, struct hf_reconcile_reply *total);

/* What hf_open() or a call had to say, on standard error, and the exit code that goes with it. */
int cli_failed(enum hf_error code);

/* An integer option within bounds; says what is wrong with it otherwise. */
bool cli_number(const char *option, const char *text, int64_t min, int64_t max, int64_t *number);

/* A line that is written over: shown only on a terminal. */
bool cli_is_live(void);
void cli_live(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_live_end(void);

/* "12.3 M", "950 k", "17". */
void cli_count(char out[16], double number);

/* "850 ns", "12.3 us", "4.5 ms". */
void cli_time(char out[16], uint64_t nanoseconds);

/* Percentiles and a bar for each decade of latencies. */
void cli_print_latencies(const struct histogram *histogram);

#endif
