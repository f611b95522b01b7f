/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast webhooks replay [--since TIME] [--type TYPE] [--key ID] [--url URL]
 *
 * Has a server send webhooks again: those that it gave up, and with --since or --key those that
 * were delivered, too.
 *
 * Exit code: 0 done, 1 refused, 2 usage, 69 no server or no ledger, 77 not let in. */
#include "cli/cli.h"

#include "base/text.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* "2031-05-17T20:00:00Z", milliseconds since 1970, or how long ago: "2h". */
static bool read_since(const char *text, int64_t *since_ms)
{
    struct tm parts = {.tm_isdst = 0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    int64_t number;

    if (end != NULL && *end == '\0') {
        *since_ms = (int64_t)timegm(&parts) * 1000;
    } else if (text_to_integer(hf_text(text), &number)) {
        *since_ms = number;
    } else if (text_to_duration(hf_text(text), 1000, &number) && number > 0) {
        *since_ms = (int64_t)time(NULL) * 1000 - number;
    } else {
        return false;
    }
    return *since_ms > 0 && *since_ms <= HF_INTEGER_MAX;
}

static int replay(const char *url, const struct hf_webhooks_replay_args *args)
{
    struct hf_webhooks_replay_reply reply;
    hf_handle *handle;
    enum hf_error code = cli_open(url, NULL, &handle);

    code = code == HF_OK ? hf_webhooks_replay(handle, args, &reply) : code;
    int result = code == HF_OK ? EXIT_DONE : cli_failed(code);
    if (code == HF_OK) {
        printf("  replayed     %12lld  webhooks are sent again\n", (long long)reply.replayed);
    }
    hf_close(handle);
    return result;
}

int cli_webhooks(int argc, char **argv)
{
    static const struct option options[] = {{"url", required_argument, NULL, 'u'},
                                            {"since", required_argument, NULL, 's'},
                                            {"type", required_argument, NULL, 't'},
                                            {"key", required_argument, NULL, 'k'},
                                            {NULL, 0, NULL, 0}};
    const char *url = cli_server_url();
    struct hf_webhooks_replay_args args = {.since_ms = 0};
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'u') {
            url = optarg;
        } else if (option == 't') {
            args.type = hf_text(optarg);
        } else if (option == 'k') {
            args.key = hf_text(optarg);
        } else if (option != 's') {
            return cli_bad_option("webhooks", argv, options);
        } else if (!read_since(optarg, &args.since_ms)) {
            return cli_usage("--since '%s' is no time: write 2h, 2031-05-17T20:00:00Z or "
                             "milliseconds since 1970",
                             optarg);
        }
    }
    if (argc - optind != 1 || strcmp(argv[optind], "replay") != 0) {
        return cli_usage("webhooks has one word behind it, replay; what is '%s'?",
                         optind < argc ? argv[argc - 1] : "");
    }
    return replay(url, &args);
}
