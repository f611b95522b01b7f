/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast sync-quotas [TENANT] [--dry-run] [--url URL | --engine URL [--db URL] [--query SELECT]]
 *
 * Reads what tenants use from the database and sets it in the engine, of one tenant or of all;
 * shows how far it is, and then each tenant that differed, was not found or could not be set. A
 * server does it with its own settings; with --engine it is done in this process.
 *
 * Exit code: 0 done, and with --dry-run nothing differs; 1 something differs, was skipped, or it
 * was refused; 2 usage; 69 server or database cannot be reached; 77 not let in. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define LOOK_EVERY_MS 500

static void print_item(const struct hf_quota_synced_item *item, bool dry)
{
    if (strcmp(item->outcome, "changed") == 0) {
        printf("  tenant %s: %lld used, %s %lld (%+lld)\n", item->tenant, (long long)item->before,
               dry ? "the database says" : "now", (long long)item->after,
               (long long)(item->after - item->before));
    } else if (strcmp(item->outcome, "missing") == 0) {
        printf("  tenant %s: %lld used, not in the database's answer\n", item->tenant,
               (long long)item->before);
    } else {
        printf("  tenant %s: left alone: %s\n", item->tenant, item->why);
    }
}

static enum hf_error print_report(hf_handle *handle, bool dry)
{
    struct hf_quota_synced_reply page = {.count = 0};
    enum hf_error code;

    do {
        struct hf_quota_synced_args args = {.after = hf_text(page.cursor), .count = HF_PAGE_MAX};
        code = hf_quota_synced(handle, &args, &page);
        for (size_t i = 0; code == HF_OK && i < page.count; i++) {
            print_item(&page.items[i], dry);
        }
        hf_free(page.items);
        page.items = NULL;
    } while (code == HF_OK && page.cursor[0] != '\0');
    return code;
}

static void print_totals(const struct hf_quota_syncall_reply *reply, bool dry)
{
    printf("  tenants      %12lld  read from the database\n", (long long)reply->tenants);
    printf("  %s %12lld\n", dry ? "differ      " : "changed     ", (long long)reply->changed);
    printf("  drift        %12lld%s\n", (long long)reply->drift,
           reply->changed == 0 ? "  the engine agrees with the database" : "");
    printf("  missing      %12lld\n", (long long)reply->missing);
    printf("  skipped      %12lld\n", (long long)reply->skipped);
}

/* The first call begins the run, the others look how far it is. */
static int sync_quotas(hf_handle *handle, struct hf_quota_syncall_args *args)
{
    struct hf_quota_syncall_reply reply = {.done = 0};
    enum hf_error code = HF_OK;

    args->wait_ms = LOOK_EVERY_MS;
    while (code == HF_OK && reply.done == 0) {
        code = hf_quota_syncall(handle, args, &reply);
        args->run = reply.run;
        if (code == HF_OK) {
            cli_live("%lld tenants read, %lld set, %lld changed", (long long)reply.tenants,
                     (long long)reply.applied, (long long)reply.changed);
        }
    }
    cli_live_end();
    code = code == HF_OK ? print_report(handle, args->dry) : code;
    if (code != HF_OK) {
        return cli_failed(code);
    }
    print_totals(&reply, args->dry);
    return (args->dry && reply.changed > 0) || reply.skipped > 0 ? EXIT_REFUSED : EXIT_DONE;
}

int cli_sync_quotas(int argc, char **argv)
{
    static const struct option options[] = {
        {"engine", required_argument, NULL, 'u'}, {"url", required_argument, NULL, 'u'},
        {"db", required_argument, NULL, 'b'},     {"query", required_argument, NULL, 'q'},
        {"dry-run", no_argument, NULL, 'd'},      {NULL, 0, NULL, 0}};
    struct hf_open_options open = {.size = sizeof open,
                                   .engine = cli_server_url(),
                                   .reconcile_every_ms = HF_ZERO,
                                   .quota_sync_at = "never"};
    struct hf_quota_syncall_args args = {.dry = false};
    hf_handle *handle;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'u':
            open.engine = optarg;
            break;
        case 'b':
            open.quota_sync_db = optarg;
            break;
        case 'q':
            open.quota_sync_query = optarg;
            break;
        case 'd':
            args.dry = true;
            break;
        default:
            return cli_bad_option("sync-quotas", argv, options);
        }
    }
    if (argc - optind > 1) {
        return cli_usage("sync-quotas takes one tenant, or none for all; what is '%s'?",
                         argv[optind + 1]);
    }
    args.tenant = hf_text(optind < argc ? argv[optind] : NULL);
    enum hf_error code = hf_open_with(&open, &handle);
    int result = code == HF_OK ? sync_quotas(handle, &args) : cli_failed(code);
    hf_close(handle);
    return result;
}
