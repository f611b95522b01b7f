/* SPDX-License-Identifier: Apache-2.0
 *
 * All about a subcommand: `holdfast help NAME`, and its --help and -h. */
#include "base/text.h"
#include "cli/cli.h"
#include "server/options.h"

#include <stdio.h>

#define WHERE                                                                                      \
    "    --url URL         the server: holdfast://[user:password@|token@]host[:port]; without "    \
    "it\n"                                                                                         \
    "                      $HOLDFAST_URL, or else holdfast://127.0.0.1:4653\n"

static const struct {
    const char *name, *text;
} subcommands[] = {
    {"audit",
     "holdfast audit [URL|DIR] [--ledger[=URL]]\n\n"
     "Proves that every total agrees with the records it is made of: on a server, in Redis "
     "or,\nchanging nothing, in a data directory. Without an argument, the server at "
     "$HOLDFAST_URL\nor on this machine.\n\n"
     "    --ledger          the engine has to agree with the ledger, too: the server's own\n"
     "    --ledger=URL      with an engine's URL: this one\n\n"
     "Exit code: 0 all agrees, 1 findings, 2 the directory cannot be read, 69 no server or\n"
     "no ledger, 77 not let in.\n"},
    {"auth",
     "holdfast auth NAME read|write|admin [--password] [--scopes LIST] [--families LIST]\n"
     "              [--rate N/s] [--burst N]\n\n"
     "Prints a line for the file of users. The token that goes with it is shown once, on\n"
     "standard error.\n\n"
     "    --password        a password in the token's place: the first line of standard input\n"
     "    --scopes LIST     only these scopes: shop:*,gala\n"
     "    --families LIST   only commands of these families: SEATS,STOCK\n"
     "    --rate N/s        so many requests in a second; N/m and N/h, in a minute and an hour\n"
     "    --burst N         so many at once; as many as the rate's number if left out\n"},
    {"backup", "holdfast backup DIR DEST\n\n"
               "Makes a consistent, verified copy of a data directory, also while it is in use. "
               "DEST is\nempty or not there yet.\n\n"
               "Exit code: 0 the copy is in its place, 1 it could not be made, 2 usage.\n"},
    {"bench", "holdfast bench [--engine URL] [options]\n"
              "holdfast bench --url URL [--connections N] [--pipeline N] [options]\n\n"
              "Load with a live line and latencies: through the library, or to a server as a crowd "
              "of\nclients.\n\n"
              "    --engine URL      embedded:, embedded:DIR, redis://…\n"
              "    --url URL         a server\n"
              "    --connections N   to the server\n"
              "    --pipeline N      requests in flight on each connection\n"
              "    --seconds N       how long (5)\n"
              "    --threads N       (1)\n"
              "    --load WHAT       reserve, refuse or cycle\n"},
    {"call",
     "holdfast call [--url URL | --engine URL [--ledger URL]] [--json] [COMMAND argument …]\n\n"
     "Runs one command; without one, a command per line of standard input. `holdfast help` "
     "lists\nthe commands, `holdfast help COMMAND` says all about one.\n\n" WHERE
     "    --engine URL      the same for an engine in this process: embedded:, "
     "embedded:DIR, redis://…\n"
     "    --ledger URL      of such an engine: sqlite:PATH, postgres://…, mysql://…\n"
     "    --json            replies in JSON, one a line\n\n"
     "Exit code: 0 all succeeded, 1 one was refused, 2 one was malformed, 3 the data "
     "directory\nfailed, 69 no server, 77 not let in.\n"},
    {"demo", "holdfast demo\nholdfast demo --serve [--resp-port N] [--http-port N] [--stay]\n\n"
             "20,000 buyers rush 500 seats in this process; in the end every figure must agree.\n\n"
             "With --serve a server in a temporary directory is rushed, whose page shows it: a "
             "waiting room\n"
             "fills, a flash sale sells out, the payment peer fails, the server is killed and "
             "comes back. It\n"
             "takes less than a minute.\n\n"
             "    --resp-port N   of that server; 0: any. 4653 if left out\n"
             "    --http-port N   of its page; 0: any. 4654 if left out\n"
             "    --stay          the server goes on in the end, until Ctrl-C\n"},
    {"exec", "holdfast exec --semaphore NAME --limit K [--slots N] [options] -- COMMAND …\n"
             "holdfast exec --lock RESOURCE [options] -- COMMAND …\n\n"
             "Waits for a slot or a lock, runs the command while it is held and kept alive, and "
             "gives it\nback. The command finds HOLDFAST_FENCE and HOLDFAST_LEASE in its "
             "environment.\n\n" WHERE "    --wait TIME       how long to wait in line\n"
             "    --slots N         of the K slots, so many at once; 1 if left out\n"
             "    --heartbeat TIME  of a slot: it is lost when nothing is heard for so long\n"
             "    --ttl TIME        of a lock, or the longest that a slot is held\n"
             "    --kill-after TIME between SIGTERM and SIGKILL when the hold is lost\n"
             "    --id ID           who holds it; unlike any other if left out\n\n"
             "A hold that is lost is noticed within half a second, and the command is stopped.\n\n"
             "Exit code: that of the command; 75 the wait ran out, 76 the hold was lost and the "
             "command\nstopped, 69 no server, 77 not let in, 126 or 127 the command cannot be "
             "started.\n"},
    {"help", "holdfast help [COMMAND | SUBCOMMAND]\n\n"
             "Lists everything, or says all about one.\n\n"
             "    --markdown        the reference of all commands\n"},
    {"journal", "holdfast journal verify DIR\n"
                "holdfast journal dump DIR [--from SEQ] [--json]\n\n"
                "Whether a data directory is whole, and its journal, a command per line. Both only "
                "read.\n\n"
                "    --from SEQ        the first record to show\n"
                "    --json            in JSON\n\n"
                "Exit code: 0 the directory would start, 1 not, 2 there is no such directory.\n"},
    {"load", "holdfast load FILE.csv [--url URL | --engine URL]\n\n"
             "Many zones, quotas or products at once; - is standard input. The header names the\n"
             "arguments: event,zone,capacity or tenant,limit or product,quantity,shards,watermark,"
             "policy.\nAll lines are checked before the first is sent.\n\n" WHERE},
    {"reconcile",
     "holdfast reconcile [PRODUCT] [--dry-run] [--url URL | --engine URL [--ledger URL]]\n\n"
     "Compares what the engine has to sell with the ledger, of one product or of all, and "
     "corrects\nthe engine by the differences that are certain. A server does so by itself every "
     "few seconds.\n\n" WHERE
     "    --engine URL      the same in this process: embedded:DIR, redis://…\n"
     "    --ledger URL      of such an engine: sqlite:PATH, postgres://…, mysql://…\n"
     "    --dry-run         correct nothing, only tell\n\n"
     "Exit code: 0 done, and with --dry-run nothing differs; 1 something differs, or it was "
     "refused;\n2 usage; 69 no server or no ledger; 77 not let in.\n"},
    {"restore", "holdfast restore BACKUP DIR\n\n"
                "Makes a data directory from a backup, which is verified before. DIR is empty or "
                "not there\nyet.\n"},
    {"serve",
     "holdfast serve [settings]\n\nThe server. Each setting may also stand in the "
     "environment (HOLDFAST_RESP_PORT=0) or in\nthe file of --config (resp-port = 0).\n\n"},
    {"sync-quotas",
     "holdfast sync-quotas [TENANT] [--dry-run] [--url URL | --engine URL [--db URL] [--query "
     "SELECT]]\n\n"
     "Reads what tenants use from the database, of one tenant or of all, and sets it in the "
     "engine; "
     "what\nwas committed meanwhile stays counted. A server does so by itself, if it is told "
     "when.\n\n" WHERE "    --engine URL      the same in this process: embedded:DIR, redis://…\n"
     "    --db URL          the database: sqlite:PATH, postgres://…, mysql://…\n"
     "    --query SELECT    its columns are a tenant and what it uses\n"
     "    --dry-run         set nothing, only tell\n\n"
     "Exit code: 0 done, and with --dry-run nothing differs; 1 something differs, was skipped or "
     "it "
     "was\nrefused; 2 usage; 69 no server or no database; 77 not let in.\n"},
    {"top", "holdfast top [--url URL] [--interval TIME] [--once]\n\n"
            "What a server is doing, live; q ends it.\n\n" WHERE
            "    --interval TIME   between two looks, 100ms to 1h\n"
            "    --once            one look, and the end\n"},
    {"webhooks", "holdfast webhooks replay [--since TIME] [--type TYPE] [--key ID] [--url URL]\n\n"
                 "Has a server send webhooks again: those that it gave up, and with --since or "
                 "--key those\nthat were delivered, too.\n\n" WHERE
                 "    --since TIME      written since then: 2h (ago), 2031-05-17T20:00:00Z, or\n"
                 "                      milliseconds since 1970\n"
                 "    --type TYPE       of this type, such as order.sold\n"
                 "    --key ID          of this booking or order\n"},
    {"version", "holdfast version\n"},
};

static void print_settings(void)
{
    struct memory memory;
    struct buffer text;

    memory_init(&memory);
    buffer_init(&text, &memory);
    options_help(&text);
    printf("%.*s", (int)text.size, text.data);
    buffer_free(&text);
}

bool cli_help_subcommand(const char *name)
{
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        if (strcmp(subcommands[i].name, name) == 0) {
            fputs(subcommands[i].text, stdout);
            if (strcmp(name, "serve") == 0) {
                print_settings();
            }
            return true;
        }
    }
    return false;
}

void cli_guess_subcommand(struct text_guess *guess)
{
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        text_guess_try(guess, subcommands[i].name);
    }
}
