/* SPDX-License-Identifier: Apache-2.0
 *
 *     conformance_driver URL
 *
 * Drives any engine from standard input, at the times that the lines give; model/lines.h has their
 * form. An outcome that is unknown, which no line here may have, is {"error":"UNKNOWN"}.
 *
 * It is linked with scripts that take the time from the engine, which has it from here. That clock
 * stands still rather than go back: what Redis' own does when it is set back is another test's. The
 * embedded engine sees to that by itself, and gets the time as it comes.
 *
 * Directives: !audit gives the findings as a list. !together N submits the next N lines before any
 * is answered; they are of one time, and none waits or goes on. !figure NAME is a figure of the
 * engine. */
#include "engine/engine.h"
#include "model/lines.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A command that was submitted. */
struct asked {
    struct command *command; /* for the length of its line */
    const struct command_spec *spec;
    uint64_t line;
    char *answer; /* NULL: it waits */
    size_t size;
    struct walk walk; /* of a list */
    bool goes_on;
    struct asked *next;
};

static struct engine *engine;
static _Atomic int64_t now_ms; /* the engine may have a thread of its own */
static struct asked *waiting;  /* on earlier lines */

static int64_t tell_time(void *context)
{
    (void)context;
    return atomic_load(&now_ms);
}

static void set_time(const char *url, int64_t line_ms)
{
    if (strncmp(url, "embedded:", 9) == 0 || line_ms > now_ms) {
        atomic_store(&now_ms, line_ms);
    }
}

static void on_answer(void *context, const struct reply *reply)
{
    struct asked *asked = context;
    char *before = asked->answer; /* of the pages before */
    FILE *out = open_memstream(&asked->answer, &asked->size);

    if (out == NULL) {
        abort();
    }
    fprintf(out, "%s", before != NULL ? before : "");
    free(before);
    asked->goes_on = false;
    if (reply->unknown) {
        fprintf(out, "{\"error\":\"UNKNOWN\"}");
    } else if (asked->spec->shape == REPLY_PAGE) {
        asked->goes_on = put_page(out, &asked->walk, reply, asked->command);
    } else {
        put_reply(out, reply, asked->spec);
    }
    fclose(out);
}

static void free_asked(struct asked *asked)
{
    free(asked->answer);
    free(asked);
}

/* The answers to commands of earlier lines. */
static void put_wakes(void)
{
    const char *comma = "";

    putchar('[');
    for (struct asked **at = &waiting; *at != NULL;) {
        struct asked *asked = *at;
        if (asked->answer == NULL) {
            at = &asked->next;
            continue;
        }
        printf("%s[%" PRIu64 ",%s]", comma, asked->line, asked->answer);
        comma = ",";
        *at = asked->next;
        free_asked(asked);
    }
    putchar(']');
}

static struct asked *ask(struct command *command, uint64_t line)
{
    struct asked *asked = calloc(1, sizeof *asked);

    if (asked == NULL) {
        abort();
    }
    asked->command = command;
    asked->spec = command->spec;
    asked->line = line;
    return asked;
}

static void carry_out(struct command *command, uint64_t line)
{
    struct asked *asked = ask(command, line);

    do {
        engine_submit(engine, command, on_answer, asked);
        engine_settle(engine);
    } while (asked->goes_on);
    printf("[%s,", asked->answer != NULL ? asked->answer : "\"WAIT\"");
    put_wakes();
    if (asked->answer != NULL) {
        free_asked(asked);
    } else {
        asked->next = waiting;
        waiting = asked;
    }
}

static void put_finding(void *context, const char *text)
{
    printf("%s", *(const char **)context);
    put_text(stdout, hf_text(text));
    *(const char **)context = ",";
}

static void audit(void)
{
    const char *comma = "";
    struct problem problem = {0};
    uint64_t findings;

    putchar('[');
    if (engine_audit(engine, put_finding, &comma, &findings, &problem) != HF_OK) {
        put_finding(&comma, problem.message);
    }
    printf("]\n");
}

static struct asked *submit_line(const char *url, char *line, uint64_t number)
{
    struct hf_bytes words[LINE_WORDS_MAX];
    struct command command = {.spec = NULL};
    struct problem problem;
    char *end;

    set_time(url, strtoll(line, &end, 10));
    size_t count = line_split(end + (*end == '\t'), words, LINE_WORDS_MAX);
    enum hf_error code = command_from_words(&command, count, words, &problem);
    struct asked *asked = ask(&command, number);
    if (code == HF_OK) {
        engine_submit(engine, &command, on_answer, asked);
        return asked;
    }
    FILE *out = open_memstream(&asked->answer, &asked->size);
    put_refusal(out, code);
    fclose(out);
    return asked;
}

/* Submits so many lines at once. Returns the number of the last. */
static uint64_t together(const char *url, size_t count, uint64_t number)
{
    struct asked **asked = calloc(count, sizeof(struct asked *));

    for (size_t i = 0; i < count; i++) {
        char *line = line_next();
        if (asked == NULL || line == NULL) {
            abort();
        }
        asked[i] = submit_line(url, line, ++number);
    }
    engine_settle(engine);
    for (size_t i = 0; i < count; i++) {
        printf("[%s,[]]\n", asked[i]->answer);
        free_asked(asked[i]);
    }
    free(asked);
    return number;
}

static void put_figure(void *context, const char *name, const char *help, bool grows, double value)
{
    (void)help;
    (void)grows;
    if (strcmp(name, context) == 0) {
        printf("%.0f\n", value);
    }
}

/* Carries a directive out. Returns the number of the last line. */
static uint64_t direct(const char *url, char *line, uint64_t number)
{
    static const char figure[] = "!figure ", many[] = "!together ";

    if (strncmp(line, many, sizeof many - 1) == 0) {
        return together(url, strtoul(line + sizeof many - 1, NULL, 10), number);
    }
    if (strncmp(line, figure, sizeof figure - 1) == 0) {
        engine_figures(engine, put_figure, line + sizeof figure - 1);
    } else {
        audit();
    }
    return number;
}

static void run(const char *url)
{
    struct hf_bytes words[LINE_WORDS_MAX];
    struct command command;
    struct problem problem;
    uint64_t number = 0;
    char *line, *end;

    while ((line = line_next()) != NULL) {
        if (line[0] == '!') {
            number = direct(url, line, number);
            continue;
        }
        set_time(url, strtoll(line, &end, 10));
        size_t count = line_split(end + (*end == '\t'), words, LINE_WORDS_MAX);
        number++;
        enum hf_error code = command_from_words(&command, count, words, &problem);
        if (code == HF_OK) {
            carry_out(&command, number);
        } else {
            engine_settle(engine);
            putchar('[');
            put_refusal(stdout, code);
            putchar(',');
            put_wakes();
        }
        printf("]\n");
    }
}

int main(int argc, char **argv)
{
    struct engine_options options = {.clock = tell_time};
    struct problem problem;

    if (argc != 2) {
        fprintf(stderr, "usage: conformance_driver URL\n");
        return 2;
    }
    if (engine_open(argv[1], &options, &engine, &problem) != HF_OK) {
        fprintf(stderr, "conformance_driver: %s\n", problem.message);
        return 1;
    }
    run(argv[1]);
    engine_close(engine);
    while (waiting != NULL) {
        struct asked *next = waiting->next;
        free_asked(waiting);
        waiting = next;
    }
    return 0;
}
