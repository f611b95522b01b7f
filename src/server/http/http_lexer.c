/* SPDX-License-Identifier: Apache-2.0
 *
 * The states follow a request from its first byte to its last:
 *
 *     START > METHOD > TARGET > VERSION > VERSION_LF
 *     ┌> LINE > NAME > VALUE > VALUE_LF ┐
 *     └─────────────────────────────────┘  LINE > END_LF > DONE
 *     SIZE > (EXTENSION …) > SIZE_LF > DATA > DATA_CR > DATA_LF > SIZE …, after size 0: LINE …
 *
 * An extension of a chunk is ;name, ;name=token or ;name="text", with spaces around the name and
 * the value: EXTENSION > EXTENSION_NAME > EXTENSION_VALUE > EXTENSION_TOKEN or EXTENSION_QUOTED. */
#include "server/http/http_lexer.h"

#include "base/byte_run.h"
#include "base/text.h"

enum {
    START,
    START_LF,
    METHOD,
    TARGET,
    VERSION,
    VERSION_LF,
    LINE,
    NAME,
    VALUE,
    VALUE_LF,
    END_LF,
    SIZE,
    EXTENSION,
    EXTENSION_NAME,
    EXTENSION_NAMED,
    EXTENSION_VALUE,
    EXTENSION_TOKEN,
    EXTENSION_QUOTED,
    EXTENSION_ESCAPED,
    EXTENSION_END,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    DONE = HTTP_LEXER_DONE
};

void http_lexer_head(struct http_lexer *lexer)
{
    *lexer = (struct http_lexer){.state = START};
}

void http_lexer_chunks(struct http_lexer *lexer, uint64_t most, struct buffer *out)
{
    *lexer = (struct http_lexer){.state = SIZE, .most = most, .out = out};
}

/* What a byte can be part of. */
enum { IN_TOKEN = 1, IN_TARGET = 2, IN_VALUE = 4 };

#define PUNCTUATION (IN_TARGET | IN_VALUE)
#define TOKEN (IN_TOKEN | IN_TARGET | IN_VALUE)

/* A token has letters, digits and !#$%&'*+-.^_`|~; a target all that is visible; a value spaces,
 * tabs and all bytes beyond ASCII as well. */
static const uint8_t classes[256] = {
    ['\t'] = IN_VALUE,
    [' '] = IN_VALUE,
    ['!'] = TOKEN,
    ['"'] = PUNCTUATION,
    ['#' ... '\''] = TOKEN,
    ['('] = PUNCTUATION,
    [')'] = PUNCTUATION,
    ['*'] = TOKEN,
    ['+'] = TOKEN,
    [','] = PUNCTUATION,
    ['-'] = TOKEN,
    ['.'] = TOKEN,
    ['/'] = PUNCTUATION,
    ['0' ... '9'] = TOKEN,
    [':' ... '@'] = PUNCTUATION,
    ['A' ... 'Z'] = TOKEN,
    ['[' ... ']'] = PUNCTUATION,
    ['^' ... 'z'] = TOKEN, /* ^ _ ` and the letters */
    ['{'] = PUNCTUATION,
    ['|'] = TOKEN,
    ['}'] = PUNCTUATION,
    ['~'] = TOKEN,
    [0x80 ... 0xff] = IN_VALUE,
};

static bool is_token(uint8_t c)
{
    return classes[c] & IN_TOKEN;
}

static bool is_visible(uint8_t c)
{
    return classes[c] & IN_TARGET;
}

static bool is_value(uint8_t c)
{
    return classes[c] & IN_VALUE;
}

static int bad(struct http_lexer *lexer, int status, const char *why)
{
    lexer->why = why;
    return status;
}

static void go(struct http_lexer *lexer, int state)
{
    lexer->state = (uint8_t)state;
    lexer->at = 0;
}

/* The byte that ends a line, behind its CR. */
static int line_feed(struct http_lexer *lexer, uint8_t c, int state)
{
    if (c != '\n') {
        return bad(lexer, 400, "a CR without its LF");
    }
    go(lexer, state);
    return 0;
}

/* ---- the request line ------------------------------------------------------------------------ */

static int method_byte(struct http_lexer *lexer, uint8_t c)
{
    if (c == ' ' && lexer->at > 0) {
        go(lexer, TARGET);
        return 0;
    }
    if (!is_token(c)) {
        return bad(lexer, 400, "the method is not a token");
    }
    return ++lexer->at > HTTP_METHOD_MAX ? bad(lexer, 501, "there is no such method") : 0;
}

static int target_byte(struct http_lexer *lexer, uint8_t c)
{
    if (c == ' ' && lexer->at > 0) {
        go(lexer, VERSION);
        return 0;
    }
    if (!is_visible(c)) {
        return bad(lexer, 400, "the request line is not METHOD TARGET VERSION");
    }
    return ++lexer->at > HTTP_TARGET_MAX ? bad(lexer, 414, "the target is too long") : 0;
}

