/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast serve [settings] */
#include "cli/cli.h"
#include "server/server.h"

#include <stdio.h>

static int print_settings(void)
{
    struct memory memory;
    struct buffer text;

    memory_init(&memory);
    buffer_init(&text, &memory);
    options_help(&text);
    printf("holdfast serve [settings]\n\n%.*s", (int)text.size, text.data);
    buffer_free(&text);
    return EXIT_DONE;
}

int cli_serve(int argc, char **argv)
{
    struct server_options options;
    struct problem problem;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        return print_settings();
    }
    if (options_load(&options, argc, argv, &problem) != HF_OK) {
        return cli_usage("%s", problem.message);
    }
    int code = server_run(&options);
    options_free(&options);
    return code;
}
