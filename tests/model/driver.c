/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives the core from standard input, for the model test; lines.h has the form of the lines.
 *
 * Directives: !audit gives the findings as a list; !snapshot goes on with a core made from a
 * snapshot of this one; !digest gives the digest. */
#include "base/memory.h"
#include "core/core.h"
#include "command/binary.h"
#include "model/lines.h"

#include <inttypes.h>
#include <stdlib.h>

static struct memory memory;
static struct core *core;
static const uint64_t seed[2] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xc2b2ae3d27d4eb4f)};

/* The command line behind each ticket. */
static uint64_t *line_of_ticket;
static uint64_t tickets;

static void put_wakes(struct reply *reply)
{
    size_t count;
    const struct wakeup *wakeups = core_wakeups(core, &count);

    putchar('[');
    for (size_t i = 0; i < count; i++) {
        printf("%s[%" PRIu64 ",", i ? "," : "", line_of_ticket[wakeups[i].ticket]);
        wakeup_reply(&wakeups[i], reply);
        put_reply(stdout, reply, &command_table[SEM_ACQUIRE]);
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
    put_text(stdout, hf_text(text));
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
        put_text(stdout, hf_text(restored == NULL ? problem.message : "the digest differs"));
    } else {
        put_text(stdout, hf_text("ok"));
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
                            struct binary_scratch *scratch, struct problem *problem)
{
    buffer_clear(bytes);
    command_to_binary(command, bytes);
    return command_from_binary(command, (struct hf_bytes){bytes->data, bytes->size}, scratch,
                               problem);
}

int main(void)
{
    char *line;
    struct hf_bytes words[LINE_WORDS_MAX];
    struct reply reply;
    struct command command;
    struct problem problem;
    struct buffer bytes;
    struct binary_scratch scratch;
    uint64_t number = 0;

    memory_init(&memory);
    buffer_init(&bytes, &memory);
    core = core_create(&memory, seed);
    if (core == NULL || !reply_init(&reply, &memory)) {
        return 1;
    }
    core_collect_events(core, true);
    while ((line = line_next()) != NULL) {
        if (line[0] == '!') {
            direct(line);
            continue;
        }
        char *end;
        int64_t now_ms = strtoll(line, &end, 10);
        size_t count = line_split(end + (*end == '\t'), words, LINE_WORDS_MAX);
        number++;
        putchar('[');
        enum hf_error code = command_from_words(&command, count, words, &problem);
        if (code == HF_OK) {
            fill_entropy(&command, number);
            code = recode(&command, &bytes, &scratch, &problem);
        }
        if (code != HF_OK) {
            core_advance(core, now_ms);
            put_refusal(stdout, code);
        } else {
            core_apply(core, &command, now_ms, &reply);
            if (reply.waits) {
                remember_ticket(reply.ticket, number);
            }
            struct walk walk = {0};
            while (put_page(stdout, &walk, &reply, &command)) {
                core_apply(core, &command, now_ms, &reply);
            }
        }
        putchar(',');
        core_advance(core,
                     now_ms); /* after a jump in time more may be due than one command expires */
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
