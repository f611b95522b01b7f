/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of errors itself is HF_ERROR_MAP in holdfast.h, with hf_error_name() and
 * hf_error_status(). */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "holdfast.h"

/* hf_error_name(), with its length. */
struct hf_bytes error_name(enum hf_error code);

/* The default text of a code. */
const char *error_text(enum hf_error code);

/* A refusal of a well-formed command, [0, CODE, message] in RESP; the others are errors of the
 * request or the server, -CODE message. */
bool error_is_refusal(enum hf_error code);

/* Seconds after which the same request may well succeed; 0: trying later does not help. */
int error_retry_s(enum hf_error code);

/* What a server answers to a command that only Redis has. A client that was pointed at a server
 * of ours as if it were Redis recognises it by this text. */
#define ERROR_TEXT_NOT_REDIS                                                                       \
    "this is Holdfast, not Redis; the URL of a server is holdfast://host:port"

/* What a command that needs a ledger answers where there is none. */
#define ERROR_TEXT_NO_LEDGER                                                                       \
    "there is no ledger: start the server with --ledger, or with a data directory"

#endif
