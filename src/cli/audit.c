/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast audit [URL|DIR] [--ledger[=URL]]: proves that every total agrees with the records it is
 * made of. A server is asked to do so, that at $HOLDFAST_URL or on this machine if no URL is given;
 * of a Redis the keys are read. A data directory is recovered into memory, changing nothing; what
 * fell due since is expired, as at a start. With --ledger the engine has to agree with the ledger,
 * too: a server's own, or that of the URL.
 *
 * Exit code: 0 if all agrees, 1 with findings, 2 if the directory cannot be read, 69 if the server
 * or the ledger cannot be reached, 77 if it does not let us in. */
#include "cli/cli.h"
#include "cli/directory.h"
#include "engine/inspect.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static void print_finding(void *context, const char *finding)
{
    (void)context;
    printf("  %s\n", finding);
}

static void print_info(const char *what, const struct hf_info *info)
{
    printf("%s\n", what);
    printf("  live holds   %12llu  bookings, quota holds, orders, slots, locks\n",
           (unsigned long long)info->holds);
    printf("  waiting      %12llu  in line for slots and in waiting rooms\n",
           (unsigned long long)info->waiting);
    printf("  memory       %12.1f  MB\n", (double)info->memory_bytes / 1e6);
}

static int print_result(uint64_t findings)
{
    printf("  findings     %12llu%s\n", (unsigned long long)findings,
           findings == 0 ? "  every total agrees with its records" : "");
    return findings == 0 ? EXIT_DONE : EXIT_REFUSED;
}

static int audit_directory(const char *path)
{
    char label[] = "reading";
    struct engine *engine;
    struct problem problem;
    struct hf_info info;
    uint64_t findings = 0;

    if (!cli_is_directory(path)) {
        return EXIT_USAGE;
    }
    enum hf_error code = inspect_open(path, cli_progress, label, &engine, &problem);
    cli_live_end();
    if (code != HF_OK) {
        return cli_usage("%s: cannot be recovered: %s", path, problem.message);
    }
    engine_info(engine, &info);
    print_info(path, &info);
    code = engine_audit(engine, print_finding, NULL, &findings, &problem);
    engine_close(engine);
    return code == HF_OK ? print_result(findings) : cli_usage("%s: %s", path, problem.message);
}

/* Compares the engine with the ledger; products that differ are findings. */
static enum hf_error audit_ledger(hf_handle *handle, uint64_t *findings)
{
    struct hf_reconcile_reply reply;
    enum hf_error code = cli_reconcile_all(handle, true, &reply);

    if (code == HF_OK) {
        cli_print_reconciled(&reply, true);
        *findings += (uint64_t)reply.corrected;
    }
    return code;
}

static int audit_server(const char *url, bool with_ledger, const char *ledger)
{
    hf_handle *handle;
    struct hf_info info;
    uint64_t findings = 0;
    char shown[CLI_URL_SIZE];
    enum hf_error code = cli_open(url, ledger, &handle);

    if (code == HF_OK) {
        code = hf_info(handle, &info);
    }
    if (code == HF_OK) {
        print_info(cli_url_shown(url, shown), &info);
    } else if (code == HF_INVALID_STATE) { /* an engine that cannot know without reading it all */
        printf("%s\n", cli_url_shown(url, shown));
        code = HF_OK;
    }
    if (code == HF_OK) {
        code = hf_audit(handle, print_finding, NULL, &findings);
    }
    if (code == HF_OK && with_ledger) {
        code = audit_ledger(handle, &findings);
    }
    int result = code == HF_OK ? print_result(findings) : cli_failed(code);
    hf_close(handle);
    return result;
}

int cli_audit(int argc, char **argv)
{
    static const struct option options[] = {{"ledger", optional_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    bool with_ledger = false;
    const char *ledger = NULL;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option != 'l') {
            return cli_bad_option("audit", argv, options);
        }
        with_ledger = true;
        ledger = optarg;
    }
    if (argc - optind > 1) {
        return cli_usage("audit takes a server's URL or DIR; what is '%s'?", argv[optind + 1]);
    }
    const char *where = optind < argc ? argv[optind] : cli_server_url();
    if (strstr(where, "://") != NULL) {
        return audit_server(where, with_ledger, ledger);
    }
    if (with_ledger) {
        return cli_usage("a directory is read without its ledger: audit the server, or use "
                         "`holdfast reconcile --dry-run --engine embedded:%s`",
                         where);
    }
    return audit_directory(where);
}
