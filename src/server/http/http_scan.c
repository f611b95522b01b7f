/* SPDX-License-Identifier: Apache-2.0
 *
 * The states follow a request from its first byte to its last:
 *
 *     START > METHOD > TARGET > VERSION > VERSION_LF
 *     ┌> LINE > NAME > VALUE > VALUE_LF ┐
 *     └─────────────────────────────────┘  LINE > END_LF > DONE
 *     SIZE > (EXTENSION) > SIZE_LF > DATA > DATA_CR > DATA_LF > SIZE …, after size 0: LINE … */
#include "server/http/http_scan.h"

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
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    DONE
};

void http_scan_head(struct http_scan *scan)
{
    *scan = (struct http_scan){.state = START};
}

void http_scan_chunks(struct http_scan *scan, uint64_t most)
{
    *scan = (struct http_scan){.state = SIZE, .most = most};
}

bool http_scan_done(const struct http_scan *scan)
{
    return scan->state == DONE;
}

/* Letters, digits and !#$%&'*+-.^_`|~ */
static bool is_token(uint8_t c)
{
    static const uint64_t bits[] = {UINT64_C(0x3ff6cfa00000000), UINT64_C(0x57ffffffc7fffffe)};
    return c < 128 && bits[c >> 6] >> (c & 63) & 1;
}

static bool is_visible(uint8_t c)
{
    return c > ' ' && c < 0x7f;
}

static bool is_value(uint8_t c)
{
    return (c >= ' ' && c != 0x7f) || c == '\t';
}

static int bad(struct http_scan *scan, int status, const char *why)
{
    scan->why = why;
    return status;
}

static void go(struct http_scan *scan, int state)
{
    scan->state = (uint8_t)state;
    scan->at = 0;
}

/* The byte that ends a line, behind its CR. */
static int line_feed(struct http_scan *scan, uint8_t c, int state)
{
    if (c != '\n') {
        return bad(scan, 400, "a CR without its LF");
    }
    go(scan, state);
    return 0;
}

/* ---- the request line ------------------------------------------------------------------------ */

static int method_byte(struct http_scan *scan, uint8_t c)
{
    if (c == ' ' && scan->at > 0) {
        go(scan, TARGET);
        return 0;
    }
    if (!is_token(c)) {
        return bad(scan, 400, "the method is not a token");
    }
    return ++scan->at > HTTP_METHOD_MAX ? bad(scan, 501, "there is no such method") : 0;
}

static int target_byte(struct http_scan *scan, uint8_t c)
{
    if (c == ' ' && scan->at > 0) {
        go(scan, VERSION);
        return 0;
    }
    if (!is_visible(c)) {
        return bad(scan, 400, "the request line is not METHOD TARGET VERSION");
    }
    return ++scan->at > HTTP_TARGET_MAX ? bad(scan, 414, "the target is too long") : 0;
}

