/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses ids, numbers, durations and escapes, and guesses which word a mistyped one was meant
 * for. */
#include "base/text.h"

#include <stdio.h>

/* The length of the UTF-8 sequence at `at`, and its code point; 0 if it is malformed. */
static size_t decode(const uint8_t *at, size_t left, uint32_t *point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc0 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (size == 0 || size > left || at[0] > 0xf4) {
        return 0;
    }
    *point = size == 1 ? at[0] : at[0] & (0xffU >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        *point = *point << 6 | (at[i] & 0x3fU);
    }
    bool surrogate = *point >= 0xd800 && *point < 0xe000;
    return *point < smallest[size] || *point > 0x10ffff || surrogate ? 0 : size;
}

static bool is_space_or_control(uint32_t point)
{
    return point <= 0x20 || (point >= 0x7f && point <= 0xa0) || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
           point == 0x202f || point == 0x205f || point == 0x3000;
}

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* Which of sixteen bytes are plain: ASCII, after space, before '{'? */
static bytes16 sixteen_plain(const uint8_t *at)
{
    bytes16 c;

    memcpy(&c, at, sizeof c);
    c -= (uint8_t)('!'); /* what is below wraps round to above */
    return (bytes16)(c < (uint8_t)('{' - '!'));
}

#define EVERY(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The same of eight bytes in a register. Bit 7 is set in what is too large, or was taken from what
 * is too small. */
static bool eight_plain(uint64_t c)
{
    uint64_t large = c | (c + EVERY(0x80 - '{')), small = ~((c | EVERY(0x80)) - EVERY('!'));

    return ((large | small) & EVERY(0x80)) == 0;
}

/* One to seven bytes, some of them twice, and nothing else. */
static uint64_t load_few(const uint8_t *at, size_t size)
{
    uint32_t first, last;

    if (size < sizeof first) {
        uint64_t one = at[0], middle = at[size / 2], end = at[size - 1];
        return (one | middle << 8 | end << 16) * UINT64_C(0x0001000001000001);
    }
    memcpy(&first, at, sizeof first);
    memcpy(&last, at + size - sizeof last, sizeof last);
    return first | (uint64_t)last << 32;
}

/* Plain ASCII from end to end, as nearly all ids are. The last sixteen, or the last eight, may
 * overlap those before. */
static bool all_plain(const uint8_t *at, size_t size)
{
    uint64_t first, last;

    if (size < sizeof first) {
        return eight_plain(load_few(at, size));
    }
    if (size < 16) {
        memcpy(&first, at, sizeof first);
        memcpy(&last, at + size - sizeof last, sizeof last);
        return eight_plain(first) && eight_plain(last);
    }
    bytes16 plain = sixteen_plain(at + size - 16);
    for (size_t i = 0; i + 16 < size; i += 16) {
        plain &= sixteen_plain(at + i);
    }
    words2 all = (words2)plain;
    return (all[0] & all[1]) == UINT64_MAX;
}

/* Of any text: character by character. Apart from text_is_id(), which then saves no registers. */
__attribute__((noinline)) static bool is_unicode_id(struct hf_bytes text)
{
    const uint8_t *at = (const uint8_t *)text.data;

    for (size_t i = 0, size; i < text.size; i += size) {
        uint32_t point;
        size = decode(at + i, text.size - i, &point);
        if (size == 0 || is_space_or_control(point) || point == '{' || point == '}') {
            return false;
        }
    }
    return true;
}

bool text_is_id(struct hf_bytes text)
{
    return text.size >= 1 && text.size <= HF_ID_MAX &&
           (all_plain((const uint8_t *)text.data, text.size) || is_unicode_id(text));
}

bool text_is_own_id(struct hf_bytes text)
{
    const char *space = text.size > 0 ? memchr(text.data, ' ', text.size) : NULL;

    if (space == NULL || text.size > HF_ID_MAX) {
        return false;
    }
    size_t first = (size_t)(space - text.data);
    return text_is_id((struct hf_bytes){text.data, first}) &&
           text_is_id((struct hf_bytes){space + 1, text.size - first - 1});
}

size_t text_utf8_size(struct hf_bytes text, size_t offset)
{
    uint32_t point;
    return decode((const uint8_t *)text.data + offset, text.size - offset, &point);
}

bool text_is_utf8(struct hf_bytes text)
{
    for (size_t i = 0, size; i < text.size; i += size) {
        size = text_utf8_size(text, i);
        if (size == 0) {
            return false;
        }
    }
    return true;
}

int text_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

