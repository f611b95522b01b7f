/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of a list: the records of a roster from a cursor on, within bounds.
 *
 * A cursor is "PLACE.END": the place to go on from, and where the roster ended when the walk began.
 * What came behind that end since was not there from the beginning, so that a walk ends however
 * many come. */
#include "base/check.h"
#include "base/text.h"
#include "core/state.h"

struct walk {
    uint32_t place, end;
};

static bool to_place(struct hf_bytes text, uint32_t *place)
{
    int64_t number;

    if (text.size == 0 || text.data[0] < '0' || text.data[0] > '9' ||
        !text_to_integer(text, &number) || number > RECORDS_MAX) {
        return false;
    }
    *place = (uint32_t)number;
    return true;
}

/* Where to begin; false if `after` is no cursor. */
static bool begin(const struct page *page, const struct roster *roster, struct walk *walk)
{
    struct hf_bytes after = page->after;
    const char *dot = after.size > 0 ? memchr(after.data, '.', after.size) : NULL;

    *walk = (struct walk){.place = 0, .end = roster != NULL ? roster_end(roster) : 0};
    if (after.size == 0) {
        return true;
    }
    if (dot == NULL) {
        return false;
    }
    size_t size = (size_t)(dot - after.data);
    return to_place((struct hf_bytes){after.data, size}, &walk->place) &&
           to_place((struct hf_bytes){dot + 1, after.size - size - 1}, &walk->end);
}

/* Is a record that is in no agenda of the scope due already? */
static bool is_due(const struct core *core, enum kind kind, const struct record *record)
{
    int64_t deadline_ms = kinds[kind].due != NULL ? record_deadline_ms(record) : 0;

    return deadline_ms != 0 && deadline_ms <= core->latest_ms;
}

/* Room for all fields of one more item, and for the cursor. */
static bool reserve_item(enum command_id command, struct reply *reply)
{
    const struct command_spec *spec = &command_table[command];
    size_t text = HF_CURSOR_SIZE;

    for (size_t i = 0; i < spec->field_count; i++) {
        text += spec->fields[i].size;
    }
    return reply_reserve(reply, 1 + spec->field_count, text);
}

static void set_cursor(struct reply *reply, const struct walk *walk)
{
    char cursor[48];
    size_t size = decimal_write(cursor, walk->place);

    cursor[size++] = '.';
    size += decimal_write(cursor + size, walk->end);
    reply_set_text(reply, 0, (struct hf_bytes){cursor, size});
}

/* Shows records until the page is full or enough were looked at. False if there was no memory for
 * the next one. */
static bool fill(struct core *core, const struct page *page, const struct roster *roster,
                 struct walk *walk, struct reply *reply)
{
    size_t fields = command_table[page->command].field_count;
    int64_t shown = 0;

    for (int looks = 0; looks < PAGE_LOOKS && shown < page->count; looks++, walk->place++) {
        uint32_t index = roster_next(roster, &walk->place);
        if (index == NONE || walk->place >= walk->end) {
            walk->place = walk->end;
            return true;
        }
        if (is_due(core, page->kind, core_at(core, page->kind, index))) {
            continue;
        }
        size_t before = reply->count;
        if (!reserve_item(page->command, reply)) {
            return false;
        }
        if (page->show(core, index, page->context, reply)) {
            CHECK(reply->count == before + fields);
            shown++;
        }
    }
    return true;
}

void core_page(struct core *core, const struct page *page, struct reply *reply)
{
    const struct roster *roster =
        page->scope != NONE ? store_roster(&core->stores[page->kind], page->scope) : NULL;
    struct walk walk;

    if (!begin(page, roster, &walk)) {
        reply_refuse_texts(reply, HF_INVALID_ARGUMENT,
                           "AFTER @ is no cursor of this list: begin without it, or with what a "
                           "page ended with",
                           page->after, (struct hf_bytes){"", 0});
        return;
    }
    reply_text(reply, "", 0);
    if (roster != NULL && !fill(core, page, roster, &walk, reply) && reply->count == 1) {
        reply_clear(reply);
        reply_busy(core, reply);
        return;
    }
    if (roster != NULL && walk.place < walk.end) {
        set_cursor(reply, &walk);
    }
}
