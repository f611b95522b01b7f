/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/call.h: any command given as words, its reply as a list or as JSON. The typed calls of
 * the families do without it. */
#ifndef HOLDFAST_CALL_H
#define HOLDFAST_CALL_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The reply to hf_call(): made by it, freed by hf_reply_free(). One thread at a time may use it. */
typedef struct hf_reply hf_reply;

/* What an element of a reply is. */
enum hf_kind { HF_KIND_NIL, HF_KIND_INTEGER, HF_KIND_TEXT };

/* Runs one command given as words: {"SEATS.ZONE", "gala", "floor"}. The reply is a flat list as in
 * RESP: [1, …] on success, [0, CODE, message] on a refusal, one element where the command answers a
 * bare number or nil. A list gives its cursor, then for each item all its fields and their values,
 * nil where the item has none; or just its name, where RESP has no more. *reply is yours to
 * hf_reply_free(), also on a refusal; it is NULL only after BUSY. Returns the same code as the
 * typed call would.
 *
 *     struct hf_bytes words[] = {HF_TEXT("SEATS.ZONE"), HF_TEXT("gala"), HF_TEXT("floor")};
 *     hf_reply *reply;
 *     hf_call(hf, 3, words, &reply);
 *     if (reply != NULL)
 *         puts(hf_reply_json(reply));
 *     hf_reply_free(reply); */
HF_API enum hf_error hf_call(hf_handle *handle, size_t argc, const struct hf_bytes *argv,
                             hf_reply **reply);

/* How many elements the reply has. */
HF_API size_t hf_reply_count(const hf_reply *reply);
/* What element i is; HF_KIND_NIL past the end. */
HF_API enum hf_kind hf_reply_kind(const hf_reply *reply, size_t i);
/* Element i as a number; 0 if it is none. */
HF_API int64_t hf_reply_integer(const hf_reply *reply, size_t i);
/* Element i as bytes, NUL-terminated too; empty if it is no text. Lives as long as the reply. */
HF_API struct hf_bytes hf_reply_text(const hf_reply *reply, size_t i);
/* The whole reply as one line of JSON, NUL-terminated. Lives as long as the reply. */
HF_API const char *hf_reply_json(hf_reply *reply);
/* Frees the reply. NULL is fine. */
HF_API void hf_reply_free(hf_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
