/* SPDX-License-Identifier: Apache-2.0
 *
 * What the subcommands share: messages, options, the live line, latencies. */
#include "cli/cli.h"

#include "base/text.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int cli_usage(const char *format, ...)
{
    va_list args;

    fputs("holdfast: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

bool cli_is_help(const char *word)
{
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

int cli_bad_option(const char *subcommand, char **argv, const struct option *options)
{
    const char *word = argv[optind - 1];
    struct text_guess guess = {.given = hf_text(word)};
    char hint[TEXT_HINT_SIZE];

    if (cli_is_help(word) && cli_help_subcommand(subcommand)) {
        return EXIT_DONE;
    }
    if (strncmp(word, "--", 2) == 0) {
        guess.given = (struct hf_bytes){word + 2, strcspn(word + 2, "=")};
    }
    for (; options != NULL && options->name != NULL; options++) {
        if (text_equal(guess.given, hf_text(options->name))) {
            return cli_usage("%s: %s %s", subcommand, word,
                             options->has_arg == no_argument ? "takes no value" : "needs a value");
        }
        text_guess_try(&guess, options->name);
    }
    return cli_usage("%s: there is no option %s%s; `holdfast help %s` lists them", subcommand, word,
                     text_hint(&guess, "--", hint), subcommand);
}

const char *cli_server_url(void)
{
    const char *url = getenv("HOLDFAST_URL");
    return url != NULL && url[0] != '\0' ? url : "holdfast://127.0.0.1:4653";
}

const char *cli_url_shown(const char *url, char shown[CLI_URL_SIZE])
{
    bool is_url = strstr(url, "://") != NULL;
    const char *at = is_url ? strrchr(url, '@') : NULL;
    const char *from = at != NULL ? at + 1 : url;
    size_t size = is_url ? strcspn(from, "?") : strlen(from);

    snprintf(shown, CLI_URL_SIZE, "%.*s", (int)size, from);
    return shown;
}

enum hf_error cli_open(const char *url, const char *ledger, hf_handle **handle)
{
    struct hf_open_options options = {
        .size = sizeof options, .engine = url, .ledger = ledger, .reconcile_every_ms = HF_ZERO};

    return hf_open_with(&options, handle);
}

int cli_failed(enum hf_error code)
{
    cli_usage("%s", hf_last_message());
    return code == HF_ENGINE_DOWN || code == HF_LEDGER_DOWN || code == HF_LOADING ? EXIT_UNAVAILABLE
           : code == HF_UNAUTHORIZED || code == HF_FORBIDDEN                      ? EXIT_DENIED
           : code == HF_INVALID_ARGUMENT || code == HF_IOERR                      ? EXIT_USAGE
                                                                                  : EXIT_REFUSED;
}

bool cli_number(const char *option, const char *text, int64_t min, int64_t max, int64_t *number)
{
    if (text_to_integer(hf_text(text), number) && *number >= min && *number <= max) {
        return true;
    }
    cli_usage("%s %s: must be a number from %lld to %lld", option, text, (long long)min,
              (long long)max);
    return false;
}

bool cli_is_live(void)
{
    return isatty(STDOUT_FILENO) == 1;
}

void cli_live(const char *format, ...)
{
    va_list args;

    if (cli_is_live()) {
        fputs("\r\033[K", stdout);
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        fflush(stdout);
    }
}

void cli_live_end(void)
{
    if (cli_is_live()) {
        fputs("\r\033[K", stdout);
    }
}

void cli_count(char out[16], double number)
{
    if (number >= 1e6) {
        snprintf(out, 16, "%.2f M", number / 1e6);
    } else if (number >= 1e4) {
        snprintf(out, 16, "%.0f k", number / 1e3);
    } else {
        snprintf(out, 16, "%.0f", number);
    }
}

void cli_time(char out[16], uint64_t nanoseconds)
{
    double value = (double)nanoseconds;

    if (value < 1e3) {
        snprintf(out, 16, "%.0f ns", value);
    } else if (value < 1e6) {
        snprintf(out, 16, "%.1f us", value / 1e3);
    } else {
        snprintf(out, 16, "%.1f ms", value / 1e6);
    }
}

void cli_print_latencies(const struct histogram *histogram)
{
    static const double shares[] = {0.5, 0.9, 0.99, 0.999, 0.9999, 1};
    static const char bar[] = "########################################";
    char from[16], to[16];

    printf("  latency   ");
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        cli_time(to, histogram_quantile(histogram, shares[i]));
        if (shares[i] < 1) {
            printf("p%g %s   ", shares[i] * 100, to);
        } else {
            printf("max %s\n", to);
        }
    }
    /* Three buckets a decade: 1, 2, 5. */
    static const uint64_t steps[] = {1, 2, 5};
    uint64_t low = 0, below_low = 0;
    for (uint64_t decade = 10; below_low < histogram->count && decade < UINT64_C(10000000000);
         decade *= 10) {
        for (size_t i = 0; i < 3; i++) {
            uint64_t high = decade * steps[i];
            uint64_t below = histogram_below(histogram, high);
            uint64_t here = below - below_low;
            if (here > 0) {
                double share = (double)here / (double)histogram->count;
                cli_time(from, low);
                cli_time(to, high);
                printf("  %9s - %-9s %6.2f %% %.*s\n", from, to, share * 100,
                       (int)(share * (double)(sizeof bar - 1) + 0.5), bar);
            }
            low = high;
            below_low = below;
        }
    }
}
