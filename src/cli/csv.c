/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads comma-separated values field by field. A field is a view of the text unless it has doubled
 * quotes. */
#include "cli/csv.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

void csv_init(struct csv *csv, struct hf_bytes text)
{
    *csv = (struct csv){.at = text.data, .end = text.data + text.size, .line = 1};
    memory_init(&csv->memory);
    buffer_init(&csv->unquoted, &csv->memory);
    if (text.size >= 3 && memcmp(text.data, BYTE_ORDER_MARK, 3) == 0) {
        csv->at += 3;
    }
}

void csv_free(struct csv *csv)
{
    buffer_free(&csv->unquoted);
}

/* Bytes of the line end at `at`; 0 if there is none. */
static size_t line_end(const struct csv *csv, const char *at)
{
    size_t left = (size_t)(csv->end - at);

    if (left >= 2 && at[0] == '\r' && at[1] == '\n') {
        return 2;
    }
    return left >= 1 && at[0] == '\n';
}

static bool field_ends(const struct csv *csv, const char *at)
{
    return at == csv->end || *at == ',' || line_end(csv, at) > 0;
}

/* A field without quotes goes on to the next comma or line end. */
static const char *read_plain(struct csv *csv, struct hf_bytes *field)
{
    const char *start = csv->at, *fault = NULL;

    for (; !field_ends(csv, csv->at); csv->at++) {
        if (*csv->at == '"') {
            fault = "a quote inside a field that does not start with one";
        }
    }
    *field = (struct hf_bytes){start, (size_t)(csv->at - start)};
    return fault;
}

/* A field in quotes. With doubled quotes inside it is copied: `field` then holds no pointer but,
 * in *offset, where the copy starts. */
static const char *read_quoted(struct csv *csv, struct hf_bytes *field, size_t *offset)
{
    const char *start = ++csv->at;

    *offset = csv->unquoted.size;
    for (;;) {
        const char *quote =
            csv->at < csv->end ? memchr(csv->at, '"', (size_t)(csv->end - csv->at)) : NULL;
        if (quote == NULL) {
            csv->at = csv->end;
            return "a quote is opened and never closed";
        }
        for (const char *at = csv->at; at < quote; at++) {
            csv->line += *at == '\n';
        }
        csv->at = quote + 1;
        if (csv->at == csv->end || *csv->at != '"') {
            *field = (struct hf_bytes){start, (size_t)(quote - start)};
            break;
        }
        buffer_bytes(&csv->unquoted, start, (size_t)(csv->at - start)); /* with one of the two */
        start = ++csv->at;
    }
    if (csv->unquoted.size > *offset) {
        buffer_bytes(&csv->unquoted, field->data, field->size);
        *field = (struct hf_bytes){NULL, csv->unquoted.size - *offset};
    }
    return field_ends(csv, csv->at) ? NULL : "text behind the quote that ends a field";
}

static void skip_line(struct csv *csv)
{
    while (csv->at < csv->end && line_end(csv, csv->at) == 0) {
        csv->at++;
    }
}

static void pass_line_end(struct csv *csv)
{
    size_t size = line_end(csv, csv->at);

    csv->at += size;
    csv->line += size > 0;
}

static void read_field(struct csv *csv, struct csv_record *record, size_t *offset)
{
    struct hf_bytes field = {NULL, 0};
    const char *fault = csv->at < csv->end && *csv->at == '"' ? read_quoted(csv, &field, offset)
                                                              : read_plain(csv, &field);

    if (record->fault == NULL) {
        record->fault = fault;
    }
    if (record->count < CSV_FIELDS_MAX) {
        record->fields[record->count] = field;
    }
    record->count++;
}

bool csv_next(struct csv *csv, struct csv_record *record)
{
    size_t offsets[CSV_FIELDS_MAX + 1] = {0};

    while (line_end(csv, csv->at) > 0) {
        pass_line_end(csv);
    }
    if (csv->at == csv->end) {
        return false;
    }
    *record = (struct csv_record){.line = csv->line};
    buffer_clear(&csv->unquoted);
    for (bool more = true; more; csv->at += more) {
        read_field(csv, record,
                   &offsets[record->count < CSV_FIELDS_MAX ? record->count : CSV_FIELDS_MAX]);
        more = csv->at < csv->end && *csv->at == ',' && record->fault == NULL;
    }
    skip_line(csv);
    pass_line_end(csv);
    /* Only now the copies stay where they are. */
    for (size_t i = 0; i < record->count && i < CSV_FIELDS_MAX; i++) {
        if (record->fields[i].data == NULL && record->fields[i].size > 0) {
            record->fields[i].data = csv->unquoted.data + offsets[i];
        }
    }
    if (csv->unquoted.failed) {
        record->fault = "no memory to read it";
    }
    return true;
}
