/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies read back from RESP2: what was written is what is read, whatever the row, the refusal and
 * the point at which the bytes are cut; and what no server of ours writes is refused. */
#include "reply_fixture.h"
#include "choice_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "command/words.h"

static struct reply decoded;
static struct buffer again;

static int setup_both(void **state)
{
    setup(state);
    buffer_init(&again, &memory);
    assert_true(reply_init(&decoded, &memory));
    return 0;
}

static int teardown_both(void **state)
{
    reply_free(&decoded);
    buffer_free(&again);
    return teardown(state);
}

/* The bytes, at the very end of a block of their own, so that reading past them is noticed. */
static enum resp_state decode(enum command_id id, struct hf_bytes bytes, size_t *size)
{
    char *copy = malloc(bytes.size + 1);

    assert_non_null(copy);
    memcpy(copy + 1, bytes.data, bytes.size);
    enum resp_state state = reply_from_resp(&decoded, &command_table[id],
                                            (struct hf_bytes){copy + 1, bytes.size}, size);
    free(copy);
    return state;
}

/* Is the reply in `out` cut anywhere, more is asked for, and never more than there is. */
static void expect_more_of_every_part(enum command_id id, struct hf_bytes whole)
{
    size_t step = whole.size > 4096 ? whole.size / 512 : 1;

    for (size_t cut = 0; cut < whole.size; cut += step) {
        size_t needed = 0;
        assert_int_equal(decode(id, (struct hf_bytes){whole.data, cut}, &needed), RESP_MORE);
        assert_true(needed > cut && needed <= whole.size);
        assert_int_equal(decoded.count, 0);
    }
}

/* The reply as it stands, written and read: the same once more, and with bytes behind it, too. */
static void expect_round_trip(enum command_id id)
{
    char said[MESSAGE_SIZE], heard[MESSAGE_SIZE];
    size_t size = 0;

    reply_to_resp(&reply, &command_table[id], 2, &out);
    assert_false(out.failed);
    struct hf_bytes whole = {out.data, out.size};
    expect_more_of_every_part(id, whole);
    assert_int_equal(decode(id, whole, &size), RESP_DONE);
    assert_int_equal(size, whole.size);
    assert_int_equal(decoded.code, reply.code);
    assert_int_equal(decoded.lead, reply.lead);
    assert_int_equal(decoded.count, reply_shown(&reply, &command_table[id]));

    reply_to_resp(&decoded, &command_table[id], 2, &again);
    assert_true(text_equal(whole, (struct hf_bytes){again.data, again.size}));
    if (reply.code != HF_OK && reply.code != command_table[id].nil_code && reply.count == 0) {
        reply_message(&reply, said);
        reply_message(&decoded, heard);
        assert_string_equal(heard, said);
    }
    buffer_text(&out, "+NEXT\r\n");
    assert_int_equal(decode(id, (struct hf_bytes){out.data, out.size}, &size), RESP_DONE);
    assert_int_equal(size, again.size);
    buffer_clear(&out);
    buffer_clear(&again);
    reply_clear(&reply);
}

/* Values of the right kinds, as many as the row shows. */
static void fill(const struct command_spec *spec, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct reply_field *field = &spec->fields[i % spec->field_count];
        if (!field->is_text) {
            reply_number(&reply, (int64_t)(i % 3 == 0 ? -HF_INTEGER_MAX : HF_INTEGER_MAX));
        } else {
            char text[HF_NODE_SIZE]; /* the longest; a zone's name has two ids */
            assert_true(field->size <= sizeof text);
            memset(text, 'a' + (int)(i % 26), sizeof text);
            reply_text(&reply, text, field->size > 0 ? field->size - 1U : 0);
        }
    }
}

/* ---- every row ------------------------------------------------------------------------------- */

static void every_row_reads_what_it_writes(void **state)
{
    (void)state;
    for (int id = 0; id < COMMAND_COUNT; id++) {
        const struct command_spec *spec = &command_table[id];
        if (spec->shape == REPLY_PAGE) {
            reply_word(&reply, "cursor");
            fill(spec, 0, spec->field_count);
        } else {
            fill(spec, 0, command_shown_fields(spec));
        }
        expect_round_trip((enum command_id)id);
    }
}

