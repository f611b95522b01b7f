/* SPDX-License-Identifier: Apache-2.0
 *
 * LIST: all there is of a kind, with its totals. Before a scope is looked at, what is due in it
 * expires; if that is much, the page ends there, and the next one goes on. */
#include "base/text.h"
#include "core/room.h"

/* What one LIST is asked for. */
struct wanted {
    struct hf_bytes match;
    int64_t now_ms;
};

/* ---- items ----------------------------------------------------------------------------------- */

/* Writes the name of a record; returns its size. */
static size_t write_name(const struct core *core, enum kind kind, uint32_t index, char *out)
{
    struct name name = record_name(core_at(core, kind, index));

    return name_write(&name, out);
}

/* Begins an item if its name is wanted: the other fields are absent at first. */
static bool begin_item(struct reply *reply, const void *context, const char *name, size_t size)
{
    const struct wanted *wanted = context;

    if (size < wanted->match.size ||
        (wanted->match.size > 0 && memcmp(name, wanted->match.data, wanted->match.size) != 0)) {
        return false;
    }
    reply_text(reply, name, size);
    for (size_t i = 1; i < command_table[LIST].field_count; i++) {
        reply_absent(reply);
    }
    return true;
}

static bool begin_record(struct core *core, enum kind kind, uint32_t index, const void *context,
                         struct reply *reply)
{
    char name[HF_ID_MAX];

    return begin_item(reply, context, name, write_name(core, kind, index, name));
}

/* The field of the last item that has this offset in the struct of holdfast.h. */
static size_t field_at(const struct reply *reply, size_t offset)
{
    const struct command_spec *spec = &command_table[LIST];
    size_t i = 0;

    while (spec->fields[i].offset != offset) {
        i++;
    }
    return reply->count - spec->field_count + i;
}

#define SET_NUMBER(member, amount)                                                                 \
    reply->values[field_at(reply, offsetof(struct hf_list_item, member))] = (struct value)         \
    {                                                                                              \
        .kind = VALUE_NUMBER, .number = (amount)                                                   \
    }
#define SET_TEXT(member, text)                                                                     \
    reply_set_text(reply, field_at(reply, offsetof(struct hf_list_item, member)), text)

static bool show_event(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct seat_event *event = core_at(core, CORE_EVENTS, index);

    if (event->zones.count == 0 || !begin_record(core, CORE_EVENTS, index, context, reply)) {
        return false;
    }
    SET_NUMBER(zones, event->zones.count);
    SET_NUMBER(bookings, event->bookings.count);
    return true;
}

static bool show_zone(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct zone *zone = core_at(core, CORE_ZONES, index);
    char name[2 * HF_ID_SIZE];
    size_t event = write_name(core, CORE_EVENTS, zone->record.scope, name);

    name[event] = ' '; /* which is in no id */
    size_t size = event + 1 + write_name(core, CORE_ZONES, index, name + event + 1);
    if (!begin_item(reply, context, name, size)) {
        return false;
    }
    SET_TEXT(event_id, ((struct hf_bytes){name, event}));
    SET_TEXT(zone_id, ((struct hf_bytes){name + event + 1, size - event - 1}));
    SET_NUMBER(capacity, zone->capacity);
    SET_NUMBER(available, zone->capacity - zone->reserved - zone->confirmed);
    SET_NUMBER(reserved, zone->reserved);
    SET_NUMBER(confirmed, zone->confirmed);
    return true;
}

/* One that is kept only for the retries of its holds is not there. */
static bool show_tenant(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct tenant *tenant = core_at(core, CORE_TENANTS, index);

    if ((tenant->limit == 0 && tenant->committed == 0 && tenant->held == 0) ||
        !begin_record(core, CORE_TENANTS, index, context, reply)) {
        return false;
    }
    SET_NUMBER(used, tenant->committed + tenant->held);
    SET_NUMBER(limit, tenant->limit);
    SET_NUMBER(held, tenant->held);
    return true;
}

static bool show_semaphore(struct core *core, uint32_t index, const void *context,
                           struct reply *reply)
{
    const struct semaphore *semaphore = core_at(core, CORE_SEMAPHORES, index);

    if (semaphore->clients.count == 0 ||
        !begin_record(core, CORE_SEMAPHORES, index, context, reply)) {
        return false;
    }
    SET_NUMBER(in_use, semaphore->in_use);
    SET_NUMBER(max, semaphore->max);
    SET_NUMBER(waiting, semaphore->line.count);
    return true;
}

static bool show_lock(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct lock *lock = core_at(core, CORE_LOCKS, index);
    const struct wanted *wanted = context;
    char id[HF_ID_MAX];

    if (!begin_record(core, CORE_LOCKS, index, context, reply)) {
        return false;
    }
    SET_TEXT(lock_id, ((struct hf_bytes){id, name_write(&lock->id, id)}));
    SET_NUMBER(fence, lock->fence);
    SET_NUMBER(ttl_ms, lock->timer.deadline_ms - wanted->now_ms);
    return true;
}

static bool show_product(struct core *core, uint32_t index, const void *context,
                         struct reply *reply)
{
    const struct core_product *product = core_at(core, CORE_PRODUCTS, index);
    int64_t all = product->loaded + product->adjusted;

