/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast call [--url URL | --engine URL [--ledger URL]] [--json] [COMMAND args…]
 *
 * The two are one: a server's URL or that of an engine in this process. Without it, the server at
 * $HOLDFAST_URL or on this machine.
 *
 * Exit code: 0 if all succeeded, 1 if one was refused, 2 if one was malformed, 3 if the data
 * directory failed, 69 if the server cannot be reached, 77 if it does not let us in. 3 and 69 end
 * it; of several lines, the largest counts. */
#include "cli/cli.h"

#include "command/reply.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 64

static void print_element(const hf_reply *reply, size_t i)
{
    struct hf_bytes text = hf_reply_text(reply, i);

    switch (hf_reply_kind(reply, i)) {
    case HF_KIND_NIL:
        printf("(nil)\n");
        break;
    case HF_KIND_INTEGER:
        printf("(integer) %lld\n", (long long)hf_reply_integer(reply, i));
        break;
    case HF_KIND_TEXT:
        fwrite(text.data, 1, text.size, stdout);
        putchar('\n');
        break;
    }
}

/* How wide a value stands in a column; `text` gets a number's digits. */
static struct hf_bytes cell(const hf_reply *reply, size_t i, char text[24])
{
    switch (hf_reply_kind(reply, i)) {
    case HF_KIND_INTEGER:
        snprintf(text, 24, "%lld", (long long)hf_reply_integer(reply, i));
        return hf_text(text);
    case HF_KIND_TEXT:
        return hf_reply_text(reply, i);
    case HF_KIND_NIL:
        break;
    }
    return hf_text("-");
}

static void print_cell(struct hf_bytes text, size_t width)
{
    fwrite(text.data, 1, text.size, stdout);
    printf("%*s", (int)(width > text.size ? width - text.size : 0), "");
}

/* The items of a page under each other, the names of their fields on top. */
static void print_table(const hf_reply *reply, size_t columns)
{
    size_t count = hf_reply_count(reply), width[REPLY_VALUES];
    char text[24];

    for (size_t column = 0; column < columns; column++) {
        width[column] = hf_reply_text(reply, 1 + 2 * column).size;
        for (size_t i = 2 + 2 * column; i < count; i += 2 * columns) {
            size_t size = cell(reply, i, text).size;
            width[column] = size > width[column] ? size : width[column];
        }
    }
    for (size_t row = 0; 1 + row * 2 * columns < count + 2 * columns && count > 1; row++) {
        for (size_t column = 0; column < columns; column++) {
            size_t i = row == 0 ? 1 + 2 * column : 2 * columns * (row - 1) + 2 + 2 * column;
            print_cell(cell(reply, i, text), column + 1 < columns ? width[column] + 2 : 0);
        }
        putchar('\n');
    }
}

/* A page: its items, then how to go on. */
static void print_page(const hf_reply *reply, const struct command_spec *spec)
{
    size_t count = hf_reply_count(reply);
    struct hf_bytes cursor = hf_reply_text(reply, 0);

    if (!command_lists_names(spec)) {
        print_table(reply, command_shown_fields(spec));
    }
    for (size_t i = 1; command_lists_names(spec) && i < count; i++) {
        print_element(reply, i);
    }
    if (cursor.size > 0) {
        printf("(more: AFTER %.*s)\n", (int)cursor.size, cursor.data);
    } else if (count == 1) {
        printf("(empty)\n");
    }
}

static void print_reply(hf_reply *reply, const struct command_spec *spec, bool json)
{
    size_t count = hf_reply_count(reply);

    if (json) {
        printf("%s\n", hf_reply_json(reply));
        return;
    }
    if (spec != NULL && spec->shape == REPLY_PAGE && hf_reply_kind(reply, 0) == HF_KIND_TEXT) {
        print_page(reply, spec);
        return;
    }
    if (count == 0) {
        printf("(empty)\n");
    }
    for (size_t i = 0; i < count; i++) {
        if (count > 1) {
            printf("%zu) ", i + 1);
        }
        print_element(reply, i);
    }
}

