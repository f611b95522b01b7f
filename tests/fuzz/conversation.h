/* SPDX-License-Identifier: Apache-2.0
 *
 * A server without a loop that has one client, for the fuzzers of the fronts: the same bytes must
 * get the same answers however they were cut up on their way. Time stands still in it and chance
 * is counted, so that two runs can be compared. */
#ifndef FUZZ_CONVERSATION_H
#define FUZZ_CONVERSATION_H

#include "server/server.h"

/* So many bytes of an input say how the conversation is held. */
#define CONVERSATION_HEAD 4

/* What the first byte of an input decides. */
enum {
    WITH_USERS = 1,   /* the server has users: ann, write, with the token "secret" */
    GOES_UNHEARD = 2, /* the client leaves without having taken its answers */
    TRANSACTION = 4   /* the RESP front's fuzzer puts a MULTI before and an EXEC behind it all */
};

/* Holds the conversation twice, in one piece and in pieces, and compares. Its head
 * says how. `tidy` makes answers comparable that carry the time of day; may be NULL. */
void converse(const struct front *front, const uint8_t *data, size_t size,
              void (*tidy)(struct buffer *said));

/* Does the input have this word, in any case? Some commands tell figures that differ. */
bool mentions(const uint8_t *data, size_t size, const char *word);

#endif