static void every_row_reads_every_refusal(void **state)
{
    (void)state;
    for (int id = 0; id < COMMAND_COUNT; id++) {
        for (int code = HF_OK + 1; code < HF_ERROR_COUNT; code++) {
            reply_refuse_with(&reply, (enum hf_error)code, "# of # #", 3, 4, 5);
            expect_round_trip((enum command_id)id);
            reply_refuse(&reply, (enum hf_error)code, NULL);
            expect_round_trip((enum command_id)id);
        }
    }
}

static void fields_at_the_end_may_be_missing(void **state)
{
    (void)state;
    for (size_t count = 1; count <= command_table[SEATS_GET].field_count; count++) {
        fill(&command_table[SEATS_GET], 0, count);
        expect_round_trip(SEATS_GET);
    }
}

static void nobody_and_ten_thousand_are_admitted(void **state)
{
    (void)state;
    expect_round_trip(ROOM_ADMIT);
    assert_true(reply_reserve(&reply, ROOM_ADMIT_MAX * 2, (size_t)ROOM_ADMIT_MAX * 2 * HF_ID_SIZE));
    fill(&command_table[ROOM_ADMIT], 0, (size_t)ROOM_ADMIT_MAX * 2);
    expect_round_trip(ROOM_ADMIT);
}

static void a_response_may_be_any_bytes_up_to_its_bound(void **state)
{
    static char response[RESPONSE_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof response; i++) {
        response[i] = (char)i;
    }
    assert_true(reply_reserve(&reply, 2, sizeof response + 16));
    reply.lead = 2;
    reply_word(&reply, "COMPLETED");
    reply_text(&reply, response, sizeof response);
    expect_round_trip(IDEM_BEGIN);
    reply_word(&reply, "NEW");
    expect_round_trip(IDEM_BEGIN);
}

static void refusals_with_figures_find_their_code(void **state)
{
    (void)state;
    reply_refuse(&reply, HF_QUOTA_EXCEEDED, "over");
    reply.lead = -1;
    reply_number(&reply, 90);
    reply_number(&reply, 100);
    expect_round_trip(QUOTA_RESERVE);
    reply_refuse(&reply, HF_IN_PROGRESS, "wait");
    reply.lead = 0;
    reply_word(&reply, "PROCESSING");
    expect_round_trip(IDEM_BEGIN);
}

/* ---- what other servers say ------------------------------------------------------------------ */

static void expect(enum command_id id, const char *text, enum resp_state expected)
{
    size_t size = 0;

    if (decode(id, hf_text(text), &size) != expected) {
        fail_msg("%s to %s", text, command_table[id].name);
    }
}

static void expect_refusal(const char *text, enum hf_error code, const char *message)
{
    char heard[MESSAGE_SIZE];

    expect(SEATS_OPEN, text, RESP_DONE);
    assert_string_equal(hf_error_name(decoded.code), hf_error_name(code));
    reply_message(&decoded, heard);
    assert_string_equal(heard, message);
}

static void error_lines_find_their_code(void **state)
{
    (void)state;
    expect_refusal("-ERR what?\r\n", HF_ERR, "what?");
    expect_refusal("-NOAUTH who?\r\n", HF_UNAUTHORIZED, "who?");
    expect_refusal("-WRONGPASS no\r\n", HF_UNAUTHORIZED, "no");
    expect_refusal("-NOPERM you?\r\n", HF_FORBIDDEN, "you?");
    expect_refusal("-LOADING 12 # %s\r\n", HF_LOADING, "12 # %s"); /* no figures in others' words */
    expect_refusal("-BUSY\r\n", HF_BUSY, error_text(HF_BUSY));
    expect_refusal("-WRONGTYPE of key\r\n", HF_ERR, "WRONGTYPE of key");
    expect_refusal("-\r\n", HF_ERR, error_text(HF_ERR));
    expect_refusal("*3\r\n:0\r\n$5\r\nNEWER\r\n$4\r\nwhy?\r\n", HF_ERR, "why?");
}

