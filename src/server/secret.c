/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens and passwords: how they are made, hashed and compared. */
#include "server/secret.h"

#include "base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>

/* What new passwords are hashed with: tens of milliseconds and 16 MiB. */
#define SCRYPT_N 16384
#define SCRYPT_R 8
#define SCRYPT_P 1
#define SCRYPT_SALT_SIZE 16
#define SCRYPT_HASH_SIZE 32
/* What a file may ask for: a slip in it must not make a login take minutes or all memory. */
#define SCRYPT_N_MIN 1024
#define SCRYPT_R_MAX 32
#define SCRYPT_P_MAX 16
#define SCRYPT_MEMORY_MAX ((uint64_t)64 << 20)

#define TOKEN_PREFIX "hf_" /* so that tools that look for leaked secrets can find it */

/* ---- hexadecimal ----------------------------------------------------------------------------- */

/* False unless it is `min` to `max` bytes in lower case. */
static bool read_hex(struct hf_bytes text, uint8_t *out, size_t min, size_t max, size_t *size)
{
    *size = text.size / 2;
    if (text.size % 2 != 0 || *size < min || *size > max) {
        return false;
    }
    for (size_t i = 0; i < *size; i++) {
        int high = text_hex_digit(text.data[2 * i]), low = text_hex_digit(text.data[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static size_t write_hex(char *out, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        sprintf(out + 2 * i, "%02x", bytes[i]);
    }
    return 2 * size;
}

/* ---- passwords ------------------------------------------------------------------------------- */

struct hf_bytes secret_part(struct hf_bytes *text)
{
    const char *colon = memchr(text->data, ':', text->size);
    struct hf_bytes part = {text->data, colon ? (size_t)(colon - text->data) : text->size};
    size_t used = part.size + (colon != NULL);

    text->data += used;
    text->size -= used;
    return part;
}

static bool read_count(struct hf_bytes text, uint64_t min, uint64_t max, uint64_t *count)
{
    int64_t number;

    if (!text_to_integer(text, &number) || number < (int64_t)min || number > (int64_t)max) {
        return false;
    }
    *count = (uint64_t)number;
    return true;
}

bool scrypt_read(struct hf_bytes text, struct scrypt *scrypt)
{
    return read_count(secret_part(&text), SCRYPT_N_MIN, SCRYPT_MEMORY_MAX, &scrypt->n) &&
           (scrypt->n & (scrypt->n - 1)) == 0 &&
           read_count(secret_part(&text), 1, SCRYPT_R_MAX, &scrypt->r) &&
           read_count(secret_part(&text), 1, SCRYPT_P_MAX, &scrypt->p) &&
           128 * scrypt->n * scrypt->r <= SCRYPT_MEMORY_MAX &&
           read_hex(secret_part(&text), scrypt->salt, 8, sizeof scrypt->salt, &scrypt->salt_size) &&
           read_hex(text, scrypt->hash, 16, sizeof scrypt->hash, &scrypt->hash_size);
}

bool scrypt_run(const struct scrypt *scrypt, struct hf_bytes password, uint8_t *hash)
{
    /* Twice what it needs: the bound is there for parameters from strangers. */
    return EVP_PBE_scrypt(password.data, password.size, scrypt->salt, scrypt->salt_size, scrypt->n,
                          scrypt->r, scrypt->p, 2 * SCRYPT_MEMORY_MAX, hash,
                          scrypt->hash_size) == 1;
}

bool scrypt_write_new(char *out, const char *password)
{
    struct scrypt scrypt = {.n = SCRYPT_N,
                            .r = SCRYPT_R,
                            .p = SCRYPT_P,
                            .salt_size = SCRYPT_SALT_SIZE,
                            .hash_size = SCRYPT_HASH_SIZE};

    if (RAND_bytes(scrypt.salt, SCRYPT_SALT_SIZE) != 1 ||
        !scrypt_run(&scrypt, hf_text(password), scrypt.hash)) {
        return false;
    }
    size_t size = (size_t)sprintf(out, "scrypt:%d:%d:%d:", SCRYPT_N, SCRYPT_R, SCRYPT_P);
    size += write_hex(out + size, scrypt.salt, scrypt.salt_size);
    out[size++] = ':';
    write_hex(out + size, scrypt.hash, scrypt.hash_size);
    return true;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* In base64 for URLs, which is safe in a header, a shell and a file. */
bool token_new(char token[TOKEN_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t bytes[33] = {0};
    size_t size = strlen(TOKEN_PREFIX);

    if (RAND_bytes(bytes, 32) != 1) {
        return false;
    }
    memcpy(token, TOKEN_PREFIX, size);
    for (size_t i = 0; i < sizeof bytes; i += 3) {
        unsigned group = (unsigned)(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]);
        for (unsigned shift = 24; shift > 0; shift -= 6) {
            token[size++] = digits[group >> (shift - 6) & 63];
        }
    }
    token[size - 1] = '\0'; /* the last would be of the 33rd byte alone */
    OPENSSL_cleanse(bytes, sizeof bytes);
    return true;
}

void token_hash(struct hf_bytes token, uint8_t hash[TOKEN_HASH_SIZE])
{
    SHA256((const uint8_t *)token.data, token.size, hash);
}

bool token_read_hash(struct hf_bytes text, uint8_t hash[TOKEN_HASH_SIZE])
{
    size_t size;
    return read_hex(text, hash, TOKEN_HASH_SIZE, TOKEN_HASH_SIZE, &size);
}

void token_write_hash(char *out, const char *token)
{
    uint8_t hash[TOKEN_HASH_SIZE];

    token_hash(hf_text(token), hash);
    size_t size = (size_t)sprintf(out, "sha256:");
    write_hex(out + size, hash, sizeof hash);
}
