/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast load FILE.csv [--url URL | --engine URL]
 *
 * The header names arguments of a command, and so says which command every line is:
 *
 *     event,zone,capacity                        SEATS.OPEN
 *     tenant,limit                               QUOTA.LIMIT
 *     product,quantity,shards,watermark,policy   STOCK.LOAD; the last three may be left out
 *
 * All lines are checked before the first is sent. Exit code: 0 if all succeeded, 1 if one was
 * refused, 2 if the file is bad and nothing was sent, 3 if the data directory failed, 69 if there
 * is no server and 77 if it does not let us in. */
#include "cli/load.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/directory.h"
#include "command/help.h"
#include "library/handle.h"
#include "library/remote_url.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <strings.h>

static void say(struct load *load, size_t line, const char *what)
{
    cli_live_end();
    fprintf(stderr, "%s:%zu: %s\n", load->file, line, what);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The whole of it, or of standard input for "-". */
static bool read_file(const char *path, struct buffer *text)
{
    const size_t chunk = (size_t)1 << 16;
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "re");
    size_t got = 1;

    if (file != NULL) {
        while (got > 0 && buffer_reserve(text, chunk)) {
            got = fread(text->data + text->size, 1, chunk, file);
            text->size += got;
        }
    }
    bool good = file != NULL && !ferror(file) && !text->failed;
    if (!good) {
        cli_usage("%s: cannot be read: %s", is_input ? "standard input" : path,
                  text->failed ? "out of memory" : strerror(errno));
    }
    if (file != NULL && !is_input) {
        fclose(file);
    }
    return good;
}

/* ---- the header ------------------------------------------------------------------------------ */

static bool is_same(struct hf_bytes text, const char *name)
{
    return text.size == strlen(name) && strncasecmp(text.data, name, text.size) == 0;
}

/* The argument a column names: by its name, its name in JSON, or its keyword. */
static const struct arg_spec *find_argument(const struct command_spec *spec, struct hf_bytes name)
{
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        if (is_same(name, arg->field) || is_same(name, arg->keyword ? arg->keyword : arg->name)) {
            return arg;
        }
    }
    return NULL;
}

/* How well a command goes with the columns. */
struct match {
    const struct command_spec *spec;
    size_t named; /* columns that are arguments of it */
    bool fits;    /* all are, each another one, and none that it needs is missing */
    bool repeated;
    const struct arg_spec *columns[CSV_FIELDS_MAX];
};

static struct match match(const struct command_spec *spec, const struct csv_record *header)
{
    struct match match = {.spec = spec};
    unsigned given = 0;

    for (size_t i = 0; i < header->count && i < CSV_FIELDS_MAX; i++) {
        const struct arg_spec *arg = find_argument(spec, header->fields[i]);
        match.columns[i] = arg;
        match.named += arg != NULL;
        if (arg != NULL) {
            unsigned bit = 1U << (arg - spec->args);
            match.repeated |= (given & bit) != 0;
            given |= bit;
        }
    }
    unsigned needed = (1U << spec->required) - 1;
    match.fits = match.named == header->count && !match.repeated && (given & needed) == needed;
    return match;
}

/* Says that no command takes these columns, and which comes closest. */
static bool refuse_header(struct load *load, const struct match *closest)
{
    struct memory memory;
    struct buffer text;

    memory_init(&memory);
    buffer_init(&text, &memory);
    buffer_text(&text, "the columns fit no command");
    if (closest->repeated) {
        buffer_text(&text, ": one is there twice");
    } else if (closest->named > 0) {
        buffer_text(&text, "; the closest is ");
        help_usage(closest->spec, &text);
    }
    buffer_byte(&text, '\0');
    say(load, 1, text.failed ? "the columns fit no command" : text.data);
    buffer_free(&text);
    return false;
}

