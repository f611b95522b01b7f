/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the words of one RESP request, an array or an inline command, in bytes as they come. */
#include "server/resp/resp_request.h"

#include "base/text.h"

/* "2147483647" and its sign; longer numbers are none. */
#define DIGITS_MAX 11

static enum resp_result malformed(struct resp_request *request, const char *problem)
{
    request->problem = problem;
    return RESP_MALFORMED;
}

/* The number of a head such as "*3\r\n" at `at`, which is past its type. NULL if the end is not
 * there yet, or, with *bad, if it is no number. */
static const char *read_number(const char *at, const char *end, int64_t *number, bool *bad)
{
    const char *start = at;
    bool negative = at < end && *at == '-';
    int64_t value = 0;

    at += negative;
    while (at < end && *at >= '0' && *at <= '9' && at - start < DIGITS_MAX) {
        value = value * 10 + (*at++ - '0');
    }
    if (at == end) {
        return NULL;
    }
    /* As Redis has it, no zero stands in front: one number is written in one way. */
    bool zero_first = start[negative] == '0' && (negative || at - start > 1);
    if (at == start + negative || zero_first || *at != '\r' || (at + 1 < end && at[1] != '\n')) {
        *bad = true;
        return NULL;
    }
    if (at + 1 == end) {
        return NULL;
    }
    *number = negative ? -value : value;
    return at + 2;
}

/* The same for 1 to 99 with more behind it, as nearly every head is. NULL for any other:
 * read_number() reads those, and knows what is wrong with them. */
static inline const char *read_short(const char *at, const char *end, int64_t *number)
{
    if (end - at < 4 || at[0] < '1' || at[0] > '9') {
        return NULL;
    }
    *number = at[0] - '0';
    at++;
    if (*at >= '0' && *at <= '9') {
        *number = *number * 10 + (*at++ - '0');
    }
    return at[0] == '\r' && at[1] == '\n' ? at + 2 : NULL;
}

/* ---- an array of bulk strings ---------------------------------------------------------------- */

/* Why there is no bulk string of so many bytes at `at`: `problem` is set, unless there are just not
 * enough bytes. */
static void explain_bulk(const char *at, const char *end, const struct resp_limits *limits,
                         struct resp_request *request)
{
    int64_t size;
    bool bad = false;

    if (at == end) {
        return;
    }
    if (*at != '$') {
        request->problem = "Protocol error: expected '$'";
        return;
    }
    at = read_number(at + 1, end, &size, &bad);
    if (bad || (at != NULL && (size < 0 || size > (int64_t)limits->word_bytes))) {
        request->problem = "Protocol error: invalid bulk length";
    } else if (at != NULL && end - at >= size + 2) {
        request->problem = "Protocol error: a bulk string does not end where it said";
    }
}

/* One bulk string, which is told behind it; NULL if there is none. */
static inline const char *read_bulk(const char *at, const char *end,
                                    const struct resp_limits *limits, struct hf_bytes *word)
{
    int64_t size;
    bool bad = false;

    if (at == end || *at != '$') {
        return NULL;
    }
    const char *data = read_short(at + 1, end, &size);
    if (data == NULL) {
        data = read_number(at + 1, end, &size, &bad);
    }
    if (data == NULL || size < 0 || size > (int64_t)limits->word_bytes || end - data < size + 2 ||
        data[size] != '\r' || data[size + 1] != '\n') {
        return NULL;
    }
    *word = (struct hf_bytes){data, (size_t)size};
    return data + size + 2;
}

static enum resp_result read_array(const char *data, const char *end,
                                   const struct resp_limits *limits, struct resp_request *request)
{
    int64_t count;
    bool bad = false;
    const char *at = read_short(data + 1, end, &count);

    if (at == NULL) {
        at = read_number(data + 1, end, &count, &bad);
    }
    if (bad || (at != NULL && (count > (int64_t)limits->words || count < -1))) {
        return malformed(request, "Protocol error: invalid multibulk length");
    }
    if (at == NULL) {
        return RESP_INCOMPLETE;
    }
    for (int64_t i = 0; i < count; i++) {
        const char *next = read_bulk(at, end, limits, &request->words[i]);
        if (next == NULL) {
            request->problem = NULL;
            explain_bulk(at, end, limits, request);
            return request->problem != NULL ? RESP_MALFORMED : RESP_INCOMPLETE;
        }
        at = next;
    }
    request->count = count > 0 ? (size_t)count : 0;
    request->used = (size_t)(at - data);
    return RESP_REQUEST;
}

/* ---- words on a line ------------------------------------------------------------------------- */

/* What stands after a backslash in double quotes; moves past it. */
static char escaped(const char **at, const char *end)
{
    char c = *(*at)++;

    if (c == 'x' && end - *at >= 2 && text_hex_digit((*at)[0]) >= 0 &&
        text_hex_digit((*at)[1]) >= 0) {
        int value = text_hex_digit((*at)[0]) * 16 + text_hex_digit((*at)[1]);
        *at += 2;
        return (char)value;
    }
    return c == 'n'   ? '\n'
           : c == 'r' ? '\r'
           : c == 't' ? '\t'
           : c == 'b' ? '\b'
           : c == 'a' ? '\a'
                      : c;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* One word, copied to *out; false if its quotes do not match. */
static bool read_word(const char **from, const char *end, char **out)
{
    const char *at = *from;
    char quote = 0;

    while (at < end && (quote != 0 || !is_space(*at))) {
        if (quote == 0 && (*at == '"' || *at == '\'')) {
            quote = *at++;
        } else if (quote != 0 && *at == quote) {
            quote = 0;
            at++;
            if (at < end && !is_space(*at)) {
                return false;
            }
        } else if (quote == '"' && *at == '\\' && end - at >= 2) {
            at++;
            *(*out)++ = escaped(&at, end);
        } else {
            *(*out)++ = *at++;
        }
    }
    *from = at;
    return quote == 0;
}

static enum resp_result read_line(const char *data, size_t size, const struct resp_limits *limits,
                                  struct resp_request *request)
{
    size_t searched = size < RESP_INLINE_MAX ? size : RESP_INLINE_MAX;
    const char *end = memchr(data, '\n', searched);
    char *out = request->line;

    if (end == NULL) {
        return size < RESP_INLINE_MAX
                   ? RESP_INCOMPLETE
                   : malformed(request, "Protocol error: too big inline request");
    }
    request->used = (size_t)(end + 1 - data);
    end -= end > data && end[-1] == '\r';
    while (data < end) {
        if (is_space(*data)) {
            data++;
            continue;
        }
        if (request->count == limits->words) {
            return malformed(request, "Protocol error: too many words on a line");
        }
        char *start = out;
        if (!read_word(&data, end, &out)) {
            return malformed(request, "Protocol error: unbalanced quotes in request");
        }
        request->words[request->count++] = (struct hf_bytes){start, (size_t)(out - start)};
    }
    return RESP_REQUEST;
}

enum resp_result resp_request(const char *data, size_t size, const struct resp_limits *limits,
                              struct resp_request *request)
{
    enum resp_result result = RESP_INCOMPLETE;

    request->count = 0;
    if (size > 0 && data[0] == '*') {
        result = read_array(data, data + size, limits, request);
    } else if (size > 0) {
        result = read_line(data, size, limits, request);
    }
    size_t all = result == RESP_REQUEST ? request->used : size;
    if (result != RESP_MALFORMED && all > limits->request_bytes) {
        return malformed(request, "Protocol error: the request is too big");
    }
    return result;
}