static void messages_are_cut_and_made_plain(void **state)
{
    char line[2000], message[MESSAGE_SIZE];
    size_t size;

    (void)state;
    expect_refusal("-ERR caf\xc3\xa9\tlatte\r\n", HF_ERR, "caf???latte");
    memset(line, 'x', sizeof line);
    memcpy(line, "-ERR ", 5);
    memcpy(line + sizeof line - 2, "\r\n", 2);
    assert_int_equal(decode(SEATS_OPEN, (struct hf_bytes){line, sizeof line}, &size), RESP_DONE);
    assert_int_equal(reply_message(&decoded, message), MESSAGE_SIZE - 1);
    assert_int_equal(strlen(message), MESSAGE_SIZE - 1);
}

static void a_copy_keeps_the_servers_words(void **state)
{
    char message[MESSAGE_SIZE];

    (void)state;
    expect(SEATS_OPEN, "-IOERR disk # full\r\n", RESP_DONE);
    assert_true(reply_copy(&reply, &decoded));
    reply_clear(&decoded);
    reply_message(&reply, message);
    assert_string_equal(message, "disk # full");
}

static void nil_is_the_rows_own_or_wrong(void **state)
{
    (void)state;
    expect(LOCK_TRY, "*-1\r\n", RESP_DONE);
    assert_int_equal(decoded.code, HF_LOCKED);
    expect(LOCK_GET, "$-1\r\n", RESP_DONE);
    assert_int_equal(decoded.code, HF_NOT_FOUND);
    expect(SEATS_OPEN, "*-1\r\n", RESP_BROKEN);
    expect(SEM_CARD, "$-1\r\n", RESP_BROKEN);
}

static void what_does_not_fit_the_row_is_no_reply(void **state)
{
    static const struct {
        enum command_id id;
        const char *text;
    } cases[] = {
        {SEATS_OPEN, "+OK\r\n"},
        {SEATS_OPEN, ":1\r\n"},
        {SEATS_OPEN, "$2\r\nOK\r\n"},
        {SEATS_OPEN, "*0\r\n"},
        {SEATS_OPEN, "*2\r\n:1\r\n:5\r\n"},
        {SEATS_OPEN, "*4\r\n:1\r\n:5\r\n:5\r\n:5\r\n"},
        {SEATS_OPEN, "*3\r\n:1\r\n:5\r\n$1\r\n5\r\n"},
        {SEATS_OPEN, "*3\r\n:1\r\n:5\r\n$-1\r\n"},
        {SEATS_OPEN, "*3\r\n:1\r\n:5\r\n*0\r\n"},
        {SEATS_OPEN, "*3\r\n:1\r\n:5\r\n+5\r\n"},
        {SEATS_OPEN, "*3\r\n:2\r\n:5\r\n:5\r\n"}, /* a lead that its row does not know */
        {SEATS_OPEN, "*3\r\n:-1\r\n:5\r\n:5\r\n"},
        {SEATS_OPEN, "*3\r\n:0\r\n:5\r\n:5\r\n"},
        {SEATS_OPEN, "*3\r\n$1\r\n1\r\n:5\r\n:5\r\n"},
        {SEATS_OPEN, "*3\r\n:0\r\n$8\r\nSOLD_OUT\r\n:5\r\n"},
        {SEATS_OPEN, "*1000000\r\n:1\r\n"},
        {QUOTA_RESERVE, "*3\r\n:3\r\n:5\r\n:5\r\n"},
        {QUOTA_RESERVE, "*3\r\n:-2\r\n:5\r\n:5\r\n"},
        {QUOTA_RESERVE, "*3\r\n:4294967297\r\n:5\r\n:5\r\n"},
        {SEM_CARD, "*1\r\n:1\r\n"},
        {SEM_CARD, "$1\r\n1\r\n"},
        {SEATS_USER, "*3\r\n:1\r\n:0\r\n:0\r\n"},
        {SEATS_ZONE, "*2\r\n$3\r\nmax\r\n:5\r\n"},
        {SEATS_ZONE, "*1\r\n$8\r\ncapacity\r\n"},
        {SEATS_ZONE, "*0\r\n"},
        {ROOM_ADMIT, "*1\r\n$3\r\nann\r\n"},
        {ROOM_ADMIT, "*20002\r\n$3\r\nann\r\n"},
        {IDEM_BEGIN, "*1\r\n:1\r\n"},
        {IDEM_BEGIN, "*2\r\n:1\r\n:1\r\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(cases[i].id, cases[i].text, RESP_BROKEN);
        assert_int_equal(decoded.count, 0);
    }
}

/* What goes into a struct has to fit there. */
static void texts_longer_than_their_place_are_no_reply(void **state)
{
    (void)state;
    expect(SEATS_CONFIRM, "*3\r\n:1\r\n$15\r\nCONFIRMEDCONFIR\r\n$10\r\n0123456789\r\n", RESP_DONE);
    expect(SEATS_CONFIRM, "*3\r\n:1\r\n$16\r\nCONFIRMEDCONFIRM\r\n$10\r\n0123456789\r\n",
           RESP_BROKEN);
    expect(ROOM_ADMIT, "*2\r\n$3\r\nann\r\n$33\r\n012345678901234567890123456789012\r\n",
           RESP_BROKEN);
}

static void what_is_no_resp_is_no_reply(void **state)
{
    static const char *const texts[] = {
        "\r\n",
        "\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "*\r\n",
        "*x\r\n",
        "*-2\r\n",
        "$-2\r\n",
        "*3\n",
        ":1\n",
        ": 1\r\n",
        "*3\r:\n",
        ":1x\r\n",
        "*9999999999\r\n",
        ":--1\r\n",
        "%2\r\n",
        "_\r\n",
        "#t\r\n",
        "$9999999\r\n",
        "*3\r\n:1\r\nx\r\n",
        ":123456789012345678901\r\n",
        "-ERR a\rb\r\n",
    };
    char line[RESP_LINE_MAX + 1];
    size_t size;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect(SEATS_OPEN, texts[i], RESP_BROKEN);
    }
    expect(LOCK_TRY, "*2\r\n$1\r\nabc", RESP_BROKEN); /* a text that does not end where it should */
    memset(line, '-', sizeof line);
    assert_int_equal(decode(SEATS_OPEN, (struct hf_bytes){line, sizeof line}, &size), RESP_BROKEN);
}