/* Finds the command whose arguments the columns are: one that writes, and answers at once. */
static bool read_header(struct load *load, const struct csv_record *header)
{
    struct match best = {.spec = NULL};

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        if (!(spec->flags & COMMAND_WRITES) || spec->flags & COMMAND_WAITS) {
            continue;
        }
        struct match found = match(spec, header);
        if (found.fits && best.fits) {
            char text[MESSAGE_SIZE];
            snprintf(text, sizeof text, "the columns fit more than one command: %s and %s",
                     best.spec->name, spec->name);
            say(load, header->line, text);
            return false;
        }
        if (found.fits || (!best.fits && found.named > best.named)) {
            best = found;
        }
    }
    if (!best.fits) {
        return refuse_header(load, &best);
    }
    load->spec = best.spec;
    load->column_count = header->count;
    memcpy(load->columns, best.columns, sizeof best.columns);
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool read_flag(struct hf_bytes text, int64_t *flag)
{
    *flag = is_same(text, "true") || is_same(text, "1");
    return *flag || is_same(text, "false") || is_same(text, "0");
}

/* A line as a command. An empty field of an optional argument was not given. */
static enum hf_error read_line(const struct load *load, const struct csv_record *record,
                               struct command *command, struct problem *problem)
{
    struct command_field fields[CSV_FIELDS_MAX];
    size_t count = 0;

    if (record->fault != NULL) {
        return problem_set(problem, HF_ERR, "%s", record->fault);
    }
    if (record->count != load->column_count) {
        return problem_set(problem, HF_ERR, "%zu fields, but the header has %zu", record->count,
                           load->column_count);
    }
    for (size_t i = 0; i < record->count; i++) {
        const struct arg_spec *arg = load->columns[i];
        struct hf_bytes text = record->fields[i];
        if (arg->keyword != NULL && text.size == 0) {
            continue;
        }
        fields[count] = (struct command_field){.name = hf_text(arg->field), .text = text};
        if (arg->type == ARG_FLAG) {
            fields[count].text.data = NULL;
            if (!read_flag(text, &fields[count].number)) {
                return problem_set(problem, HF_ERR, "%s \"%.*s\" is not true or false", arg->field,
                                   (int)text.size, text.data);
            }
        }
        count++;
    }
    return command_from_fields(command, load->spec, count, fields, problem);
}

bool load_next(struct load *load, struct command *command, size_t *line)
{
    struct csv_record record;

    if (!csv_next(&load->csv, &record)) {
        return false;
    }
    *line = record.line;
    return read_line(load, &record, command, NULL) == HF_OK;
}

/* Back to the first line behind the header; false if there is none. */
static bool rewind_to_header(struct load *load, struct csv_record *header)
{
    csv_free(&load->csv);
    csv_init(&load->csv, load->text);
    return csv_next(&load->csv, header);
}

