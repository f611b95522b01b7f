/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading comma-separated values, RFC 4180: fields may be quoted, and then hold commas, line ends
 * and doubled quotes; a line ends with LF or CRLF; a byte order mark in front is passed over. The
 * text is not changed, so that it can be read twice. */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include "base/buffer.h"

#define CSV_FIELDS_MAX 32

struct csv {
    const char *at, *end;
    size_t line;          /* the number of the line at `at`, from 1 */
    struct memory memory; /* of the buffer below */
    struct buffer
        unquoted; /* fields of the last record that do not stand in the text as they are */
};

struct csv_record {
    size_t line;  /* where it starts */
    size_t count; /* of fields; only the first CSV_FIELDS_MAX of them are kept */
    struct hf_bytes fields[CSV_FIELDS_MAX]; /* valid until the next record is read */
    const char *fault;                      /* what is malformed about it; NULL if nothing is */
};

/* Reads from the start of `text`, which is borrowed. */
void csv_init(struct csv *csv, struct hf_bytes text);
void csv_free(struct csv *csv);

/* The next record; false at the end. Empty lines are passed over. After a malformed one reading
 * goes on with the line that follows. */
bool csv_next(struct csv *csv, struct csv_record *record);

#endif
