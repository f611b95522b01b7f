/* SPDX-License-Identifier: Apache-2.0
 *
 * One word of what to do, then what it needs. */
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
    {"audit", cli_audit},       {"auth", cli_auth},       {"backup", cli_backup},
    {"bench", cli_bench},       {"call", cli_call},       {"demo", cli_demo},
    {"exec", cli_exec},         {"help", cli_help},       {"journal", cli_journal},
    {"load", cli_load},         {"restore", cli_restore}, {"serve", cli_serve},
    {"top", cli_top},           {"version", cli_version}, {"--help", cli_help},
    {"--version", cli_version},
};

int main(int argc, char **argv)
{
    if (argc < 2) {
        return cli_usage("what is to be done? `holdfast help` lists it");
    }
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            int code = subcommands[i].run(argc - 1, argv + 1);
            bool written = fflush(stdout) == 0 && !ferror(stdout);
            return written ? code : cli_usage("cannot write: %s", strerror(errno));
        }
    }
    return cli_usage("unknown subcommand '%s'; `holdfast help` lists them", argv[1]);
}
