/* SPDX-License-Identifier: Apache-2.0
 *
 * One word of what to do, then what it needs. */
#include "base/text.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int cli_version(int argc, char **argv)
{
    if (argc > 1) {
        return cli_usage("version takes no arguments; what is '%s'?", argv[1]);
    }
    printf("holdfast %s\n", hf_version());
    return EXIT_DONE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subcommands[] = {
    {"audit", cli_audit},
    {"auth", cli_auth},
    {"backup", cli_backup},
    {"bench", cli_bench},
    {"call", cli_call},
    {"demo", cli_demo},
    {"exec", cli_exec},
    {"help", cli_help},
    {"journal", cli_journal},
    {"load", cli_load},
    {"reconcile", cli_reconcile},
    {"restore", cli_restore},
    {"serve", cli_serve},
    {"sync-quotas", cli_sync_quotas},
    {"top", cli_top},
    {"webhooks", cli_webhooks},
    {"version", cli_version},
    {"--help", cli_help},
    {"--version", cli_version},
    {"-h", cli_help},
};

/* --help or -h as the only argument, or behind a word of the subcommand's own: journal dump -h. */
static bool asks_help(int argc, char **argv)
{
    bool has_word =
        argc == 4 && (strcmp(argv[1], "journal") == 0 || strcmp(argv[1], "webhooks") == 0);

    return (argc == 3 || has_word) && cli_is_help(argv[argc - 1]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return cli_usage("what is to be done? `holdfast help` lists it");
    }
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            int code = asks_help(argc, argv) && cli_help_subcommand(argv[1])
                           ? EXIT_DONE
                           : subcommands[i].run(argc - 1, argv + 1);
            bool written = fflush(stdout) == 0 && !ferror(stdout);
            return written ? code : cli_usage("cannot write: %s", strerror(errno));
        }
    }
    struct text_guess guess = {.given = hf_text(argv[1])};
    char hint[TEXT_HINT_SIZE];
    cli_guess_subcommand(&guess);
    return cli_usage("unknown subcommand '%s'%s; `holdfast help` lists them", argv[1],
                     text_hint(&guess, "", hint));
}
