/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast reconcile [PRODUCT] [--dry-run] [--url URL | --engine URL [--ledger URL]]
 *
 * Compares what the engine has to sell with the ledger, of one product or of all, one by one, and
 * corrects the engine by the differences that are certain; with --dry-run it only tells. A server
 * does it with its own ledger; with --engine it is done in this process.
 *
 * Exit code: 0 done, and with --dry-run nothing differs; 1 something differs, or it was refused; 2
 * usage; 69 server or ledger cannot be reached; 77 not let in. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>

void cli_print_reconciled(const struct hf_reconcile_reply *reply, bool dry)
{
    printf("  products     %12lld  compared with the ledger\n", (long long)reply->products);
    printf("  %s %12lld\n", dry ? "differ      " : "corrected   ", (long long)reply->corrected);
    printf("  drift        %12lld%s\n", (long long)reply->drift,
           reply->corrected == 0 ? "  the engine agrees with the ledger" : "");
}

/* One product more: what came of it is added to `total`, and told if it differs. One that the
 * ledger does not have is left out. */
static enum hf_error reconcile_one(hf_handle *handle, const char *product, bool dry,
                                   struct hf_reconcile_reply *total)
{
    struct hf_reconcile_args args = {.product = hf_text(product), .dry = dry};
    struct hf_reconcile_reply reply;
    enum hf_error code = hf_reconcile(handle, &args, &reply);

    if (code == HF_PRODUCT_NOT_FOUND) {
        return HF_OK;
    }
    if (code == HF_OK) {
        total->products += reply.products;
        total->corrected += reply.corrected;
        total->drift += reply.drift;
        if (reply.drift != 0) {
            cli_live_end();
            printf("  product %s: the engine and the ledger differ by %lld%s\n", product,
                   (long long)reply.drift, !dry && reply.corrected > 0 ? ", corrected" : "");
        }
        cli_live("%lld products compared, %lld differ", (long long)total->products,
                 (long long)total->corrected);
    }
    return code;
}

enum hf_error cli_reconcile_all(hf_handle *handle, bool dry, struct hf_reconcile_reply *total)
{
    struct hf_list_reply page = {.count = 0};
    enum hf_error code;

    *total = (struct hf_reconcile_reply){0};
    do {
        struct hf_list_args args = {.kind = hf_text("products"), .after = hf_text(page.cursor)};
        code = hf_list(handle, &args, &page);
        for (size_t i = 0; code == HF_OK && i < page.count; i++) {
            code = reconcile_one(handle, page.items[i].name, dry, total);
        }
        hf_free(page.items);
        page.items = NULL;
    } while (code == HF_OK && page.cursor[0] != '\0');
    cli_live_end();
    if (code == HF_OK && total->products == 0) { /* is there a ledger at all? */
        code = hf_reconcile(handle, &(struct hf_reconcile_args){.dry = dry}, total);
    }
    return code;
}

static int reconcile(hf_handle *handle, const struct hf_reconcile_args *args)
{
    struct hf_reconcile_reply reply;
    enum hf_error code = args->product.size > 0 ? hf_reconcile(handle, args, &reply)
                                                : cli_reconcile_all(handle, args->dry, &reply);

    if (code != HF_OK) {
        return cli_failed(code);
    }
    cli_print_reconciled(&reply, args->dry);
    return args->dry && reply.corrected > 0 ? EXIT_REFUSED : EXIT_DONE;
}

int cli_reconcile(int argc, char **argv)
{
    static const struct option options[] = {{"engine", required_argument, NULL, 'u'},
                                            {"url", required_argument, NULL, 'u'},
                                            {"ledger", required_argument, NULL, 'l'},
                                            {"dry-run", no_argument, NULL, 'd'},
                                            {NULL, 0, NULL, 0}};
    const char *url = cli_server_url(), *ledger = NULL;
    struct hf_reconcile_args args = {.dry = false};
    hf_handle *handle;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'u') {
            url = optarg;
        } else if (option == 'l') {
            ledger = optarg;
        } else if (option == 'd') {
            args.dry = true;
        } else {
            return cli_bad_option("reconcile", argv, options);
        }
    }
    if (argc - optind > 1) {
        return cli_usage("reconcile takes one product, or none for all; what is '%s'?",
                         argv[optind + 1]);
    }
    args.product = hf_text(optind < argc ? argv[optind] : NULL);
    enum hf_error code = cli_open(url, ledger, &handle);
    int result = code == HF_OK ? reconcile(handle, &args) : cli_failed(code);
    hf_close(handle);
    return result;
}
