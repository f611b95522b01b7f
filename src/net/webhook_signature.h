/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of webhooks by the Standard Webhooks scheme, both ways:
 *
 *     webhook-id: msg_2KWPBgLlAfxdpx2AI54pPJ85f4W
 *     webhook-timestamp: 1674087231
 *     webhook-signature: v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4= v1,…
 *
 * A signature is the base 64 of HMAC-SHA256 over "id.timestamp.body". The header may have several,
 * separated by spaces: while a secret is being replaced, one by each of the two. */
#ifndef NET_WEBHOOK_SIGNATURE_H
#define NET_WEBHOOK_SIGNATURE_H

#include "base/problem.h"

/* A message whose timestamp is further from the clock than this, either way, is refused. */
#define WEBHOOK_TOLERANCE_S 300
#define WEBHOOK_KEY_MIN 16
#define WEBHOOK_KEY_MAX 256
#define WEBHOOK_KEYS 2 /* the one in force, and the one before it */
/* "v1," and 44 characters, for each key, with a space or the NUL behind it. */
#define WEBHOOK_SIGNATURE_SIZE (WEBHOOK_KEYS * (3 + 44 + 1))

struct webhook_key {
    uint8_t bytes[WEBHOOK_KEY_MAX];
    size_t size; /* 0: none */
};

/* The secrets that hold: the first signs and is accepted, the others too, during a rotation. */
struct webhook_keys {
    struct webhook_key key[WEBHOOK_KEYS];
};

/* Reads "whsec_" and base 64, or any other text, whose bytes are the key; NULL and "" are none.
 * INVALID_ARGUMENT without a word of the secret, for base 64 that is none or for a key shorter than
 * WEBHOOK_KEY_MIN or longer than WEBHOOK_KEY_MAX bytes; the key is none then. */
enum hf_error webhook_read_key(const char *secret, struct webhook_key *key,
                               struct problem *problem);

/* The value of the header webhook-signature, by every key there is; false, with "", if there is
 * none or OpenSSL fails. */
bool webhook_sign(const struct webhook_keys *keys, struct hf_bytes id, int64_t timestamp_s,
                  struct hf_bytes body, char out[WEBHOOK_SIGNATURE_SIZE]);

enum webhook_verdict {
    WEBHOOK_VALID,
    WEBHOOK_INCOMPLETE, /* a header is missing or not of the scheme's form */
    WEBHOOK_TOO_OLD,
    WEBHOOK_TOO_NEW,
    WEBHOOK_FORGED, /* no signature is right, or there is no key */
};

/* Judges a message by its three headers, in constant time as far as the signatures go. Whoever
 * accepts it has to keep its id for twice WEBHOOK_TOLERANCE_S and refuse the same id again. */
enum webhook_verdict webhook_verify(const struct webhook_keys *keys, struct hf_bytes id,
                                    struct hf_bytes timestamp, struct hf_bytes signature,
                                    struct hf_bytes body, int64_t now_s);

/* The verdict in words. */
const char *webhook_verdict_text(enum webhook_verdict verdict);

#endif
