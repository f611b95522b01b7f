/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives the core from standard input, for the model test.
 *
 * In:  now_ms, then the words of a command, separated by tabs, bytes outside [A-Za-z0-9_.:-]
 *      as %XX.
 * Out: [reply, wakes], one line a command, both as JSON. A refusal is [0,"CODE"], a malformed
 *      request {"error":"ERR"}, a command that waits "WAIT". wakes has [line, reply] for each
 *      command that waited and is answered now; line counts the commands from 1.
 *
 * Directives: !audit gives the findings as a list; !snapshot goes on with a core made from a
 * snapshot of this one; !digest gives the digest. */
#include "base/error.h"
#include "base/memory.h"
#include "core/core.h"
#include "command/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)8 << 20)

static struct memory memory;
static struct core *core;
static const uint64_t seed[2] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)};

/* The command line behind each ticket. */
static uint64_t *line_of_ticket;
static uint64_t tickets;

static void put_text(struct hf_bytes text)
{
    putchar('"');
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') {
            printf("\\u00%02x", c);
        } else {
            putchar(c);
        }
    }
    putchar('"');
}

static void put_refusal(enum hf_error code)
{
    if (error_is_refusal(code)) {
        printf("[0,\"%s\"]", hf_error_name(code));
    } else {
        printf("{\"error\":\"%s\"}", hf_error_name(code));
    }
}

static void put_value(const struct reply *reply, size_t i)
{
    if (reply->values[i].kind == VALUE_NUMBER) {
        printf("%" PRId64, reply->values[i].number);
    } else {
        put_text(reply_bytes(reply, i));
    }
}

static void put_reply(const struct reply *reply, const struct command_spec *spec)
{
    const char *comma = "";

    if (reply->waits) {
        printf("\"WAIT\"");
    } else if (reply->code != HF_OK && reply->count == 0) {
        if (reply->code == spec->nil_code) {
            printf("null");
        } else {
            put_refusal(reply->code);
        }
    } else if (spec->shape == REPLY_NUMBER) {
        put_value(reply, 0);
    } else {
        putchar('[');
        if (spec->shape == REPLY_LEAD) {
            printf("%d", reply->lead);
            comma = ",";
        }
        for (size_t i = 0; i < reply_shown(reply, spec); i++) {
            printf("%s", comma);
            comma = ",";
            if (spec->shape == REPLY_FIELDS) {
                put_text(hf_text(spec->fields[i].name));
                putchar(',');
            }
            put_value(reply, i);
        }
        putchar(']');
    }
}

static void put_wakes(struct reply *reply)
{
    size_t count;
    const struct wakeup *wakeups = core_wakeups(core, &count);

    putchar('[');
    for (size_t i = 0; i < count; i++) {
        printf("%s[%" PRIu64 ",", i ? "," : "", line_of_ticket[wakeups[i].ticket]);
        wakeup_reply(&wakeups[i], reply);
        put_reply(reply, &command_table[SEM_ACQUIRE]);
        putchar(']');
    }
    putchar(']');
    core_clear_wakeups(core);
}

static void remember_ticket(uint64_t ticket, uint64_t line)
{
    if (ticket >= tickets) {
        tickets = ticket * 2 + 1024;
        line_of_ticket = realloc(line_of_ticket, tickets * sizeof(*line_of_ticket));
        if (line_of_ticket == NULL) {
            abort();
        }
    }
    line_of_ticket[ticket] = line;
}

static void put_finding(void *context, const char *text)
{
    printf("%s", *(const char **)context);
    put_text(hf_text(text));
    *(const char **)context = ",";
}

static void take_snapshot(void)
{
    struct buffer bytes;
    struct problem problem = {.message = "no memory"};

    buffer_init(&bytes, &memory);
    uint64_t before = core_digest(core);
    bool written = core_snapshot(core, &bytes);
    struct core *restored =
        written ? core_restore(&memory, seed, (struct hf_bytes){bytes.data, bytes.size}, &problem)
                : NULL;
    buffer_free(&bytes);
    if (restored == NULL || core_digest(restored) != before) {
        put_text(hf_text(restored == NULL ? problem.message : "the digest differs"));
    } else {
        put_text(hf_text("ok"));
    }
    if (restored != NULL) {
        core_destroy(core);
        core = restored;
    }
}