static void *nothing(struct memory *none, void *block, size_t old_size, size_t new_size)
{
    (void)none;
    (void)old_size;
    if (new_size == 0) {
        free(block);
    }
    return NULL;
}

static void a_reply_without_memory_says_so(void **state)
{
    void *(*resize)(struct memory *, void *, size_t, size_t) = memory.resize;

    (void)state;
    assert_true(reply_reserve(&reply, 1000, 100000));
    fill(&command_table[ROOM_ADMIT], 0, 1000);
    reply_to_resp(&reply, &command_table[ROOM_ADMIT], 2, &out);
    memory.resize = nothing;
    size_t size;
    assert_int_equal(decode(ROOM_ADMIT, (struct hf_bytes){out.data, out.size}, &size),
                     RESP_NO_MEMORY);
    expect(SEATS_OPEN, "*3\r\n:1\r\n:5\r\n:5\r\n", RESP_DONE); /* what is short needs none */
    expect(SEATS_OPEN, "-ERR short\r\n", RESP_DONE);
    memory.resize = resize;
}

/* ---- whole answers --------------------------------------------------------------------------- */

static void an_answer_is_passed_over_with_all_its_elements(void **state)
{
    static const struct {
        const char *text;
        enum resp_state state;
        size_t size;
    } cases[] = {
        {"+OK\r\n+NEXT", RESP_DONE, 5},
        {"$2\r\nOK\r\n", RESP_DONE, 8},
        {"*-1\r\n", RESP_DONE, 5},
        {"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n:5", RESP_DONE, 19},
        {"*1\r\n*1\r\n*1\r\n:1\r\n", RESP_BROKEN, 0},
        {"*3\r\n:1\r\n", RESP_MORE, 8 + 1 + 4},
        {"$5\r\nab", RESP_MORE, 11},
        {"", RESP_MORE, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t offset = 0;
        assert_int_equal(resp_skip(hf_text(cases[i].text), &offset), cases[i].state);
        if (cases[i].state != RESP_BROKEN) {
            assert_int_equal(offset, cases[i].size);
        }
    }
}

/* ---- commands as a client sends them --------------------------------------------------------- */

static void expect_sent(const char *line, const char *expected)
{
    struct hf_bytes words[32];
    struct command command;
    struct problem problem;
    size_t count = 0;

    while (*line != '\0') {
        size_t size = strcspn(line, " ");
        words[count++] = (struct hf_bytes){line, size};
        line += size + (line[size] == ' ');
    }
    assert_int_equal(command_from_words(&command, count, words, &problem), HF_OK);
    command_to_resp(&command, &out);
    expect_written(expected);
}

static void a_command_is_an_array_of_its_words(void **state)
{
    (void)state;
    expect_sent("sem.card gpu", "*2\r\n$8\r\nSEM.CARD\r\n$3\r\ngpu\r\n");
    expect_sent("LOCK.TRY seat 1500ms ID me",
                "*5\r\n$8\r\nLOCK.TRY\r\n$4\r\nseat\r\n$6\r\n1500ms\r\n$2\r\nID\r\n$2\r\nme\r\n");
    expect_sent("SEM.ACQUIRE gpu me 2 WAIT 5s TTL 90s",
                "*8\r\n$11\r\nSEM.ACQUIRE\r\n$3\r\ngpu\r\n$2\r\nme\r\n$1\r\n2\r\n$3\r\nTTL\r\n"
                "$2\r\n90\r\n$4\r\nWAIT\r\n$4\r\n5000\r\n");
    expect_sent("SEATS.RESERVE e z b u 1 0 LIFETIME",
                "*8\r\n$13\r\nSEATS.RESERVE\r\n$1\r\ne\r\n$1\r\nz\r\n$1\r\nb\r\n$1\r\nu\r\n"
                "$1\r\n1\r\n$1\r\n0\r\n$8\r\nLIFETIME\r\n");
}

/* Each required argument a small number or "5", which is an id, too: what is sent decodes to the
 * same command. */
static void every_command_decodes_to_itself(void **state)
{
    (void)state;
    for (int id = 0; id < COMMAND_COUNT; id++) {
        const struct command_spec *spec = &command_table[id];
        struct hf_bytes words[COMMAND_WORDS_MAX] = {hf_text(spec->name)};
        struct hf_bytes read[COMMAND_WORDS_MAX];
        struct command command, same;
        struct problem problem;
        struct resp_item item;
        size_t offset = 0;
        for (size_t i = 0; i < spec->required; i++) {
            bool choice = spec->args[i].type == ARG_CHOICE;
            words[i + 1] = choice ? last_choice(&spec->args[i]) : hf_text("5");
        }
        memset(&command, 0, sizeof command);
        memset(&same, 0, sizeof same);
        assert_int_equal(command_from_words(&command, spec->required + 1, words, &problem), HF_OK);
        command_to_resp(&command, &out);
        struct hf_bytes bytes = {out.data, out.size};
        assert_int_equal(resp_read(bytes, &offset, &item), RESP_DONE);
        size_t count = (size_t)item.number;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(resp_read(bytes, &offset, &item), RESP_DONE);
            read[i] = item.text;
        }
        assert_int_equal(offset, out.size);
        assert_int_equal(command_from_words(&same, count, read, &problem), HF_OK);
        assert_ptr_equal(same.spec, command.spec);
        for (size_t i = 0; i < spec->arg_count; i++) {
            const char *a = (const char *)&command.args + spec->args[i].offset;
            const char *b = (const char *)&same.args + spec->args[i].offset;
            if (spec->args[i].type >= ARG_COUNT && spec->args[i].type <= ARG_WAIT) {
                assert_memory_equal(a, b, sizeof(int64_t));
            }
        }
        buffer_clear(&out);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_both, teardown_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_row_reads_what_it_writes),
        TEST(every_row_reads_every_refusal),
        TEST(fields_at_the_end_may_be_missing),
        TEST(nobody_and_ten_thousand_are_admitted),
        TEST(a_response_may_be_any_bytes_up_to_its_bound),
        TEST(refusals_with_figures_find_their_code),
        TEST(error_lines_find_their_code),
        TEST(messages_are_cut_and_made_plain),
        TEST(a_copy_keeps_the_servers_words),
        TEST(nil_is_the_rows_own_or_wrong),
        TEST(what_does_not_fit_the_row_is_no_reply),
        TEST(texts_longer_than_their_place_are_no_reply),
        TEST(what_is_no_resp_is_no_reply),
        TEST(a_reply_without_memory_says_so),
        TEST(an_answer_is_passed_over_with_all_its_elements),
        TEST(a_command_is_an_array_of_its_words),
        TEST(every_command_decodes_to_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
