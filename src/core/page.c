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

bool page_parse_cursor(struct hf_bytes after, size_t count, uint32_t *places)
{
    for (size_t i = 0; i < count; i++) {
        const char *dot = after.size > 0 ? memchr(after.data, '.', after.size) : NULL;
        size_t size = dot != NULL ? (size_t)(dot - after.data) : after.size;
        if ((dot != NULL) != (i + 1 < count) ||
            !to_place((struct hf_bytes){after.data, size}, &places[i])) {
            return false;
        }
        size_t skip = size + (dot != NULL);
        after = (struct hf_bytes){after.data + skip, after.size - skip};
    }
    return true;
}

void page_set_cursor(struct reply *reply, size_t count, const uint32_t *places)
{
    char cursor[HF_CURSOR_SIZE];
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            cursor[size++] = '.';
        }
        size += decimal_write(cursor + size, places[i]);
    }
    reply_set_text(reply, 0, (struct hf_bytes){cursor, size});
}

void page_refuse_cursor(struct reply *reply, struct hf_bytes after)
{
    reply_refuse_texts(reply, HF_INVALID_ARGUMENT,
                       "AFTER @ is no cursor of this list: begin without it, or with what a page "
                       "ended with",
                       after, (struct hf_bytes){"", 0});
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

/* Is it the scope's turn to be looked at? What is due in it may have to expire first, and it may be
 * gone with that. */
static bool is_ready(struct core *core, const struct page *page, uint32_t index)
{
    return page->ready == NULL || page->ready(core, index);
}

enum page_end core_page_fill(struct core *core, const struct page *page, struct page_walk *walk,
                             struct reply *reply)
{
    const struct roster *roster = store_roster(&core->stores[page->kind], page->scope);
    size_t fields = command_table[page->command].field_count;

    for (; walk->looks < PAGE_LOOKS && walk->shown < page->count; walk->looks++, walk->place++) {
        uint32_t index = roster_next(roster, &walk->place);
        if (index == NONE || walk->place >= walk->end) {
            return PAGE_DONE;
        }
        if (!is_ready(core, page, index)) {
            return PAGE_MORE;
        }
        if (roster_at(roster, walk->place) != index ||
            is_due(core, page->kind, core_at(core, page->kind, index))) {
            continue;
        }
        size_t before = reply->count;
        if (!reserve_item(page->command, reply)) {
            return PAGE_NO_MEMORY;
        }
        if (page->show(core, index, page->context, reply)) {
            CHECK(reply->count == before + fields);
            walk->shown++;
        }
    }
    return PAGE_MORE;
}

void core_page(struct core *core, const struct page *page, struct reply *reply)
{
    const struct roster *roster =
        page->scope != NONE ? store_roster(&core->stores[page->kind], page->scope) : NULL;
    uint32_t places[2] = {0, roster != NULL ? roster_end(roster) : 0};

    if (page->after.size > 0 && !page_parse_cursor(page->after, 2, places)) {
        page_refuse_cursor(reply, page->after);
        return;
    }
    struct page_walk walk = {.place = places[0], .end = places[1]};
    reply_word(reply, "");
    enum page_end end = roster != NULL ? core_page_fill(core, page, &walk, reply) : PAGE_DONE;
    if (end == PAGE_NO_MEMORY && reply->count == 1) {
        reply_clear(reply);
        reply_busy(core, reply);
    } else if (end != PAGE_DONE && walk.place < walk.end) {
        places[0] = walk.place;
        page_set_cursor(reply, 2, places);
    }
}
