/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests in RESP: what is read, what is refused, and that it makes no difference where the bytes
 * were cut. Requests are read from blocks of exactly their size, so that a sanitizer sees any look
 * past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/resp/resp_request.h"

static const struct resp_limits limits = {.words = 10, .word_bytes = 1000, .request_bytes = 4000};

static enum resp_result read_request(const char *text, size_t size, struct resp_request *request)
{
    char *block = malloc(size > 0 ? size : 1);

    assert_non_null(block);
    memcpy(block, text, size);
    enum resp_result result = resp_request(block, size, &limits, request);
    /* What the words say, as views of the text itself. */
    for (size_t i = 0; result == RESP_REQUEST && i < request->count; i++) {
        const char *data = request->words[i].data;
        if (data >= block && data <= block + size) {
            request->words[i].data = text + (data - block);
        }
    }
    free(block);
    return result;
}

/* The words of a request, each in brackets; then that every shorter part of it is incomplete. */
static void assert_words(const char *text, const char *expected)
{
    struct resp_request request;
    char words[512] = "";
    size_t size = strlen(text);

    assert_int_equal(read_request(text, size, &request), RESP_REQUEST);
    assert_int_equal(request.used, size);
    for (size_t i = 0; i < request.count; i++) {
        size_t at = strlen(words);
        snprintf(words + at, sizeof words - at, "[%.*s]", (int)request.words[i].size,
                 request.words[i].data);
    }
    assert_string_equal(words, expected);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(read_request(text, cut, &request), RESP_INCOMPLETE);
    }
}

/* Malformed whole, and malformed or incomplete when cut, but never a request. */
static void assert_malformed(const char *text, const char *problem)
{
    struct resp_request request;
    size_t size = strlen(text);

    assert_int_equal(read_request(text, size, &request), RESP_MALFORMED);
    assert_non_null(strstr(request.problem, problem));
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_not_equal(read_request(text, cut, &request), RESP_REQUEST);
    }
}

static void arrays_of_bulk_strings_are_read(void **state)
{
    (void)state;
    assert_words("*1\r\n$4\r\nPING\r\n", "[PING]");
    assert_words("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "[ECHO][]");
    assert_words("*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\n", "[ECHO][\r\n\r\n]");
    assert_words("*0\r\n", "");
    assert_words("*-1\r\n", "");
}

static void words_on_a_line_are_read(void **state)
{
    (void)state;
    assert_words("PING\r\n", "[PING]");
    assert_words("PING\n", "[PING]");
    assert_words("  SEATS.ZONE  gala\tfloor \r\n", "[SEATS.ZONE][gala][floor]");
    assert_words("\r\n", "");
    assert_words("ECHO \"a b\\x41\\n\\\"\" 'it\\s' \"\"\r\n", "[ECHO][a bA\n\"][it\\s][]");
}

static void only_the_first_request_is_read(void **state)
{
    struct resp_request request;
    const char *text = "*1\r\n$4\r\nPING\r\nECHO x\r\n";
    (void)state;

    assert_int_equal(read_request(text, strlen(text), &request), RESP_REQUEST);
    assert_int_equal(request.used, strlen("*1\r\n$4\r\nPING\r\n"));
    assert_int_equal(request.count, 1);
}

static void lengths_beyond_the_bounds_are_refused(void **state)
{
    (void)state;
    assert_malformed("*2147483647\r\n", "invalid multibulk length");
    assert_malformed("*11\r\n", "invalid multibulk length");
    assert_malformed("*-2\r\n", "invalid multibulk length");
    assert_malformed("*1\r\n$-2\r\n", "invalid bulk length");
    assert_malformed("*1\r\n$-1\r\n", "invalid bulk length");
    assert_malformed("*1\r\n$1001\r\n", "invalid bulk length");
    assert_malformed("*1\r\n$99999999999999999999\r\n", "invalid bulk length");
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    assert_malformed("*\r\n", "invalid multibulk length");
    assert_malformed("*-\r\n", "invalid multibulk length");
    assert_malformed("*1x\r\n", "invalid multibulk length");
    assert_malformed("*1\rx", "invalid multibulk length");
    assert_malformed("*1\n$4\r\nPING\r\n", "invalid multibulk length");
    assert_malformed("*1\r\n$ 4\r\nPING\r\n", "invalid bulk length");
    assert_malformed("*01\r\n$4\r\nPING\r\n", "invalid multibulk length");
    assert_malformed("*1\r\n$04\r\nPING\r\n", "invalid bulk length");
    assert_malformed("*1\r\n$4\n\nPING\r\n", "invalid bulk length");
    assert_malformed("*1\r\n$4\r\rPING\r\n", "invalid bulk length");
    assert_malformed("*1\r\n$4x\r\nPING\r\n", "invalid bulk length");
    assert_malformed("*1\r\n+PING\r\n", "expected '$'");
    assert_malformed("*1\r\n$4\r\nPINGxx", "does not end");
}

static void a_line_that_never_ends_or_a_quote_that_does_not_is_refused(void **state)
{
    struct resp_request request;
    char *line = malloc(RESP_INLINE_MAX);
    (void)state;

    assert_non_null(line);
    memset(line, 'x', RESP_INLINE_MAX);
    assert_int_equal(read_request(line, RESP_INLINE_MAX, &request), RESP_MALFORMED);
    assert_int_equal(read_request(line, 3999, &request), RESP_INCOMPLETE);
    free(line);
    assert_malformed("ECHO \"a\r\n", "unbalanced quotes");
    assert_malformed("ECHO 'a'b\r\n", "unbalanced quotes");
    assert_malformed("a b c d e f g h i j k\r\n", "too many words");
}

static void a_request_that_grows_without_end_is_refused(void **state)
{
    struct resp_request request;
    char text[4100];
    (void)state;

    size_t size = (size_t)snprintf(text, sizeof text, "*10\r\n");
    for (int i = 0; i < 4; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "$1000\r\n%01000d\r\n", 0);
    }
    assert_int_equal(read_request(text, size, &request), RESP_MALFORMED);
    assert_non_null(strstr(request.problem, "too big"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_bulk_strings_are_read),
        cmocka_unit_test(words_on_a_line_are_read),
        cmocka_unit_test(only_the_first_request_is_read),
        cmocka_unit_test(lengths_beyond_the_bounds_are_refused),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(a_line_that_never_ends_or_a_quote_that_does_not_is_refused),
        cmocka_unit_test(a_request_that_grows_without_end_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