/* Reads all of it once, and says of every bad line what is wrong. */
static bool check(struct load *load)
{
    struct csv_record record;
    struct command command;
    struct problem problem;
    uint64_t bad = 0;

    if (!rewind_to_header(load, &record)) {
        cli_usage("%s: empty: the first line has to name the columns", load->file);
        return false;
    }
    if (record.fault != NULL || !read_header(load, &record)) {
        if (record.fault != NULL) {
            say(load, record.line, record.fault);
        }
        return false;
    }
    while (csv_next(&load->csv, &record)) {
        load->lines++;
        if (read_line(load, &record, &command, &problem) != HF_OK) {
            say(load, record.line, problem.message);
            bad++;
        }
    }
    if (bad > 0) {
        cli_usage("%s: %llu of %llu lines are bad; nothing was sent", load->file,
                  (unsigned long long)bad, (unsigned long long)load->lines);
    }
    return bad == 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Is it about the server, rather than about this line? */
static bool ends_it_all(enum hf_error code)
{
    return code != HF_OK && code != HF_ERR && !error_is_refusal(code);
}

static void show_progress(const struct load *load)
{
    if ((load->answered & 1023) == 0) {
        cli_progress("loading", load->csv.at - load->text.data, (int64_t)load->text.size);
    }
}

void load_answered(struct load *load, size_t line, const struct reply *reply)
{
    char message[MESSAGE_SIZE], text[MESSAGE_SIZE + 64];

    load->answered++;
    show_progress(load);
    if (reply->code == HF_OK) {
        return;
    }
    load->refused++;
    if (!load->stopped) {
        reply_message(reply, message);
        snprintf(text, sizeof text, "%s %s", hf_error_name(reply->code), message);
        say(load, line, text);
    }
    bool denied = reply->code == HF_UNAUTHORIZED || reply->code == HF_FORBIDDEN;
    int code = reply->code == HF_IOERR ? EXIT_DISK : denied ? EXIT_DENIED : EXIT_REFUSED;
    load->exit_code = code > load->exit_code ? code : load->exit_code;
    load->stopped |= ends_it_all(reply->code);
}

void load_broke(struct load *load, size_t line, const char *why)
{
    char text[MESSAGE_SIZE];

    snprintf(text, sizeof text, "outcome unknown, of this line and those behind it: %s", why);
    say(load, line, text);
    load->stopped = true;
    load->exit_code = EXIT_REFUSED;
}

/* 1234567 as "1,234,567". */
static const char *with_commas(char out[32], uint64_t number)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    char *at = out;

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            *at++ = ',';
        }
        *at++ = digits[i];
    }
    *at = '\0';
    return out;
}

/* What a line is about: the id that the command could make by itself, or the last one it needs. */
static const char *noun(const struct command_spec *spec)
{
    const char *name = "line";

    for (size_t i = 0; i < spec->required; i++) {
        name = spec->args[i].type == ARG_ID ? spec->args[i].name : name;
        if (spec->made == i + 1) {
            break;
        }
    }
    return name;
}

static void summarize(const struct load *load, double seconds)
{
    char done[32], refused[32], left[32];

    cli_live_end();
    with_commas(done, load->answered - load->refused);
    printf("%s %s%s in %.1f s, %s refused", done, noun(load->spec),
           load->answered - load->refused == 1 ? "" : "s", seconds,
           with_commas(refused, load->refused));
    if (load->answered < load->lines) {
        printf(", %s not answered or not sent", with_commas(left, load->lines - load->answered));
    }
    putchar('\n');
}

static int run(struct load *load, const char *url)
{
    struct problem problem = {.code = HF_BUSY, .message = "out of memory"};
    struct csv_record header;

    if (!check(load)) {
        return EXIT_USAGE;
    }
    rewind_to_header(load, &header);
    uint64_t start = clock_nanoseconds();
    bool begun = remote_url_is(url) ? load_to_server(load, url, &problem)
                                    : load_to_engine(load, url, &problem);
    if (!begun) {
        return cli_failed(handle_fail(&problem));
    }
    summarize(load, (double)(clock_nanoseconds() - start) / 1e9);
    return load->exit_code;
}

int cli_load(int argc, char **argv)
{
    static const struct option options[] = {{"url", required_argument, NULL, 'u'},
                                            {"engine", required_argument, NULL, 'u'},
                                            {NULL, 0, NULL, 0}};
    const char *url = cli_server_url();
    struct memory memory;
    struct buffer text;
    int option, code = EXIT_USAGE;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?') {
            return cli_bad_option("load", argv, options);
        }
        url = optarg;
    }
    if (argc - optind != 1) {
        return cli_usage("load needs one FILE.csv, or - for standard input");
    }
    memory_init(&memory);
    buffer_init(&text, &memory);
    if (read_file(argv[optind], &text)) {
        struct load load = {.file = argv[optind], .text = {text.data, text.size}};
        csv_init(&load.csv, load.text);
        code = run(&load, url);
        csv_free(&load.csv);
    }
    buffer_free(&text);
    return code;
}
