/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands written out again: as one would type them, as JSON and as RESP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "command/words.h"

static struct memory memory;
static struct buffer out;

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    buffer_init(&out, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_free(&out);
    return memory.used != 0;
}

typedef void writer(const struct command *command, struct buffer *out);

static void write_words(writer *write, size_t count, const struct hf_bytes *words)
{
    struct command command;

    assert_int_equal(command_from_words(&command, count, words, NULL), HF_OK);
    buffer_clear(&out);
    write(&command, &out);
    assert_false(out.failed);
    buffer_byte(&out, '\0');
}

/* Words separated by single spaces. */
static const char *written(writer *write, const char *line)
{
    struct hf_bytes words[COMMAND_WORDS_MAX];
    size_t count = 0;

    while (*line != '\0') {
        size_t size = strcspn(line, " ");
        words[count++] = (struct hf_bytes){line, size};
        line += size + (line[size] == ' ');
    }
    write_words(write, count, words);
    return out.data;
}

/* IDEM.COMPLETE k with any bytes as its response. */
static const char *written_response(writer *write, struct hf_bytes response)
{
    const struct hf_bytes words[] = {HF_TEXT("IDEM.COMPLETE"), HF_TEXT("k"), response};

    write_words(write, 3, words);
    return out.data;
}

/* The response in quotes, as it is typed. */
static void expect_quoted(struct hf_bytes response, const char *quoted)
{
    const char *text = written_response(command_to_words, response);

    assert_memory_equal(text, "IDEM.COMPLETE k ", 16);
    assert_string_equal(text + 16, quoted);
}

static void expect_json(struct hf_bytes response, const char *member)
{
    const char *text = written_response(command_to_json, response);

    assert_memory_equal(text, "{\"key\":\"k\",", 11);
    assert_string_equal(text + 11, member);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void what_was_typed_is_written_again(void **state)
{
    static const char *const lines[] = {
        "SEATS.OPEN gala floor 500",
        "SEATS.OPEN gala floor 0",
        "SEATS.RESERVE gala floor b u 2 4",
        "SEATS.RESERVE gala floor b u 2 4 SHOW s PRICE 7 TTL 30 LIFETIME",
        "SEATS.RESERVE gala floor b u 2 4 TTL 1500ms",
        "SEM.ACQUIRE s a 1 WAIT 3000",
        "STOCK.LOAD p 10 SHARDS 4 WATERMARK 2 POLICY steal",
        "STOCK.ADJUST p -5 count",
        "QUOTA.COMMIT t h",
        "QUOTA.COMMIT t h AMOUNT 0",
        "QUOTA.COMMIT t h AMOUNT 7",
    };
    (void)state;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_string_equal(written(command_to_words, lines[i]), lines[i]);
    }
}

static void what_is_the_default_is_left_out(void **state)
{
    (void)state;
    assert_string_equal(written(command_to_words, "seats.reserve e z b u 2 4 price 0 ttl 600s"),
                        "SEATS.RESERVE e z b u 2 4");
    assert_string_equal(written(command_to_words, "SEATS.RESERVE e z b u 2 4 TTL 600001ms"),
                        "SEATS.RESERVE e z b u 2 4 TTL 600001ms");
    assert_string_equal(written(command_to_words, "SEATS.RESERVE e z b u 2 4 PRICE 1 TTL 10m"),
                        "SEATS.RESERVE e z b u 2 4 PRICE 1");
}

static void what_is_no_plain_word_stands_in_quotes(void **state)
{
    (void)state;
    expect_quoted(hf_text("plain!~"), "plain!~");
    expect_quoted(hf_text(""), "\"\"");
    expect_quoted(hf_text("a b"), "\"a b\"");
    expect_quoted(hf_text("\""), "\"\\\"\"");
    expect_quoted(hf_text("\\"), "\"\\\\\"");
    expect_quoted(hf_text("caf\xc3\xa9"), "caf\xc3\xa9");
}

