/* SPDX-License-Identifier: Apache-2.0
 *
 * The one table of commands, a file of rows for each family, and how a row is found. */
#include <pthread.h>
#include <string.h>

#include "base/check.h"
#include "base/resp_write.h"
#include "base/text.h"
#include "command/row.h"

/* clang-format off */
const struct command_spec command_table[COMMAND_COUNT] = {
#include "command/rows_seats.h"
#include "command/rows_quota.h"
#include "command/rows_semaphore.h"
#include "command/rows_lock.h"
#include "command/rows_stock.h"
#include "command/rows_saga.h"
#include "command/rows_webhooks.h"
#include "command/rows_room.h"
#include "command/rows_idempotency.h"
#include "command/rows_list.h"
};
/* clang-format on */

/* What is found out once about the rows. Where a row is by its name and by its number, so that
 * neither depends on how many rows there are: its index in the table and one, or 0 for none. */
#define NAME_SLOTS 256 /* a power of two, well above the number of rows */
#define NUMBERS 256    /* that rows have in files: below this */
#define FIELDS_MAX 512 /* that all rows together have in their replies */

static struct {
    uint8_t by_name[NAME_SLOTS];
    uint8_t by_number[NUMBERS];
    uint16_t first_field[COMMAND_COUNT]; /* of each row, in resp_names */
    struct resp_name resp_names[FIELDS_MAX];
} rows;

_Static_assert(COMMAND_COUNT <= NAME_SLOTS / 2, "the table of names has room");

/* Of a few letters, whatever their case; what they do not tell apart stands side by side. */
static unsigned slot_of(const char *name, size_t size)
{
    unsigned sum = (unsigned)size;

    for (size_t i = 0; i < 4; i++) {
        sum = sum * 31 + ((unsigned char)name[i * (size - 1) / 3] & 0xdfU);
    }
    return (sum ^ sum >> 8) % NAME_SLOTS;
}

static void prepare_names(const struct command_spec *row, struct resp_name *names)
{
    for (size_t i = 0; i < row->field_count; i++) {
        struct hf_bytes name = hf_text(row->fields[i].name);
        char text[RESP_NUMBER_MAX + HF_ID_MAX];

        CHECK(name.size + sizeof "$00\r\n\r\n" <= sizeof names[i].bytes);
        names[i].size = (uint8_t)(resp_put_text(text, name) - text);
        memcpy(names[i].bytes, text, names[i].size);
    }
}

static void index_rows(void)
{
    size_t fields = 0;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *row = &command_table[i];
        unsigned slot = slot_of(row->name, strlen(row->name));

        while (rows.by_name[slot] != 0) {
            slot = (slot + 1) % NAME_SLOTS;
        }
        rows.by_name[slot] = (uint8_t)(i + 1);
        CHECK(row->number < NUMBERS);
        rows.by_number[row->number] = (uint8_t)(i + 1);
        CHECK(fields + row->field_count <= FIELDS_MAX);
        rows.first_field[i] = (uint16_t)fields;
        prepare_names(row, &rows.resp_names[fields]);
        fields += row->field_count;
    }
}

static void ensure_indexed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, index_rows);
}

const struct command_spec *command_find(struct hf_bytes name)
{
    ensure_indexed();
    if (name.size == 0) {
        return NULL;
    }
    for (unsigned slot = slot_of(name.data, name.size); rows.by_name[slot] != 0;
         slot = (slot + 1) % NAME_SLOTS) {
        const struct command_spec *row = &command_table[rows.by_name[slot] - 1];
        if (text_is_word(name, row->name)) {
            return row;
        }
    }
    return NULL;
}

const struct resp_name *command_resp_names(const struct command_spec *spec)
{
    ensure_indexed();
    if (spec < command_table || spec >= command_table + COMMAND_COUNT) {
        return NULL;
    }
    return &rows.resp_names[rows.first_field[command_id(spec)]];
}

const struct command_spec *command_by_number(uint64_t number)
{
    ensure_indexed();
    if (number >= NUMBERS || rows.by_number[number] == 0) {
        return NULL;
    }
    return &command_table[rows.by_number[number] - 1];
}
