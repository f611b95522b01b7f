/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast help [COMMAND | SUBCOMMAND | --markdown] */
#include "command/help.h"

#include "base/text.h"
#include "cli/cli.h"

#include <stdio.h>

static const char overview[] =
    "Holdfast hands out scarce things: seats, stock, quota, slots, locks, places in a queue.\n"
    "\n"
    "    holdfast serve                         the server; serve --help lists its settings\n"
    "    holdfast demo                          20,000 buyers rush 500 seats\n"
    "    holdfast call [--url URL] COMMAND …    one command; without one, a command per line\n"
    "                                           of standard input. --json for JSON\n"
    "    holdfast exec --semaphore NAME --limit K -- COMMAND …\n"
    "    holdfast exec --lock RESOURCE -- COMMAND …\n"
    "                                           runs a command while it holds a slot or a lock.\n"
    "                                           --slots, --wait, --heartbeat, --ttl, "
    "--kill-after,\n"
    "                                           --id, --url\n"
    "    holdfast load FILE.csv [--url URL]     many zones, quotas or products at once; the "
    "header\n"
    "                                           names the arguments: event,zone,capacity\n"
    "    holdfast top [--url URL]               what a server is doing, live. --interval, --once\n"
    "    holdfast bench [--engine URL] …        load with a live line and latencies\n"
    "    holdfast bench --url URL …             the same to a server: --connections, --pipeline\n"
    "    holdfast journal verify DIR            whether a data directory is whole; changes "
    "nothing\n"
    "    holdfast journal dump DIR              its journal, a command per line. --from SEQ, "
    "--json\n"
    "    holdfast audit [URL|DIR]               proves that every total adds up, on a server or "
    "in\n"
    "                                           a data directory\n"
    "    holdfast reconcile [PRODUCT]           compares the engine with the ledger, and corrects "
    "it.\n"
    "                                           --dry-run, --url, --engine, --ledger\n"
    "    holdfast sync-quotas [TENANT]          reads what tenants use from the database, and sets "
    "it.\n"
    "                                           --dry-run, --url, --engine, --db, --query\n"
    "    holdfast webhooks replay               sends webhooks again. --since, --type, --key, "
    "--url\n"
    "    holdfast backup DIR DEST               a consistent copy, also while it is in use\n"
    "    holdfast restore BACKUP DIR            a data directory from a backup\n"
    "    holdfast auth NAME ROLE                a line for the file of users: read, write or "
    "admin.\n"
    "                                           --password for one from standard input\n"
    "    holdfast help [COMMAND]                this, or all about a command or a subcommand\n"
    "    holdfast version\n"
    "\n"
    "URLs: holdfast://[user:password@|token@]host[:port]   a server; holdfast+tls:// over TLS\n"
    "      embedded:, embedded:DIR                         in this process, kept in a directory\n"
    "      redis://, redis+sentinel://, redis+cluster://   Redis, with no server of ours between\n"
    "      redlock://host,host,host                        locks on Redis servers on their own\n"
    "      rediss://, rediss+sentinel://, redlocks://, ... the same over TLS\n"
    "The server is the one at $HOLDFAST_URL, or else at holdfast://127.0.0.1:4653.\n"
    "\n"
    "Commands:\n";

static int unknown(const char *word)
{
    struct text_guess guess = {.given = hf_text(word)};
    char hint[TEXT_HINT_SIZE];

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        text_guess_try(&guess, command_table[i].name);
    }
    cli_guess_subcommand(&guess);
    return cli_usage("unknown command '%s'%s; `holdfast help` lists them", word,
                     text_hint(&guess, "", hint));
}

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
        if (spec != NULL) {
            help_command(spec, &out);
        } else if (!cli_help_subcommand(argv[1])) {
            code = unknown(argv[1]);
        }
    }
    if (out.size > 0) {
        fwrite(out.data, 1, out.size, stdout);
    }
    buffer_free(&out);
    return code;
}
