/* SPDX-License-Identifier: Apache-2.0
 *
 * One word of what to do, then what it needs. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static int cli_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("holdfast %s\n", hf_version());
    return EXIT_DONE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subcommands[] = {
    {"bench", cli_bench},     {"call", cli_call},   {"demo", cli_demo},         {"help", cli_help},
    {"version", cli_version}, {"--help", cli_help}, {"--version", cli_version},
};

int main(int argc, char **argv)
{
    if (argc < 2) {
        cli_help(1, argv);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            return subcommands[i].run(argc - 1, argv + 1);
        }
    }
    return cli_usage("unknown subcommand '%s'; `holdfast help` lists them", argv[1]);
}
