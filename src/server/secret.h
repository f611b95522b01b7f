/* SPDX-License-Identifier: Apache-2.0
 *
 * The secrets of users as the file has them: the hash of a token, or of a password. */
#ifndef SERVER_SECRET_H
#define SERVER_SECRET_H

#include "holdfast.h"

/* The text up to a colon, which is taken away with it. */
struct hf_bytes secret_part(struct hf_bytes *text);

/* ---- passwords ------------------------------------------------------------------------------- */

struct scrypt {
    uint64_t n, r, p;
    uint8_t salt[64], hash[64];
    size_t salt_size, hash_size;
};

/* N:r:p:SALTHEX:HASHHEX, within bounds. */
bool scrypt_read(struct hf_bytes text, struct scrypt *scrypt);
/* Slow, and takes memory: that is what it is for. `hash` has room for hash_size bytes. */
bool scrypt_run(const struct scrypt *scrypt, struct hf_bytes password, uint8_t *hash);
/* "scrypt:N:r:p:SALTHEX:HASHHEX" of a new salt; false if OpenSSL cannot. */
bool scrypt_write_new(char *out, const char *password);

/* ---- tokens ---------------------------------------------------------------------------------- */

#define TOKEN_SIZE 64 /* more than enough for its text and NUL */
#define TOKEN_HASH_SIZE 32

/* 32 random bytes as text; false if OpenSSL has none. */
bool token_new(char token[TOKEN_SIZE]);
void token_hash(struct hf_bytes token, uint8_t hash[TOKEN_HASH_SIZE]);
bool token_read_hash(struct hf_bytes text, uint8_t hash[TOKEN_HASH_SIZE]);
/* "sha256:HEX" */
void token_write_hash(char *out, const char *token);

#endif
