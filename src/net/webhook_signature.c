/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes and checks the signatures of webhooks, with OpenSSL's HMAC-SHA256. */
#include "net/webhook_signature.h"

#include "base/base64.h"
#include "base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>

#define DIGEST 32
#define SIGNATURE 44 /* its base 64 */
#define PREFIX "whsec_"
#define VERSION_PREFIX "v1,"

enum hf_error webhook_read_key(const char *secret, struct webhook_key *key, struct problem *problem)
{
    key->size = 0;
    if (secret == NULL || secret[0] == '\0') {
        return HF_OK;
    }
    struct hf_bytes text = hf_text(secret);
    size_t size = text.size;
    if (text_starts_with(secret, PREFIX)) {
        char bytes[WEBHOOK_KEY_MAX + 3];
        text = hf_text(secret + strlen(PREFIX));
        ptrdiff_t read =
            text.size <= (size_t)2 * WEBHOOK_KEY_MAX ? base64_read(text, bytes, sizeof bytes) : -1;
        if (read < 0) {
            return problem_set(problem, HF_INVALID_ARGUMENT,
                               "what stands behind " PREFIX " is not base 64 of %d to %d bytes",
                               WEBHOOK_KEY_MIN, WEBHOOK_KEY_MAX);
        }
        size = (size_t)read;
        memcpy(key->bytes, bytes, size < WEBHOOK_KEY_MAX ? size : WEBHOOK_KEY_MAX);
        OPENSSL_cleanse(bytes, sizeof bytes);
    } else {
        memcpy(key->bytes, secret, size < WEBHOOK_KEY_MAX ? size : WEBHOOK_KEY_MAX);
    }
    if (size < WEBHOOK_KEY_MIN || size > WEBHOOK_KEY_MAX) {
        OPENSSL_cleanse(key->bytes, sizeof key->bytes);
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "a secret of %zu bytes; it has to have %d to %d", size, WEBHOOK_KEY_MIN,
                           WEBHOOK_KEY_MAX);
    }
    key->size = size;
    return HF_OK;
}

/* HMAC-SHA256 of "id.timestamp.body", in base 64. */
static bool compute(const struct webhook_key *key, struct hf_bytes id, struct hf_bytes timestamp,
                    struct hf_bytes body, char out[SIGNATURE + 1])
{
    uint8_t digest[DIGEST];
    size_t size = 0;
    char sha256[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", sha256, 0),
                           OSSL_PARAM_construct_end()};
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
    const uint8_t dot = '.';
    bool done = context != NULL && EVP_MAC_init(context, key->bytes, key->size, params) == 1 &&
                EVP_MAC_update(context, (const uint8_t *)id.data, id.size) == 1 &&
                EVP_MAC_update(context, &dot, 1) == 1 &&
                EVP_MAC_update(context, (const uint8_t *)timestamp.data, timestamp.size) == 1 &&
                EVP_MAC_update(context, &dot, 1) == 1 &&
                EVP_MAC_update(context, (const uint8_t *)body.data, body.size) == 1 &&
                EVP_MAC_final(context, digest, &size, sizeof digest) == 1 && size == DIGEST;

    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
    if (done) {
        EVP_EncodeBlock((unsigned char *)out, digest, DIGEST);
    }
    return done;
}

bool webhook_sign(const struct webhook_keys *keys, struct hf_bytes id, int64_t timestamp_s,
                  struct hf_bytes body, char out[WEBHOOK_SIGNATURE_SIZE])
{
    char timestamp[24], one[SIGNATURE + 1];
    size_t size = 0;

    snprintf(timestamp, sizeof timestamp, "%lld", (long long)timestamp_s);
    out[0] = '\0';
    for (size_t i = 0; i < WEBHOOK_KEYS; i++) {
        if (keys->key[i].size == 0) {
            continue;
        }
        if (!compute(&keys->key[i], id, hf_text(timestamp), body, one)) {
            out[0] = '\0';
            return false;
        }
        size += (size_t)snprintf(out + size, WEBHOOK_SIGNATURE_SIZE - size,
                                 "%s" VERSION_PREFIX "%s", size > 0 ? " " : "", one);
    }
    return size > 0;
}

/* Is one of the signatures in the header this one? All are looked at, in the same time each. */
static bool contains(struct hf_bytes header, const char expected[SIGNATURE + 1])
{
    const char *at = header.data, *end = header.data + header.size;
    bool found = false;

    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        size_t size = (size_t)((space != NULL ? space : end) - at);
        if (size == strlen(VERSION_PREFIX) + SIGNATURE &&
            memcmp(at, VERSION_PREFIX, strlen(VERSION_PREFIX)) == 0 &&
            CRYPTO_memcmp(at + strlen(VERSION_PREFIX), expected, SIGNATURE) == 0) {
            found = true;
        }
        at += size + 1;
    }
    return found;
}

enum webhook_verdict webhook_verify(const struct webhook_keys *keys, struct hf_bytes id,
                                    struct hf_bytes timestamp, struct hf_bytes signature,
                                    struct hf_bytes body, int64_t now_s)
{
    char expected[SIGNATURE + 1];
    int64_t said_s;
    bool valid = false;

    if (id.size == 0 || signature.size == 0 || timestamp.size == 0 || timestamp.size > 15 ||
        !text_to_integer(timestamp, &said_s) || said_s < 0) {
        return WEBHOOK_INCOMPLETE;
    }
    for (size_t i = 0; i < WEBHOOK_KEYS; i++) {
        if (keys->key[i].size > 0 && compute(&keys->key[i], id, timestamp, body, expected)) {
            valid |= contains(signature, expected);
        }
    }
    if (!valid) {
        return WEBHOOK_FORGED;
    }
    return said_s < now_s - WEBHOOK_TOLERANCE_S   ? WEBHOOK_TOO_OLD
           : said_s > now_s + WEBHOOK_TOLERANCE_S ? WEBHOOK_TOO_NEW
                                                  : WEBHOOK_VALID;
}

const char *webhook_verdict_text(enum webhook_verdict verdict)
{
    static const char *const texts[] = {
        [WEBHOOK_VALID] = "valid",
        [WEBHOOK_INCOMPLETE] = "webhook-id, -timestamp or -signature is missing or malformed",
        [WEBHOOK_TOO_OLD] = "its timestamp is more than 5 minutes old",
        [WEBHOOK_TOO_NEW] = "its timestamp is more than 5 minutes ahead",
        [WEBHOOK_FORGED] = "no signature in webhook-signature is right",
    };
    return texts[verdict];
}