/* "HTTP/1.1"; a version that is well written but another gets its own status. */
static int version_byte(struct http_lexer *lexer, uint8_t c)
{
    static const char pattern[] = "HTTP/0.0";
    uint32_t at = lexer->at++;

    if (at == sizeof pattern - 1) {
        if (c != '\r') {
            return bad(lexer, 400, "the version is not followed by CR LF");
        }
        go(lexer, VERSION_LF);
        return 0;
    }
    bool digit = c >= '0' && c <= '9';
    if (pattern[at] == '0' ? !digit : c != (uint8_t)pattern[at]) {
        return bad(lexer, 400, "the request line does not end in a version");
    }
    if ((at == 5 && c != '1') || (at == 7 && c > '1')) {
        return bad(lexer, 505, "this server speaks HTTP/1.1 and HTTP/1.0");
    }
    return 0;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int line_byte(struct http_lexer *lexer, uint8_t c)
{
    if (c == '\r') {
        go(lexer, END_LF);
        return 0;
    }
    if (!is_token(c)) {
        return bad(lexer, 400,
                   c == ' ' || c == '\t' ? "a header field goes on in the next line"
                                         : "a header field has no name");
    }
    go(lexer, NAME);
    return 0;
}

static int name_byte(struct http_lexer *lexer, uint8_t c)
{
    if (c == ':') {
        go(lexer, VALUE);
        return 0;
    }
    return is_token(c) ? 0 : bad(lexer, 400, "a bad character in the name of a header field");
}

static int value_byte(struct http_lexer *lexer, uint8_t c)
{
    if (c == '\r') {
        go(lexer, VALUE_LF);
        return 0;
    }
    return is_value(c) ? 0 : bad(lexer, 400, "a control character in a header field");
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int size_end(struct http_lexer *lexer)
{
    if (lexer->left > lexer->most - lexer->body) {
        return bad(lexer, 413, "the body is too large");
    }
    lexer->body += lexer->left;
    go(lexer, SIZE_LF);
    return 0;
}

static int size_byte(struct http_lexer *lexer, uint8_t c)
{
    int digit = text_hex_digit((char)c);

    if (digit >= 0 && lexer->at < 16) {
        lexer->left = lexer->left << 4 | (unsigned)digit;
        lexer->at++;
        return 0;
    }
    if (lexer->at == 0 || (c != '\r' && c != ';')) {
        return bad(lexer, 400, "a bad chunk size");
    }
    if (c == ';') {
        lexer->state = EXTENSION;
        return 0;
    }
    return size_end(lexer);
}

/* What follows on a byte of an extension, or -1 if none may be there. */
static int extension_next(int state, uint8_t c)
{
    bool space = c == ' ' || c == '\t';

    switch (state) {
    case EXTENSION:
        return space ? EXTENSION : is_token(c) ? EXTENSION_NAME : -1;
    case EXTENSION_NAME:
        if (is_token(c)) {
            return EXTENSION_NAME;
        }
        break;
    case EXTENSION_NAMED:
    case EXTENSION_END:
        break;
    case EXTENSION_VALUE:
        return space         ? EXTENSION_VALUE
               : c == '"'    ? EXTENSION_QUOTED
               : is_token(c) ? EXTENSION_TOKEN
                             : -1;
    case EXTENSION_TOKEN:
        if (is_token(c)) {
            return EXTENSION_TOKEN;
        }
        break;
    case EXTENSION_QUOTED:
        return c == '"'      ? EXTENSION_END
               : c == '\\'   ? EXTENSION_ESCAPED
               : is_value(c) ? EXTENSION_QUOTED
                             : -1;
    default: /* EXTENSION_ESCAPED */
        return is_value(c) ? EXTENSION_QUOTED : -1;
    }
    /* Behind a name or a value. */
    bool named = state == EXTENSION_NAME || state == EXTENSION_NAMED;
    if (c == '=' && named) {
        return EXTENSION_VALUE;
    }
    return c == ';' ? EXTENSION : space ? (named ? EXTENSION_NAMED : EXTENSION_END) : -1;
}

static int extension_byte(struct http_lexer *lexer, uint8_t c)
{
    bool whole = lexer->state == EXTENSION_NAME || lexer->state == EXTENSION_NAMED ||
                 lexer->state == EXTENSION_TOKEN || lexer->state == EXTENSION_END;

    if (c == '\r' && whole) {
        return size_end(lexer);
    }
    int next = extension_next(lexer->state, c);
    if (next < 0 || ++lexer->at > HTTP_CHUNK_LINE_MAX) {
        return bad(lexer, 400, "a bad chunk extension");
    }
    lexer->state = (uint8_t)next;
    return 0;
}

static int chunk_byte(struct http_lexer *lexer, uint8_t c)
{
    switch (lexer->state) {
    case SIZE:
        return size_byte(lexer, c);
    case SIZE_LF:
        return line_feed(lexer, c, lexer->left > 0 ? DATA : LINE);
    case DATA_CR:
        if (c != '\r') {
            return bad(lexer, 400, "a chunk is longer than its size");
        }
        go(lexer, DATA_LF);
        return 0;
    case DATA_LF:
        return line_feed(lexer, c, SIZE);
    default:
        return extension_byte(lexer, c);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static int start_byte(struct http_lexer *lexer, uint8_t c)
{
    if (c == '\r') {
        go(lexer, START_LF);
        return 0;
    }
    go(lexer, METHOD);
    return method_byte(lexer, c);
}

static int head_byte(struct http_lexer *lexer, uint8_t c)
{
    switch (lexer->state) {
    case START:
        return start_byte(lexer, c);
    case START_LF:
        return line_feed(lexer, c, METHOD);
    case METHOD:
        return method_byte(lexer, c);
    case TARGET:
        return target_byte(lexer, c);
    case VERSION:
        return version_byte(lexer, c);
    case VERSION_LF:
    case VALUE_LF:
        return line_feed(lexer, c, LINE);
    case LINE:
        return line_byte(lexer, c);
    case NAME:
        return name_byte(lexer, c);
    case VALUE:
        return value_byte(lexer, c);
    default:
        return line_feed(lexer, c, DONE);
    }
}

static size_t run_of(const char *data, size_t size, uint8_t class)
{
    return byte_run(data, size, classes, class);
}

/* A request line that is there from its first byte to its last, and has nothing special. */
static size_t take_request_line(struct http_lexer *lexer, const char *data, size_t size)
{
    static const char version[] = " HTTP/1.1\r\n";
    size_t method = run_of(data, size, IN_TOKEN);

    if (method == 0 || method > HTTP_METHOD_MAX || method == size || data[method] != ' ') {
        return 0;
    }
    const char *target = data + method + 1;
    size_t target_size = run_of(target, size - method - 1, IN_TARGET);
    size_t left = size - method - 1 - target_size;
    if (target_size == 0 || target_size > HTTP_TARGET_MAX || left < sizeof version - 1 ||
        memcmp(target + target_size, version, sizeof version - 1) != 0) {
        return 0;
    }
    go(lexer, LINE);
    return size - left + sizeof version - 1;
}

/* Fields whose lines are there as a whole: "Name: value". */
static size_t take_fields(const char *data, size_t size)
{
    size_t at = 0;

    for (;;) {
        size_t name = at + run_of(data + at, size - at, IN_TOKEN);
        if (name == at || name == size || data[name] != ':') {
            return at;
        }
        size_t end = name + 1 + run_of(data + name + 1, size - name - 1, IN_VALUE);
        if (size - end < 2 || data[end] != '\r' || data[end + 1] != '\n') {
            return at;
        }
        at = end + 2;
    }
}

/* Bytes of a chunk go by in one piece. */
static size_t take_data(struct http_lexer *lexer, const char *data, size_t size)
{
    size_t taken = lexer->left < size ? (size_t)lexer->left : size;

    lexer->left -= taken;
    if (lexer->out != NULL) {
        buffer_bytes(lexer->out, data, taken);
    }
    lexer->state = lexer->left == 0 ? DATA_CR : DATA;
    return taken;
}

/* Whole lines and chunks go by quickly; all else, right or wrong, is left to head_byte() and
 * chunk_byte(), which have the last word on what a request may be. Returns how many bytes went by,
 * which are never those of a line that has begun already. */
static size_t skip(struct http_lexer *lexer, const char *data, size_t size)
{
    size_t most = HTTP_HEAD_MAX - lexer->fields, taken = 0;

    if (lexer->state == DATA) {
        return take_data(lexer, data, size);
    }
    size = size < most ? size : most;
    if (lexer->state == START) {
        taken = take_request_line(lexer, data, size);
    }
    if (lexer->state == LINE) {
        taken += take_fields(data + taken, size - taken);
    } else if (lexer->state == VALUE) {
        taken = run_of(data, size, IN_VALUE);
    }
    lexer->fields += (uint32_t)taken;
    return taken;
}

int http_lexer_feed(struct http_lexer *lexer, const char *data, size_t size, size_t *used)
{
    int status = 0;
    size_t i = 0;

    while (status == 0 && lexer->state != DONE) {
        i += skip(lexer, data + i, size - i);
        if (i == size) {
            break;
        }
        uint8_t c = (uint8_t)data[i++];
        if (lexer->state >= SIZE) {
            status = chunk_byte(lexer, c);
        } else if (++lexer->fields > HTTP_HEAD_MAX) {
            status = bad(lexer, 431, "the header fields are too large");
        } else {
            status = head_byte(lexer, c);
        }
    }
    *used = i;
    return status;
}