/* "HTTP/1.1"; a version that is well written but another gets its own status. */
static int version_byte(struct http_scan *scan, uint8_t c)
{
    static const char pattern[] = "HTTP/0.0";
    uint32_t at = scan->at++;

    if (at == sizeof pattern - 1) {
        if (c != '\r') {
            return bad(scan, 400, "the version is not followed by CR LF");
        }
        go(scan, VERSION_LF);
        return 0;
    }
    bool digit = c >= '0' && c <= '9';
    if (pattern[at] == '0' ? !digit : c != (uint8_t)pattern[at]) {
        return bad(scan, 400, "the request line does not end in a version");
    }
    if ((at == 5 && c != '1') || (at == 7 && c > '1')) {
        return bad(scan, 505, "this server speaks HTTP/1.1 and HTTP/1.0");
    }
    return 0;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int line_byte(struct http_scan *scan, uint8_t c)
{
    if (c == '\r') {
        go(scan, END_LF);
        return 0;
    }
    if (!is_token(c)) {
        return bad(scan, 400,
                   c == ' ' || c == '\t' ? "a header field goes on in the next line"
                                         : "a header field has no name");
    }
    go(scan, NAME);
    return 0;
}

static int name_byte(struct http_scan *scan, uint8_t c)
{
    if (c == ':') {
        go(scan, VALUE);
        return 0;
    }
    return is_token(c) ? 0 : bad(scan, 400, "a bad character in the name of a header field");
}

static int value_byte(struct http_scan *scan, uint8_t c)
{
    if (c == '\r') {
        go(scan, VALUE_LF);
        return 0;
    }
    return is_value(c) ? 0 : bad(scan, 400, "a control character in a header field");
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int size_end(struct http_scan *scan)
{
    if (scan->left > scan->most - scan->body) {
        return bad(scan, 413, "the body is too large");
    }
    scan->body += scan->left;
    go(scan, SIZE_LF);
    return 0;
}

static int size_byte(struct http_scan *scan, uint8_t c)
{
    int digit = text_hex_digit((char)c);

    if (digit >= 0 && scan->at < 16) {
        scan->left = scan->left << 4 | (unsigned)digit;
        scan->at++;
        return 0;
    }
    if (scan->at == 0 || (c != '\r' && c != ';')) {
        return bad(scan, 400, "a bad chunk size");
    }
    if (c == ';') {
        scan->state = EXTENSION;
        return 0;
    }
    return size_end(scan);
}

static int extension_byte(struct http_scan *scan, uint8_t c)
{
    if (c == '\r') {
        return size_end(scan);
    }
    if (!is_value(c) || ++scan->at > HTTP_CHUNK_LINE_MAX) {
        return bad(scan, 400, "a bad chunk extension");
    }
    return 0;
}

static int chunk_byte(struct http_scan *scan, uint8_t c)
{
    switch (scan->state) {
    case SIZE:
        return size_byte(scan, c);
    case EXTENSION:
        return extension_byte(scan, c);
    case SIZE_LF:
        return line_feed(scan, c, scan->left > 0 ? DATA : LINE);
    case DATA_CR:
        if (c != '\r') {
            return bad(scan, 400, "a chunk is longer than its size");
        }
        go(scan, DATA_LF);
        return 0;
    default:
        return line_feed(scan, c, SIZE);
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static int start_byte(struct http_scan *scan, uint8_t c)
{
    if (c == '\r') {
        go(scan, START_LF);
        return 0;
    }
    go(scan, METHOD);
    return method_byte(scan, c);
}

static int head_byte(struct http_scan *scan, uint8_t c)
{
    switch (scan->state) {
    case START:
        return start_byte(scan, c);
    case START_LF:
        return line_feed(scan, c, METHOD);
    case METHOD:
        return method_byte(scan, c);
    case TARGET:
        return target_byte(scan, c);
    case VERSION:
        return version_byte(scan, c);
    case VERSION_LF:
    case VALUE_LF:
        return line_feed(scan, c, LINE);
    case LINE:
        return line_byte(scan, c);
    case NAME:
        return name_byte(scan, c);
    case VALUE:
        return value_byte(scan, c);
    default:
        return line_feed(scan, c, DONE);
    }
}

/* Most bytes are in the middle of a value or of a chunk: those go by quickly. */
static size_t skip(struct http_scan *scan, const char *data, size_t size)
{
    size_t most = HTTP_HEAD_MAX - scan->fields, i = 0;

    if (scan->state == DATA) {
        size_t taken = scan->left < size ? (size_t)scan->left : size;
        scan->left -= taken;
        scan->state = scan->left == 0 ? DATA_CR : DATA;
        return taken;
    }
    if (scan->state == VALUE) {
        while (i < size && i < most && is_value((uint8_t)data[i])) {
            i++;
        }
        scan->fields += (uint32_t)i;
    }
    return i;
}

int http_scan(struct http_scan *scan, const char *data, size_t size, size_t *used)
{
    int status = 0;
    size_t i = 0;

    while (status == 0 && scan->state != DONE) {
        i += skip(scan, data + i, size - i);
        if (i == size) {
            break;
        }
        uint8_t c = (uint8_t)data[i++];
        if (scan->state >= SIZE) {
            status = chunk_byte(scan, c);
        } else if (++scan->fields > HTTP_HEAD_MAX) {
            status = bad(scan, 431, "the header fields are too large");
        } else {
            status = head_byte(scan, c);
        }
    }
    *used = i;
    return status;
}
