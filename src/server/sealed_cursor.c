/* SPDX-License-Identifier: Apache-2.0
 *
 * Seals cursors and opens them again. The tag is made of the text first and is what the key stream
 * begins with, so that no nonce has to be random, or to be different on each server. */
#include "server/sealed_cursor.h"

#include "base/base64.h"
#include "base/check.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define DIGEST 32
#define SEALED_BYTES (CURSOR_TAG_SIZE + CURSOR_TEXT_MAX)
#define PURPOSE_MAX 128

_Static_assert((SEALED_BYTES * 4 + 2) / 3 <= HF_CURSOR_MAX, "a sealed cursor fits");
_Static_assert(CURSOR_TEXT_MAX >= HF_ID_MAX, "an id can be sealed");

/* What each HMAC is for is its first byte. */
enum { CURSOR_MAC = 'm', CURSOR_STREAM = 's' };

static void digest(const uint8_t *key, const uint8_t *text, size_t size, uint8_t out[DIGEST])
{
    unsigned written = DIGEST;

    CHECK(HMAC(EVP_sha256(), key, CURSOR_KEY_SIZE, text, size, out, &written) != NULL);
}

static void make_tag(const uint8_t *key, struct hf_bytes purpose, const char *padded, uint8_t *tag)
{
    uint8_t text[1 + PURPOSE_MAX + CURSOR_TEXT_MAX] = {CURSOR_MAC};
    uint8_t whole[DIGEST];

    CHECK(purpose.size <= PURPOSE_MAX);
    memcpy(text + 1, purpose.data, purpose.size);
    memcpy(text + 1 + PURPOSE_MAX, padded, CURSOR_TEXT_MAX);
    digest(key, text, sizeof text, whole);
    memcpy(tag, whole, CURSOR_TAG_SIZE);
}

/* Makes one of the text and its cipher the other. */
static void turn(const uint8_t *key, const uint8_t *tag, char *text)
{
    uint8_t input[1 + CURSOR_TAG_SIZE + 1] = {CURSOR_STREAM}, stream[DIGEST] = {0};

    memcpy(input + 1, tag, CURSOR_TAG_SIZE);
    for (size_t i = 0; i < CURSOR_TEXT_MAX; i++) {
        if (i % DIGEST == 0) {
            digest(key, input, sizeof input, stream);
            input[sizeof input - 1]++;
        }
        text[i] = (char)((uint8_t)text[i] ^ stream[i % DIGEST]);
    }
}

/* Base 64 has two characters that mean something else in a URL. */
static void replace(char *text, size_t size, const char *from, const char *to)
{
    for (size_t i = 0; i < size; i++) {
        const char *found = text[i] != '\0' ? strchr(from, text[i]) : NULL;
        text[i] = found != NULL ? to[found - from] : text[i];
    }
}

bool cursor_seal(const uint8_t key[CURSOR_KEY_SIZE], struct hf_bytes purpose,
                 struct hf_bytes cursor, char out[HF_CURSOR_SIZE])
{
    uint8_t tag[CURSOR_TAG_SIZE];
    char sealed[SEALED_BYTES] = {0}, *text = sealed + CURSOR_TAG_SIZE;
    struct memory memory;
    struct buffer written;

    if (cursor.size > CURSOR_TEXT_MAX) {
        return false;
    }
    memcpy(text, cursor.data, cursor.size);
    make_tag(key, purpose, text, tag);
    turn(key, tag, text);
    memcpy(sealed, tag, sizeof tag);
    memory_init(&memory);
    buffer_init(&written, &memory);
    base64_write(&written, (struct hf_bytes){sealed, sizeof sealed});
    bool done = !written.failed;
    if (done) {
        size_t size = (SEALED_BYTES * 4 + 2) / 3; /* without the padding */
        memcpy(out, written.data, size);
        out[size] = '\0';
        replace(out, size, "+/", "-_");
    }
    buffer_free(&written);
    return done;
}

bool cursor_open(const uint8_t key[CURSOR_KEY_SIZE], struct hf_bytes purpose,
                 struct hf_bytes sealed, char out[CURSOR_TEXT_MAX + 1])
{
    char characters[HF_CURSOR_SIZE], bytes[BASE64_BYTES(HF_CURSOR_SIZE)];
    uint8_t tag[CURSOR_TAG_SIZE];

    if (sealed.size > HF_CURSOR_MAX) {
        return false;
    }
    memcpy(characters, sealed.data, sealed.size);
    replace(characters, sealed.size, "-_", "+/");
    struct hf_bytes text = {characters, sealed.size};
    if (base64_read(text, bytes, sizeof bytes) != SEALED_BYTES) {
        return false;
    }
    turn(key, (const uint8_t *)bytes, bytes + CURSOR_TAG_SIZE);
    make_tag(key, purpose, bytes + CURSOR_TAG_SIZE, tag);
    if (CRYPTO_memcmp(tag, bytes, sizeof tag) != 0) {
        return false;
    }
    memcpy(out, bytes + CURSOR_TAG_SIZE, CURSOR_TEXT_MAX);
    out[CURSOR_TEXT_MAX] = '\0';
    return true;
}