    if (!begin_record(core, CORE_PRODUCTS, index, context, reply)) {
        return false;
    }
    SET_NUMBER(available, all - product->taken - product->sold);
    SET_NUMBER(taken, product->taken);
    SET_NUMBER(sold, product->sold);
    SET_NUMBER(loaded, all);
    SET_NUMBER(shards, product->shards);
    SET_TEXT(mode, hf_text("single"));
    return true;
}

/* One that has no settings and that nobody is in line for or inside of is not there. */
static bool show_room(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct room *room = core_at(core, CORE_ROOMS, index);

    if ((room->line.count == 0 && room->passes == 0 && !room_has_settings(room)) ||
        !begin_record(core, CORE_ROOMS, index, context, reply)) {
        return false;
    }
    SET_NUMBER(waiting, room->line.count);
    SET_NUMBER(inside, room->passes);
    return true;
}

/* The keys of HTTP requests, which no command can name, are not listed. */
static bool show_key(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct idem *idem = core_at(core, CORE_IDEM_KEYS, index);
    bool processing = idem->record.state == IDEM_PROCESSING;
    char name[HF_ID_MAX];
    size_t size = write_name(core, CORE_IDEM_KEYS, index, name);

    if (text_is_own_id((struct hf_bytes){name, size}) || !begin_item(reply, context, name, size)) {
        return false;
    }
    SET_TEXT(state, hf_text(processing ? "PROCESSING" : "COMPLETED"));
    return true;
}

/* ---- what is due ----------------------------------------------------------------------------- */

static bool ready(struct core *core, enum kind kind, uint32_t index)
{
    char name[HF_ID_MAX];
    size_t size = write_name(core, kind, index, name);

    return core_ready_in(core, kind, (struct hf_bytes){name, size}, EXPIRED_AT_ONCE);
}

static bool event_ready(struct core *core, uint32_t index)
{
    return ready(core, CORE_EVENTS, index);
}

static bool zone_ready(struct core *core, uint32_t index)
{
    return ready(core, CORE_EVENTS, ((struct record *)core_at(core, CORE_ZONES, index))->scope);
}

static bool tenant_ready(struct core *core, uint32_t index)
{
    return ready(core, CORE_TENANTS, index);
}

static bool semaphore_ready(struct core *core, uint32_t index)
{
    return ready(core, CORE_SEMAPHORES, index);
}

static bool product_ready(struct core *core, uint32_t index)
{
    return ready(core, CORE_PRODUCTS, index);
}

static bool room_ready(struct core *core, uint32_t index)
{
    return ready(core, CORE_ROOMS, index);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum kind kind;
    core_show *show;
    bool (*ready)(struct core *core, uint32_t index);
} lists[] = {
    {"events", CORE_EVENTS, show_event, event_ready},
    {"zones", CORE_ZONES, show_zone, zone_ready},
    {"tenants", CORE_TENANTS, show_tenant, tenant_ready},
    {"semaphores", CORE_SEMAPHORES, show_semaphore, semaphore_ready},
    {"locks", CORE_LOCKS, show_lock, NULL},
    {"products", CORE_PRODUCTS, show_product, product_ready},
    {"rooms", CORE_ROOMS, show_room, room_ready},
    {"keys", CORE_IDEM_KEYS, show_key, NULL},
};

/* Zones are in the rosters of their events: a cursor is the place of the event, that of the zone in
 * it, and where the events ended when the walk began. */
static void list_zones(struct core *core, struct page *page, struct reply *reply)
{
    const struct roster *events = &core->stores[CORE_EVENTS].roster;
    uint32_t places[3] = {0, 0, roster_end(events)}, event;
    struct page_walk walk = {.end = RECORDS_MAX};
    enum page_end end = PAGE_DONE;

    if (page->after.size > 0 && !page_parse_cursor(page->after, 3, places)) {
        page_refuse_cursor(reply, page->after);
        return;
    }
    reply_word(reply, "");
    walk.place = places[1];
    uint32_t first = places[0];
    while (end == PAGE_DONE && (event = roster_next(events, &places[0])) != NONE &&
           places[0] < places[2]) {
        walk.place = places[0] == first ? walk.place : 0;
        page->scope = event;
        end = core_page_fill(core, page, &walk, reply);
        places[1] = walk.place;
        walk.looks++; /* events without zones are looked at, too */
        if (end == PAGE_DONE) {
            places[0]++;
            places[1] = walk.place = 0;
            first = NONE;
        }
    }
    if (end == PAGE_NO_MEMORY && reply->count == 1) {
        reply_clear(reply);
        reply_busy(core, reply);
    } else if (end != PAGE_DONE) {
        page_set_cursor(reply, 3, places);
    }
}

CORE_COMMAND(list)
{
    const struct hf_list_args *a = &args->list;
    struct wanted wanted = {.match = a->match, .now_ms = core->now_ms};
    size_t i = 0;
    (void)entropy;

    while (!text_equal(a->kind, hf_text(lists[i].name))) {
        i++;
    }
    struct page page = {.command = LIST,
                        .kind = lists[i].kind,
                        .after = a->after,
                        .count = a->count,
                        .show = lists[i].show,
                        .context = &wanted,
                        .ready = lists[i].ready};
    if (page.kind == CORE_ZONES) {
        list_zones(core, &page, reply);
    } else {
        core_page(core, &page, reply);
    }
}
