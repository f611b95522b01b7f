/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast serve [settings] */
#include "cli/cli.h"
#include "server/server.h"

#include <stdio.h>

/* A variable that looks like a misspelt setting would otherwise be passed over in silence. */
static void warn_of_strangers(void)
{
    struct memory memory;
    struct buffer text;

    memory_init(&memory);
    buffer_init(&text, &memory);
    options_strangers(&text);
    if (text.size > 0) {
        fwrite(text.data, 1, text.size, stderr);
    }
    buffer_free(&text);
}

int cli_serve(int argc, char **argv)
{
    struct server_options options;
    struct problem problem;

    if (options_load(&options, argc, argv, &problem) != HF_OK) {
        return cli_usage("%s", problem.message);
    }
    warn_of_strangers();
    int code = (int)(options.check_config ? server_check(&options) : server_run(&options));
    options_free(&options);
    return code;
}