static int call_once(hf_handle *handle, size_t count, const struct hf_bytes *words, bool json)
{
    hf_reply *reply;
    enum hf_error code = hf_call(handle, count, words, &reply);

    if (reply == NULL) {
        cli_usage("%s", hf_last_message());
        return EXIT_REFUSED;
    }
    print_reply(reply, count > 0 ? command_find(words[0]) : NULL, json);
    hf_reply_free(reply);
    return code == HF_OK            ? EXIT_DONE
           : code == HF_ERR         ? EXIT_USAGE
           : code == HF_IOERR       ? EXIT_DISK
           : code == HF_ENGINE_DOWN ? EXIT_UNAVAILABLE
                                    : EXIT_REFUSED;
}

/* Will every further command fail as this one did? */
static bool is_end(int code)
{
    return code == EXIT_DISK || code == EXIT_UNAVAILABLE;
}

/* Splits a line in place at white space; "double quotes" keep words together, with \" and \\ in
 * them. Returns the number of words, or -1 for a quote that does not end, or not where its word
 * does, or for too many words. */
static int split(char *line, struct hf_bytes *words)
{
    int count = 0;
    char *at = line;

    for (;;) {
        at += strspn(at, " \t\r\n");
        if (*at == '\0') {
            return count;
        }
        bool quoted = *at == '"';
        char *out = at, *start = at;
        at += quoted;
        while (*at != '\0' && (quoted ? *at != '"' : strchr(" \t\r\n", *at) == NULL)) {
            at += quoted && *at == '\\' && at[1] != '\0';
            *out++ = *at++;
        }
        if ((quoted && *at != '"') || count == WORDS_MAX) {
            return -1;
        }
        at += quoted;
        if (*at != '\0' && strchr(" \t\r\n", *at) == NULL) {
            return -1;
        }
        words[count++] = (struct hf_bytes){start, (size_t)(out - start)};
        if (*at != '\0' && !quoted) {
            at++;
        }
    }
}

/* A command per line; empty lines and those starting with # are passed over. */
static int call_lines(hf_handle *handle, FILE *input, bool json)
{
    struct hf_bytes words[WORDS_MAX];
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    int worst = EXIT_DONE;

    for (unsigned number = 1; !is_end(worst) && (size = getline(&line, &capacity, input)) >= 0;
         number++) {
        bool whole = strlen(line) == (size_t)size; /* no NUL inside */
        int count = *line == '#' ? 0 : whole ? split(line, words) : -1;
        int code = EXIT_DONE;
        if (count < 0) {
            code =
                cli_usage("line %u: a NUL byte, more than %d words, or a quote that does not end "
                          "where its word does",
                          number, WORDS_MAX);
        } else if (count > 0) {
            code = call_once(handle, (size_t)count, words, json);
            fflush(stdout); /* A program may wait for the answer. */
        }
        worst = code > worst ? code : worst;
    }
    free(line);
    return worst;
}

int cli_call(int argc, char **argv)
{
    static const struct option options[] = {{"engine", required_argument, NULL, 'u'},
                                            {"url", required_argument, NULL, 'u'},
                                            {"ledger", required_argument, NULL, 'l'},
                                            {"json", no_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    const char *url = cli_server_url(), *ledger = NULL;
    bool json = false;
    struct hf_bytes words[WORDS_MAX] = {{NULL, 0}};
    hf_handle *handle;
    int option;

    opterr = 0;
    /* The leading + ends the options at the command: what follows is its own. */
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        if (option == 'u') {
            url = optarg;
        } else if (option == 'l') {
            ledger = optarg;
        } else if (option == 'j') {
            json = true;
        } else {
            return cli_bad_option("call", argv, options);
        }
    }
    if (argc - optind > WORDS_MAX) {
        return cli_usage("more than %d words", WORDS_MAX);
    }
    enum hf_error opened = cli_open(url, ledger, &handle);
    if (opened != HF_OK) {
        return cli_failed(opened);
    }
    int code;
    if (optind == argc) {
        code = call_lines(handle, stdin, json);
    } else {
        for (int i = optind; i < argc; i++) {
            words[i - optind] = hf_text(argv[i]);
        }
        code = call_once(handle, (size_t)(argc - optind), words, json);
    }
    hf_close(handle);
    return code;
}
