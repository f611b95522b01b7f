/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids that the server makes for callers who bring none. One that carries its scope is 26 digits of
 * Crockford's base 32, a dot and the scope: it is all that is needed to find the thing again. */
#ifndef SERVER_HTTP_GENERATED_ID_H
#define SERVER_HTTP_GENERATED_ID_H

#include "base/limits.h"

#define GENERATED_ID_ENTROPY 16
#define GENERATED_ID_DIGITS 26

/* Returns the size; 0 if the scope is too long for an id to carry it. No NUL. */
size_t generated_id_carrying(const uint8_t entropy[GENERATED_ID_ENTROPY], struct hf_bytes scope,
                             char out[HF_ID_SIZE]);
/* One without a scope: a UUID. */
size_t generated_id_plain(const uint8_t entropy[GENERATED_ID_ENTROPY], char out[HF_ID_SIZE]);

/* The scope that an id carries; false if it carries none. */
bool generated_id_scope(struct hf_bytes id, struct hf_bytes *scope);

#endif