static void direct(const char *line)
{
    const char *comma = "";

    if (strcmp(line, "!audit") == 0) {
        putchar('[');
        core_audit(core, put_finding, &comma);
        putchar(']');
    } else if (strcmp(line, "!snapshot") == 0) {
        take_snapshot();
    } else if (strcmp(line, "!digest") == 0) {
        printf("\"%016" PRIx64 "\"", core_digest(core));
    }
    putchar('\n');
}

/* Splits and decodes a line in place; returns the number of words. */
static size_t split(char *line, struct hf_bytes *words, size_t max)
{
    size_t count = 0;
    char *at = line;

    for (;;) {
        char *out = at, *start = at;
        for (; *at != '\0' && *at != '\t'; at++) {
            if (*at == '%' && at[1] != '\0' && at[2] != '\0') {
                char hex[3] = {at[1], at[2], '\0'};
                *out++ = (char)strtol(hex, NULL, 16);
                at += 2;
            } else {
                *out++ = *at;
            }
        }
        bool last = *at == '\0';
        if (count < max) {
            words[count++] = (struct hf_bytes){start, (size_t)(out - start)};
        }
        if (last) {
            return count;
        }
        at++;
    }
}

/* Entropy that differs from command to command. */
static void fill_entropy(struct command *command, uint64_t number)
{
    for (size_t i = 0; i < COMMAND_ENTROPY; i++) {
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        command->entropy[i] = (uint8_t)(number >> 56);
    }
}

/* Every command goes through its journal encoding and back on the way. */
static enum hf_error recode(struct command *command, struct buffer *bytes,
                            struct wire_scratch *scratch, struct problem *problem)
{
    buffer_clear(bytes);
    wire_encode(command, bytes);
    return wire_decode(command, (struct hf_bytes){bytes->data, bytes->size}, scratch, problem);
}

/* The next line of standard input without its end, or NULL. Before it has to wait for more, all
 * that was answered so far is sent. */
static char *next_line(void)
{
    static char text[LINE_MAX_BYTES];
    static size_t start, end;

    for (;;) {
        char *newline = memchr(text + start, '\n', end - start);
        if (newline != NULL) {
            char *line = text + start;
            *newline = '\0';
            start = (size_t)(newline - text) + 1;
            return line;
        }
        memmove(text, text + start, end - start);
        end -= start;
        start = 0;
        fflush(stdout);
        ssize_t got = read(STDIN_FILENO, text + end, sizeof text - end);
        if (got <= 0) {
            return NULL;
        }
        end += (size_t)got;
    }
}

int main(void)
{
    char *line;
    struct hf_bytes words[64];
    struct reply reply;
    struct command command;
    struct problem problem;
    struct buffer bytes;
    struct wire_scratch scratch;
    uint64_t number = 0;

    memory_init(&memory);
    buffer_init(&bytes, &memory);
    core = core_create(&memory, seed);
    if (core == NULL || !reply_init(&reply, &memory)) {
        return 1;
    }
    core_collect_events(core, true);
    while ((line = next_line()) != NULL) {
        if (line[0] == '!') {
            direct(line);
            continue;
        }
        char *end;
        int64_t now_ms = strtoll(line, &end, 10);
        size_t count = split(end + (*end == '\t'), words, 64);
        number++;
        putchar('[');
        enum hf_error code = command_from_words(&command, count, words, &problem);
        if (code == HF_OK) {
            fill_entropy(&command, number);
            code = recode(&command, &bytes, &scratch, &problem);
        }
        if (code != HF_OK) {
            core_advance(core, now_ms);
            put_refusal(code);
        } else {
            core_apply(core, &command, now_ms, &reply);
            if (reply.waits) {
                remember_ticket(reply.ticket, number);
            }
            put_reply(&reply, command.spec);
        }
        putchar(',');
        put_wakes(&reply);
        printf("]\n");
        struct event event;
        while (core_next_event(core, &event)) {}
    }
    reply_free(&reply);
    buffer_free(&bytes);
    core_destroy(core);
    free(line_of_ticket);
    return memory.used == 0 ? 0 : 2;
}
