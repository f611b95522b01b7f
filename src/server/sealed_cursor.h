/* SPDX-License-Identifier: Apache-2.0
 *
 * Cursors that name nothing. A list's cursor may be the name of what was read last, and say so to a
 * user from whom the items of other scopes are kept. Such a user gets it sealed: a text of always
 * the same length, which only a server with the same key can open, and only for the same user and
 * list.
 *
 * A sealed cursor is base 64 (with - and _, without padding, so that a URL can have it) of
 *
 *     tag    12 bytes  HMAC-SHA256 of what it is for and of the cursor, padded; cut
 *     text  131 bytes  the cursor, padded with NUL, under a key stream that the tag begins
 *
 * There is nothing random in it: the same place has the same cursor. */
#ifndef SERVER_SEALED_CURSOR_H
#define SERVER_SEALED_CURSOR_H

#include "holdfast.h"

#define CURSOR_KEY_SIZE 32
#define CURSOR_TAG_SIZE 12
#define CURSOR_TEXT_MAX 131 /* bytes of a cursor that can be sealed */

/* `purpose` says whose cursor of what list it is. False if the cursor is too long. */
bool cursor_seal(const uint8_t key[CURSOR_KEY_SIZE], struct hf_bytes purpose,
                 struct hf_bytes cursor, char out[HF_CURSOR_SIZE]);

/* False if it was not sealed with this key for this purpose. */
bool cursor_open(const uint8_t key[CURSOR_KEY_SIZE], struct hf_bytes purpose,
                 struct hf_bytes sealed, char out[CURSOR_TEXT_MAX + 1]);

#endif