bool text_unescape(struct hf_bytes text, char *out, size_t out_size)
{
    size_t size = 0;

    for (size_t i = 0; i < text.size; i++) {
        int c = (uint8_t)text.data[i];
        if (c == '%') {
            int high = i + 2 < text.size ? text_hex_digit(text.data[i + 1]) : -1;
            int low = high >= 0 ? text_hex_digit(text.data[i + 2]) : -1;
            c = low >= 0 ? high * 16 + low : 0;
            i += 2;
        }
        if (c == 0 || size == out_size - 1) {
            return false;
        }
        out[size++] = (char)c;
    }
    out[size] = '\0';
    return true;
}

static const char code_digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void text_code(char out[TEXT_CODE], uint64_t number)
{
    for (size_t i = 0; i < TEXT_CODE; i++) {
        out[i] = code_digits[number >> (5 * i) & 31];
    }
}

bool text_code_read(struct hf_bytes text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char *digit = text.data[i] == '\0' ? NULL : strchr(code_digits, text.data[i]);
        if (digit == NULL || text.size != TEXT_CODE) {
            return false;
        }
        *number |= (uint64_t)(digit - code_digits) << (5 * i);
    }
    return text.size == TEXT_CODE;
}

bool text_is_word(struct hf_bytes text, const char *word)
{
    size_t i = 0;

    while (i < text.size && word[i] != '\0' && upper(text.data[i]) == upper(word[i])) {
        i++;
    }
    return i == text.size && word[i] == '\0';
}

struct hf_bytes text_trim(struct hf_bytes text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

bool text_equal(struct hf_bytes a, struct hf_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Digits at the start of `text`; returns how many bytes they take, with the sign. */
static size_t read_integer(struct hf_bytes text, int64_t *number)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t start = negative ? 1 : 0, i = start;
    int64_t total = 0;

    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        if (__builtin_mul_overflow(total, 10, &total) ||
            __builtin_add_overflow(total, text.data[i] - '0', &total)) {
            total = INT64_MAX;
        }
    }
    *number = negative ? -total : total;
    return i > start ? i : 0;
}

bool text_to_integer(struct hf_bytes text, int64_t *number)
{
    size_t used = read_integer(text, number);
    return used > 0 && used == text.size;
}

bool text_to_duration(struct hf_bytes text, int64_t unit_ms, int64_t *duration_ms)
{
    static const struct {
        struct hf_bytes name;
        int64_t ms;
    } units[] = {
        {HF_TEXT("ms"), 1}, {HF_TEXT("s"), 1000}, {HF_TEXT("m"), 60000}, {HF_TEXT("h"), 3600000}};
    int64_t number;
    size_t used = read_integer(text, &number);

    if (used == 0) {
        return false;
    }
    struct hf_bytes rest = {text.data + used, text.size - used};
    if (rest.size > 0) {
        unit_ms = 0;
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (text_equal(rest, units[i].name)) {
                unit_ms = units[i].ms;
            }
        }
        if (unit_ms == 0) {
            return false;
        }
    }
    if (__builtin_mul_overflow(number, unit_ms, duration_ms)) {
        *duration_ms = number < 0 ? -INT64_MAX : INT64_MAX;
    }
    return true;
}

/* ---- what was meant -------------------------------------------------------------------------- */

#define GUESS_MAX 40 /* letters of a word that is worth guessing */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The distance between two words of at most GUESS_MAX letters, whatever their case. */
static size_t distance(struct hf_bytes a, struct hf_bytes b)
{
    size_t rows[3][GUESS_MAX + 1]; /* of the letter before the last, of the last, of this one */

    for (size_t j = 0; j <= b.size; j++) {
        rows[0][j] = 0;
        rows[1][j] = j;
    }
    for (size_t i = 1; i <= a.size; i++) {
        size_t *two_ago = rows[(i + 2) % 3], *last = rows[i % 3], *row = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            char x = lower(a.data[i - 1]), y = lower(b.data[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b.data[j - 2]) && y == lower(a.data[i - 2])) {
                row[j] = least(row[j], two_ago[j - 2] + 1);
            }
        }
    }
    return rows[(a.size + 1) % 3][b.size];
}

void text_guess_try(struct text_guess *guess, const char *word)
{
    struct hf_bytes candidate = hf_text(word);

    if (guess->given.size == 0 || guess->given.size > GUESS_MAX || candidate.size > GUESS_MAX) {
        return;
    }
    size_t far = distance(guess->given, candidate);
    size_t most = 1 + least(guess->given.size, candidate.size) / 4; /* a third would fit too much */
    if (far <= most && (guess->nearest == NULL || far < guess->distance)) {
        guess->nearest = word;
        guess->distance = far;
    }
}

const char *text_hint(const struct text_guess *guess, const char *before, char out[TEXT_HINT_SIZE])
{
    out[0] = '\0';
    if (guess->nearest != NULL) {
        snprintf(out, TEXT_HINT_SIZE, " (did you mean %s%s?)", before, guess->nearest);
    }
    return out;
}
