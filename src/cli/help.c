/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast help [COMMAND | --markdown] */
#include "command/help.h"

#include "cli/cli.h"

#include <stdio.h>

static const char overview[] =
    "Holdfast hands out scarce things: seats, stock, quota, slots, locks, places in a queue.\n"
    "\n"
    "    holdfast demo                          20,000 buyers rush 500 seats\n"
    "    holdfast call --engine URL COMMAND …   one command; without one, a command per line\n"
    "                                           of standard input. --json for JSON\n"
    "    holdfast bench [--engine URL] …        load with a live line and latencies\n"
    "    holdfast journal verify DIR            whether a data directory is whole; changes "
    "nothing\n"
    "    holdfast journal dump DIR              its journal, a command per line. --from SEQ, "
    "--json\n"
    "    holdfast audit DIR                     proves that every total in it adds up\n"
    "    holdfast backup DIR DEST               a consistent copy, also while it is in use\n"
    "    holdfast restore BACKUP DIR            a data directory from a backup\n"
    "    holdfast help [COMMAND]                this, or all about a command\n"
    "    holdfast version\n"
    "\n"
    "Engines: embedded: (in this process, in memory)\n"
    "         embedded:DIR (in this process, kept in a directory)\n"
    "\n"
    "Commands:\n";

int cli_help(int argc, char **argv)
{
    struct memory memory;
    struct buffer out;
    int code = EXIT_DONE;

    memory_init(&memory);
    buffer_init(&out, &memory);
    if (argc > 2) {
        return cli_usage("help takes one command; what is '%s'?", argv[2]);
    }
    if (argc < 2) {
        buffer_text(&out, overview);
        help_list(&out);
    } else if (strcmp(argv[1], "--markdown") == 0) {
        help_markdown(&out);
    } else {
        const struct command_spec *spec = command_find(hf_text(argv[1]));
        if (spec == NULL) {
            code = cli_usage("unknown command '%s'; `holdfast help` lists them", argv[1]);
        } else {
            help_command(spec, &out);
        }
    }
    if (out.size > 0) {
        fwrite(out.data, 1, out.size, stdout);
    }
    buffer_free(&out);
    return code;
}
