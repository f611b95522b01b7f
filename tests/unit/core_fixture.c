/* SPDX-License-Identifier: Apache-2.0 */
#include "core_fixture.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 64

static const uint64_t seed[2] = {1, 2};

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    memory_init(&f->memory);
    f->now_ms = 1000000;
    f->core = core_create(&f->memory, seed);
    assert_non_null(f->core);
    assert_true(reply_init(&f->reply, &f->memory));
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    core_destroy(f->core);
    reply_free(&f->reply);
    assert_int_equal(f->memory.used, 0);
    free(f);
    return 0;
}

void at(struct fixture *f, int64_t now_ms)
{
    f->now_ms = now_ms;
}

static void append(struct fixture *f, const char *data, size_t size)
{
    size_t used = strlen(f->text);

    if (size > sizeof f->text - used - 2) {
        size = sizeof f->text - used - 2;
    }
    if (used > 0) {
        f->text[used++] = ' ';
    }
    memcpy(f->text + used, data, size);
    f->text[used + size] = '\0';
}

static void append_number(struct fixture *f, int64_t number)
{
    char text[21];
    append(f, text, decimal_write(text, number));
}

static void append_text(struct fixture *f, const char *text)
{
    append(f, text, strlen(text));
}

static void write_code(struct fixture *f, enum hf_error code)
{
    if (error_is_refusal(code)) {
        append_text(f, "0");
        append_text(f, hf_error_name(code));
    } else {
        snprintf(f->text, sizeof f->text, "-%s", hf_error_name(code));
    }
}

static void write_reply(struct fixture *f, const struct command_spec *spec)
{
    const struct reply *reply = &f->reply;

    f->text[0] = '\0';
    if (reply->waits) {
        append_text(f, "WAIT");
    } else if (reply->code != HF_OK && reply->count == 0) {
        if (reply->code == spec->nil_code) {
            append_text(f, "nil");
        } else {
            write_code(f, reply->code);
        }
    } else {
        if (spec->shape == REPLY_LEAD) {
            append_number(f, reply->lead);
        }
        for (size_t i = 0; i < reply_shown(reply, spec); i++) {
            if (spec->shape == REPLY_FIELDS) {
                append_text(f, spec->fields[i].name);
            }
            if (reply->values[i].kind == VALUE_NUMBER) {
                append_number(f, reply->values[i].number);
            } else if (reply->values[i].kind == VALUE_ABSENT) {
                append_text(f, "-");
            } else {
                struct hf_bytes text = reply_bytes(reply, i);
                if (spec->shape == REPLY_PAGE && i == 0 && text.size == 0) {
                    text = hf_text("end");
                }
                append(f, text.data, text.size);
            }
        }
    }
}

static void report_finding(void *context, const char *finding)
{
    (void)context;
    print_error("audit: %s\n", finding);
}

const char *run_words(struct fixture *f, size_t count, const struct hf_bytes *words)
{
    struct command command;
    struct problem problem;

    f->commands++;
    f->text[0] = '\0';
    if (command_from_words(&command, count, words, &problem) != HF_OK) {
        write_code(f, problem.code);
        return f->text;
    }
    for (size_t i = 0; i < COMMAND_ENTROPY; i++) {
        command.entropy[i] = (uint8_t)(f->commands * 37 + i * 11);
    }
    core_prepare(f->core, &command, 1); /* changes nothing */
    core_apply(f->core, &command, f->now_ms, &f->reply);
    f->ticket = f->reply.waits ? f->reply.ticket : f->ticket;
    write_reply(f, command.spec);
    assert_int_equal(core_audit(f->core, report_finding, NULL), 0);
    return f->text;
}

const char *run(struct fixture *f, const char *words)
{
    struct hf_bytes list[WORDS_MAX];
    size_t count = 0;

    for (const char *word = words;; word++) {
        size_t size = strcspn(word, " ");
        assert_true(count < WORDS_MAX);
        list[count++] = (struct hf_bytes){word, size};
        word += size;
        if (*word == '\0') {
            return run_words(f, count, list);
        }
    }
}

/* Word by word; * matches any one word. */
static bool matches(const char *text, const char *pattern)
{
    for (;;) {
        size_t size = strcspn(text, " "), wanted = strcspn(pattern, " ");
        bool any = wanted == 1 && *pattern == '*' && size > 0;
        if (!any && (size != wanted || memcmp(text, pattern, size) != 0)) {
            return false;
        }
        text += size;
        pattern += wanted;
        if (*text == '\0' || *pattern == '\0') {
            return *text == *pattern;
        }
        text++;
        pattern++;
    }
}

void expect_at(struct fixture *f, const char *words, const char *reply, const char *file, int line)
{
    if (!matches(run(f, words), reply)) {
        print_error("%s\n  expected %s\n  got      %s\n", words, reply, f->text);
        _fail(file, line);
    }
}

void expect_unchanged_at(struct fixture *f, const char *words, const char *reply, const char *file,
                         int line)
{
    core_advance(f->core, f->now_ms);
    uint64_t before = core_digest(f->core);
    expect_at(f, words, reply, file, line);
    if (core_digest(f->core) != before) {
        print_error("%s\n  changed the state\n", words);
        _fail(file, line);
    }
}

void expect_wakes_at(struct fixture *f, const char *text, const char *file, int line)
{
    char got[4096] = "";
    size_t count, used = 0;
    const struct wakeup *wakeups = core_wakeups(f->core, &count);

    for (size_t i = 0; i < count && used < sizeof got; i++) {
        wakeup_reply(&wakeups[i], &f->reply);
        write_reply(f, &command_table[SEM_ACQUIRE]);
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%" PRIu64 ":%s", i ? "; " : "",
                                 wakeups[i].ticket, f->text);
    }
    core_clear_wakeups(f->core);
    if (!matches(got, text)) {
        print_error("wakes\n  expected %s\n  got      %s\n", text, got);
        _fail(file, line);
    }
}

void snapshot_and_restore(struct fixture *f)
{
    struct buffer bytes;
    struct problem problem;

    buffer_init(&bytes, &f->memory);
    uint64_t digest = core_digest(f->core);
    assert_true(core_snapshot(f->core, &bytes));
    struct core *restored =
        core_restore(&f->memory, seed, (struct hf_bytes){bytes.data, bytes.size}, &problem);
    buffer_free(&bytes);
    assert_non_null(restored);
    assert_true(core_digest(restored) == digest);
    core_destroy(f->core);
    f->core = restored;
}

enum hf_error run_unaudited(struct fixture *f, const char *words)
{
    struct hf_bytes list[16];
    struct command command;
    size_t count = 0;
    char text[200];
    char *rest = NULL;

    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        list[count++] = hf_text(word);
    }
    assert_int_equal(command_from_words(&command, count, list, NULL), HF_OK);
    memset(command.entropy, 0, sizeof command.entropy);
    f->commands++;
    memcpy(command.entropy, &f->commands, sizeof f->commands);
    core_apply(f->core, &command, f->now_ms, &f->reply);
    return f->reply.code;
}
