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

/* The first eight bytes of a name and the last eight, in upper case: with its size, all there is to
 * know of a name of up to sixteen. What is shorter than eight is filled up with zeros. */
struct name_key {
    uint64_t first, last;
};

/* What is found out once about the rows. Where a row is by its name and by its number, so that
 * neither depends on how many rows there are: its index in the table and one, or 0 for none. */
#define NAME_SLOTS 256 /* a power of two, well above the number of rows */
#define NUMBERS 256    /* that rows have in files: below this */
#define FIELDS_MAX 512 /* that all rows together have in their replies */

struct name_slot {
    struct name_key key;
    uint8_t size, row;
};

static struct {
    struct name_slot by_name[NAME_SLOTS];
    uint8_t by_number[NUMBERS];
    uint16_t first_field[COMMAND_COUNT]; /* of each row, in resp_names */
    struct resp_name resp_names[FIELDS_MAX];
    union command_args defaults[COMMAND_COUNT];
} rows;

_Static_assert(COMMAND_COUNT <= NAME_SLOTS / 2, "the table of names has room");

#define EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight characters, each in upper case if it is a letter from a to z. */
static uint64_t upper_case(uint64_t word)
{
    uint64_t seven = word & EVERY_BYTE(0x7f);
    uint64_t from_a = seven + EVERY_BYTE(0x80 - 'a'), past_z = seven + EVERY_BYTE(0x7f - 'z');
    uint64_t lower = from_a & ~past_z & ~word & EVERY_BYTE(0x80);

    return word - (lower >> 2); /* 0x20 less */
}

static struct name_key name_key(struct hf_bytes name)
{
    struct name_key key = {0, 0};

    if (name.size >= sizeof key.first) {
        memcpy(&key.first, name.data, sizeof key.first);
        memcpy(&key.last, name.data + name.size - sizeof key.last, sizeof key.last);
    } else {
        memcpy(&key.first, name.data, name.size);
    }
    return (struct name_key){upper_case(key.first), upper_case(key.last)};
}

/* Where to look for a name first; what has the same slot stands side by side. */
static unsigned slot_of(struct name_key key)
{
    uint64_t mixed = (key.first ^ key.last * 31) * UINT64_C(0x9e3779b97f4a7c15);

    return (unsigned)(mixed >> 32) % NAME_SLOTS;
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
        struct hf_bytes name = hf_text(row->name);
        CHECK(name.size > 0 && name.size <= UINT8_MAX);
        struct name_key key = name_key(name);
        unsigned slot = slot_of(key);

        while (rows.by_name[slot].row != 0) {
            slot = (slot + 1) % NAME_SLOTS;
        }
        rows.by_name[slot] = (struct name_slot){key, (uint8_t)name.size, (uint8_t)(i + 1)};
        CHECK(row->number < NUMBERS);
        rows.by_number[row->number] = (uint8_t)(i + 1);
        CHECK(fields + row->field_count <= FIELDS_MAX);
        rows.first_field[i] = (uint16_t)fields;
        prepare_names(row, &rows.resp_names[fields]);
        fields += row->field_count;
        command_fill_defaults(row, &rows.defaults[i]);
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
    struct name_key key = name_key(name);
    for (unsigned i = slot_of(key); rows.by_name[i].row != 0; i = (i + 1) % NAME_SLOTS) {
        const struct name_slot *slot = &rows.by_name[i];
        if (slot->key.first == key.first && slot->key.last == key.last && slot->size == name.size) {
            return &command_table[slot->row - 1];
        }
    }
    return NULL;
}

const union command_args *command_defaults(const struct command_spec *spec)
{
    ensure_indexed();
    return &rows.defaults[command_id(spec)];
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
