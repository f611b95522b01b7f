/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of comma-separated values, as `holdfast load` reads it. Reading ends, reading twice gives
 * the same, and a record that is well formed reads the same when it is written anew with every
 * field in quotes. */
#include "base/check.h"
#include "cli/csv.h"
#include "fuzz.h"

#include <stdlib.h>

static bool equal(struct hf_bytes a, struct hf_bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static size_t kept_fields(const struct csv_record *record)
{
    return record->count < CSV_FIELDS_MAX ? record->count : CSV_FIELDS_MAX;
}

/* Every field stands in the text or in the copy that the reader made. */
static void check_record(const struct csv *csv, const struct csv_record *record,
                         struct hf_bytes text)
{
    CHECK(record->count > 0 && record->line > 0 && record->line <= csv->line);
    for (size_t i = 0; i < kept_fields(record); i++) {
        struct hf_bytes field = record->fields[i];
        const char *end = field.data + field.size;
        bool in_text = field.data >= text.data && end <= text.data + text.size;
        bool in_copy =
            field.data >= csv->unquoted.data && end <= csv->unquoted.data + csv->unquoted.size;
        CHECK(field.size == 0 || in_text || in_copy);
    }
}

static void write_quoted(struct buffer *out, const struct csv_record *record)
{
    for (size_t i = 0; i < kept_fields(record); i++) {
        buffer_text(out, i > 0 ? ",\"" : "\"");
        for (size_t j = 0; j < record->fields[i].size; j++) {
            char c = record->fields[i].data[j];
            buffer_bytes(out, "\"\"", c == '"' ? 2 : 0);
            buffer_bytes(out, &c, c == '"' ? 0 : 1);
        }
        buffer_byte(out, '"');
    }
    buffer_text(out, "\r\n");
}

static void check_written_anew(const struct csv_record *record)
{
    struct memory memory;
    struct buffer text;
    struct csv csv;
    struct csv_record again;

    memory_init(&memory);
    buffer_init(&text, &memory);
    write_quoted(&text, record);
    CHECK(!text.failed);
    csv_init(&csv, (struct hf_bytes){text.data, text.size});
    CHECK(csv_next(&csv, &again) && again.fault == NULL);
    CHECK(again.line == 1 && again.count == kept_fields(record));
    for (size_t i = 0; i < again.count; i++) {
        CHECK(equal(again.fields[i], record->fields[i]));
    }
    CHECK(!csv_next(&csv, &again));
    csv_free(&csv);
    buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv first, second;
    struct csv_record record, same;
    size_t line = 0;
    char *copy = malloc(size > 0 ? size : 1); /* of its own, so that reading past it is seen */

    CHECK(copy != NULL);
    memcpy(copy, data, size);
    struct hf_bytes text = {copy, size};
    csv_init(&first, text);
    csv_init(&second, text);
    while (csv_next(&first, &record)) {
        check_record(&first, &record, text);
        CHECK(record.line > line);
        line = record.line;
        CHECK(csv_next(&second, &same));
        CHECK(same.line == record.line && same.count == record.count && same.fault == record.fault);
        if (record.fault == NULL) {
            check_written_anew(&record);
        }
    }
    CHECK(!csv_next(&second, &same));
    csv_free(&first);
    csv_free(&second);
    CHECK(first.memory.used == 0 && second.memory.used == 0);
    free(copy);
    return 0;
}
