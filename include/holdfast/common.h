/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/common.h: what the other headers stand on: exports, bytes, bounds. */
#ifndef HOLDFAST_COMMON_H
#define HOLDFAST_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared library exports: the functions so marked and nothing else. */
#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Borrowed bytes, not NUL-terminated. In an argument they are the caller's, and only read. */
struct hf_bytes {
    const char *data;
    size_t size;
};

/* A string literal as hf_bytes, usable in initialisers. */
/* clang-format off */
#define HF_TEXT(literal) {"" literal, sizeof(literal) - 1}
/* clang-format on */

/* A C string as hf_bytes. NULL becomes empty. Borrows `text`. */
static inline struct hf_bytes hf_text(const char *text)
{
    struct hf_bytes bytes = {text, text ? strlen(text) : 0};
    return bytes;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

#define HF_ID_MAX 128                              /* bytes of an id */
#define HF_ID_SIZE (HF_ID_MAX + 1)                 /* an id with its NUL */
#define HF_INTEGER_MAX ((int64_t)9007199254740991) /* 2^53 - 1 */
/* An optional number of 0, for the members that say so: there, too, a member of 0 is one that was
 * not given. */
#define HF_ZERO INT64_MIN
#define HF_TTL_MIN_MS ((int64_t)10)                /* shortest duration */
#define HF_TTL_MAX_MS ((int64_t)30 * 24 * 3600000) /* longest duration: 30 days */
#define HF_CODE_SIZE 11                            /* a confirmation code with its NUL */
#define HF_TOKEN_SIZE 33                           /* a queue token or pass with its NUL */
#define HF_WORD_SIZE 16                            /* a state such as "CONFIRMED" with its NUL */
#define HF_NODE_SIZE 272                           /* "host:port" of a Redis node with its NUL */
#define HF_CURSOR_MAX 191                          /* bytes of a list's cursor */
#define HF_CURSOR_SIZE (HF_CURSOR_MAX + 1)         /* a cursor with its NUL */
#define HF_PAIR_CURSOR_MAX (2 * HF_ID_MAX + 1)     /* of a list in the order of two ids */
#define HF_PAIR_CURSOR_SIZE (HF_PAIR_CURSOR_MAX + 1)
#define HF_PAGE_MAX 1000 /* items of one page of a list */

#ifdef __cplusplus
}
#endif

#endif