static void what_cannot_be_printed_is_escaped(void **state)
{
    (void)state;
    expect_quoted((struct hf_bytes)HF_TEXT("\0"), "\"\\x00\"");
    expect_quoted(hf_text("\x1f!"), "\"\\x1f!\"");
    expect_quoted(hf_text("~\x7f"), "\"~\\x7f\"");
    expect_quoted(hf_text("\x9b"), "\"\\x9b\"");
    expect_quoted(hf_text("\xc2\x9f\xc2\xa0"), "\"\\xc2\\x9f\xc2\xa0\"");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_has_the_fields_by_name(void **state)
{
    (void)state;
    assert_string_equal(written(command_to_json, "SEATS.OPEN gala floor 500"),
                        "{\"event\":\"gala\",\"zone\":\"floor\",\"capacity\":500}");
    assert_string_equal(
        written(command_to_json, "SEATS.RESERVE e z b u 2 4 TTL 30 LIFETIME"),
        "{\"event\":\"e\",\"zone_id\":\"z\",\"booking_id\":\"b\",\"user_id\":\"u\",\"quantity\":2,"
        "\"max_per_user\":4,\"ttl_seconds\":30,\"lifetime\":true}");
    assert_string_equal(written(command_to_json, "SEATS.EXTEND e b 1500ms"),
                        "{\"event\":\"e\",\"id\":\"b\",\"ttl_seconds\":\"1500ms\"}");
    assert_string_equal(written(command_to_json, "SEM.ACQUIRE s a 1 WAIT 3000"),
                        "{\"name\":\"s\",\"id\":\"a\",\"limit\":1,\"wait_ms\":3000}");
}

static void json_escapes_or_gives_hexadecimal(void **state)
{
    (void)state;
    expect_json(hf_text(" \"\\"), "\"response\":\" \\\"\\\\\"}");
    expect_json(hf_text("\x1f!"), "\"response\":\"\\u001f!\"}");
    expect_json(hf_text("\x9b\x07"), "\"response_hex\":\"9b07\"}");
}

/* ---- RESP ------------------------------------------------------------------------------------ */

static void resp_is_what_a_client_sends(void **state)
{
    (void)state;
    assert_string_equal(written(command_to_resp, "SEATS.EXTEND e b 1500ms"),
                        "*4\r\n$12\r\nSEATS.EXTEND\r\n$1\r\ne\r\n$1\r\nb\r\n$6\r\n1500ms\r\n");
    assert_string_equal(
        written(command_to_resp, "SEATS.RESERVE e z b u 2 4 TTL 30 LIFETIME"),
        "*10\r\n$13\r\nSEATS.RESERVE\r\n$1\r\ne\r\n$1\r\nz\r\n$1\r\nb\r\n$1\r\nu\r\n$1\r\n2\r\n"
        "$1\r\n4\r\n$3\r\nTTL\r\n$2\r\n30\r\n$8\r\nLIFETIME\r\n");
    assert_string_equal(written_response(command_to_resp, hf_text("")),
                        "*3\r\n$13\r\nIDEM.COMPLETE\r\n$1\r\nk\r\n$0\r\n\r\n");
}

static void a_secret_is_sent_and_not_shown(void **state)
{
    static const char line[] = "SEATS.CHECKOUT e z u 1 4 TOKEN tok WAIT 5";

    (void)state;
    assert_string_equal(written(command_to_words, line), "SEATS.CHECKOUT e z u 1 4 WAIT 5");
    assert_null(strstr(written(command_to_json, line), "tok"));
    assert_non_null(strstr(written(command_to_resp, line), "$3\r\ntok\r\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_typed_is_written_again),
        TEST(what_is_the_default_is_left_out),
        TEST(what_is_no_plain_word_stands_in_quotes),
        TEST(what_cannot_be_printed_is_escaped),
        TEST(json_has_the_fields_by_name),
        TEST(json_escapes_or_gives_hexadecimal),
        TEST(resp_is_what_a_client_sends),
        TEST(a_secret_is_sent_and_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
