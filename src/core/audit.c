/* SPDX-License-Identifier: Apache-2.0
 *
 * The proof that nothing was lost or handed out twice: every total is computed again from the
 * records, every index and timer looked at, and what differs is named. */
#include "base/check.h"
#include "core/room.h"

struct core_audit {
    struct core *core;
    bool look_up; /* every record under its name */
    hf_audit_report *report;
    void *context;
    uint64_t findings;
    struct buffer line;
};

/* "zone floor of gala". */
static void write_who(struct core_audit *audit, enum kind kind, const struct record *record)
{
    struct name name = record_name(record);
    char text[HF_ID_MAX];

    buffer_text(&audit->line, kinds[kind].name);
    buffer_byte(&audit->line, ' ');
    buffer_bytes(&audit->line, text, name_write(&name, text));
    if (kinds[kind].parent != CORE_NO_KIND) {
        name = record_name(core_at(audit->core, kinds[kind].parent, record->scope));
        buffer_text(&audit->line, " of ");
        buffer_bytes(&audit->line, text, name_write(&name, text));
    }
}

/* One line of the report; `record` is NULL for what concerns a whole kind. */
static void finding(struct core_audit *audit, enum kind kind, const struct record *record,
                    const char *what, int64_t stands, int64_t computed)
{
    audit->findings++;
    if (audit->report == NULL) {
        return;
    }
    buffer_clear(&audit->line);
    if (record != NULL) {
        write_who(audit, kind, record);
    } else {
        buffer_format(&audit->line, "all of kind %s", kinds[kind].name);
    }
    buffer_format(&audit->line, ": %s is %lld, the records say %lld", what, (long long)stands,
                  (long long)computed);
    buffer_byte(&audit->line, 0);
    audit->report(audit->context, audit->line.failed ? "out of memory" : audit->line.data);
}

static void expect(struct core_audit *audit, enum kind kind, uint32_t index, const char *what,
                   int64_t stands, int64_t computed)
{
    if (stands != computed) {
        finding(audit, kind, core_at(audit->core, kind, index), what, stands, computed);
    }
}

static void expect_all(struct core_audit *audit, enum kind kind, const char *what, int64_t stands,
                       int64_t computed)
{
    if (stands != computed) {
        finding(audit, kind, NULL, what, stands, computed);
    }
}

#define EACH(core, kind, i)                                                                        \
    for (uint32_t i = slab_next(&(core)->stores[kind].slab, 0); i != NONE;                         \
         i = slab_next(&(core)->stores[kind].slab, i + 1))

/* ---- totals ---------------------------------------------------------------------------------- */

/* What the records of a child kind add up to, for each record of the parent kind. */
struct sums {
    struct memory *memory;
    size_t size;
    int64_t (*of)[4];
};

static bool sums_init(struct sums *sums, const struct core *core, enum kind kind)
{
    *sums = (struct sums){.memory = core->memory,
                          .size = ((size_t)core->stores[kind].slab.top + 1) * sizeof(*sums->of)};
    sums->of = memory_get(core->memory, sums->size);
    if (sums->of != NULL) {
        memset(sums->of, 0, sums->size);
    }
    return sums->of != NULL;
}

static void sums_free(struct sums *sums)
{
    memory_free(sums->memory, sums->of, sums->size);
}

/* Adds to a sum that may be more than one number holds: what is left over, then how often
 * HF_INTEGER_MAX + 1 is in it. */
static void add_seats(int64_t sum[2], int64_t seats)
{
    sum[0] += seats;
    sum[1] += sum[0] > HF_INTEGER_MAX;
    sum[0] &= HF_INTEGER_MAX;
}

static void count_booking(const struct booking *booking, int64_t event[4], int64_t zone[4],
                          int64_t user[4])
{
    unsigned state = booking->record.state;
    bool lifetime = state == BOOKING_CONFIRMED && booking->record.flags & BOOKING_LIFETIME;

    add_seats(event, state == BOOKING_RESERVED ? booking->quantity : 0);
    add_seats(event + 2, state == BOOKING_CONFIRMED ? booking->quantity : 0);
    zone[0] += state == BOOKING_RESERVED ? booking->quantity : 0;
    zone[1] += state == BOOKING_CONFIRMED ? booking->quantity : 0;
    user[0] += state == BOOKING_RESERVED || state == BOOKING_LAPSED ? booking->quantity : 0;
    user[1] += state == BOOKING_CONFIRMED ? booking->quantity : 0;
    user[2] += lifetime ? booking->quantity : 0;
    user[3]++;
}

/* The totals of an event are those of its bookings. */
static void check_events(struct core_audit *audit, const struct sums *events)
{
    struct core *core = audit->core;

    EACH (core, CORE_EVENTS, i) {
        const struct seat_event *event = core_at(core, CORE_EVENTS, i);
        const int64_t *seats = events->of[i];
        expect(audit, CORE_EVENTS, i, "reserved", event->reserved.rest, seats[0]);
        expect(audit, CORE_EVENTS, i, "reserved by the whole", event->reserved.whole, seats[1]);
        expect(audit, CORE_EVENTS, i, "confirmed", event->confirmed.rest, seats[2]);
        expect(audit, CORE_EVENTS, i, "confirmed by the whole", event->confirmed.whole, seats[3]);
    }
}

/* All that bookings add up to, in one pass: they are most of a large state. */
static void add_bookings(struct core_audit *audit, struct sums sums[CORE_KIND_COUNT])
{
    struct core *core = audit->core;
    int64_t lapsed = 0;

    EACH (core, CORE_BOOKINGS, i) {
        const struct booking *booking = core_at(core, CORE_BOOKINGS, i);
        const struct zone *zone = core_at(core, CORE_ZONES, booking->zone);
        const struct seat_user *user = core_at(core, CORE_SEAT_USERS, booking->user);
        count_booking(booking, sums[CORE_EVENTS].of[booking->record.scope],
                      sums[CORE_ZONES].of[booking->zone], sums[CORE_SEAT_USERS].of[booking->user]);
        expect(audit, CORE_BOOKINGS, i, "event of its zone", zone->record.scope,
               booking->record.scope);
        expect(audit, CORE_BOOKINGS, i, "event of its user", user->record.scope,
               booking->record.scope);
        expect(audit, CORE_BOOKINGS, i, "confirmation", booking->sale != NONE,
               booking->record.state == BOOKING_CONFIRMED);
        if (booking->show != NONE) {
            const struct show *show = core_at(core, CORE_SHOWS, booking->show);
            sums[CORE_SHOWS].of[booking->show][0]++;
            expect(audit, CORE_BOOKINGS, i, "event of its show", show->record.scope,
                   booking->record.scope);
        }
        lapsed += booking->record.state == BOOKING_LAPSED;
    }
    expect_all(audit, CORE_BOOKINGS, "number in their grace", core->lapsed, lapsed);
}

static void check_seats(struct core_audit *audit, const struct sums *zones,
                        const struct sums *users, const struct sums *shows)
{
    struct core *core = audit->core;

    EACH (core, CORE_ZONES, i) {
        const struct zone *zone = core_at(core, CORE_ZONES, i);
        int64_t available = zone->capacity - zone->reserved - zone->confirmed;
        expect(audit, CORE_ZONES, i, "reserved", zone->reserved, zones->of[i][0]);
        expect(audit, CORE_ZONES, i, "confirmed", zone->confirmed, zones->of[i][1]);
        expect(audit, CORE_ZONES, i, "oversold", available < 0 ? -available : 0, 0);
        expect(audit, CORE_ZONES, i, "lifetime without a limit",
               zone->record.flags & ZONE_LIFETIME && zone->max == 0, 0);
    }
    EACH (core, CORE_SEAT_USERS, i) {
        const struct seat_user *user = core_at(core, CORE_SEAT_USERS, i);
        expect(audit, CORE_SEAT_USERS, i, "held", user->held, users->of[i][0]);
        expect(audit, CORE_SEAT_USERS, i, "confirmed", user->confirmed, users->of[i][1]);
        expect(audit, CORE_SEAT_USERS, i, "lifetime", user->lifetime, users->of[i][2]);
        expect(audit, CORE_SEAT_USERS, i, "bookings", user->bookings, users->of[i][3]);
    }
    EACH (core, CORE_SHOWS, i) {
        const struct show *show = core_at(core, CORE_SHOWS, i);
        expect(audit, CORE_SHOWS, i, "bookings", show->bookings, shows->of[i][0]);
    }
}

static void check_quota(struct core_audit *audit, struct sums *tenants)
{
    struct core *core = audit->core;

    EACH (core, CORE_QUOTA_HOLDS, i) {
        const struct quota_hold *hold = core_at(core, CORE_QUOTA_HOLDS, i);
        int64_t *tenant = tenants->of[hold->record.scope];
        tenant[0] += hold->record.state == HOLD_OPEN ? hold->amount : 0;
        expect(audit, CORE_QUOTA_HOLDS, i, "used though not committed",
               hold->record.state == HOLD_COMMITTED ? 0 : hold->used, 0);
        tenant[1]++;
    }
    EACH (core, CORE_TENANTS, i) {
        const struct tenant *tenant = core_at(core, CORE_TENANTS, i);
        expect(audit, CORE_TENANTS, i, "held", tenant->held, tenants->of[i][0]);
        expect(audit, CORE_TENANTS, i, "holds", tenant->holds, tenants->of[i][1]);
        expect(audit, CORE_TENANTS, i, "used below 0", tenant->committed < 0, 0);
    }
}

/* What a user has bought is known in total only: a settled order is forgotten after its retry
 * window. Together the users have bought no more than was sold, and what they have taken. */
static void check_stock(struct core_audit *audit, struct sums *products, struct sums *users)
{
    struct core *core = audit->core;

    EACH (core, CORE_ORDERS, i) {
        const struct order *order = core_at(core, CORE_ORDERS, i);
        const struct stock_user *user = core_at(core, CORE_STOCK_USERS, order->user);
        int64_t taken = order->record.state == ORDER_TAKEN ? order->quantity : 0;
        products->of[order->record.scope][0] += taken;
        users->of[order->user][0] += taken;
        users->of[order->user][1]++;
        expect(audit, CORE_ORDERS, i, "product of its user", user->record.scope,
               order->record.scope);
    }
    EACH (core, CORE_STOCK_USERS, i) {
        const struct stock_user *user = core_at(core, CORE_STOCK_USERS, i);
        products->of[user->record.scope][1] += user->sold;
        expect(audit, CORE_STOCK_USERS, i, "taken", user->taken, users->of[i][0]);
        expect(audit, CORE_STOCK_USERS, i, "orders", user->orders, users->of[i][1]);
    }
    EACH (core, CORE_PRODUCTS, i) {
        const struct core_product *product = core_at(core, CORE_PRODUCTS, i);
        int64_t beyond = products->of[i][1] - product->sold;
        expect(audit, CORE_PRODUCTS, i, "bought beyond what is sold", beyond > 0 ? beyond : 0, 0);
        int64_t available = product->loaded + product->adjusted - product->taken - product->sold;
        expect(audit, CORE_PRODUCTS, i, "taken", product->taken, products->of[i][0]);
        expect(audit, CORE_PRODUCTS, i, "oversold", available < 0 ? -available : 0, 0);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Everybody in a line stands where they think they do; `place` is at this offset in their record.
 */
static void check_line(struct core_audit *audit, enum kind kind, uint32_t owner,
                       const struct line *line, enum kind member_kind, size_t place_offset)
{
    uint32_t place = line_start(line), index, count = 0;

    while ((index = line_walk(line, &place)) != NONE) {
        uint32_t own;
        memcpy(&own, (char *)core_at(audit->core, member_kind, index) + place_offset, sizeof own);
        const struct record *member = core_at(audit->core, member_kind, index);
        count++;
        expect(audit, member_kind, index, "state in line", member->state, 0);
        expect(audit, member_kind, index, "what it stands in line for", member->scope, owner);
        expect(audit, member_kind, index, "place", own, place - 1);
        expect(audit, member_kind, index, "position", line_position(line, place - 1), count);
    }
    expect(audit, kind, owner, "line", line->count, count);
}

/* Every waiter weighs as many slots in the line as it waits for. */
static void check_slots_in_line(struct core_audit *audit, const struct line *line)
{
    uint32_t place = line_start(line), index;
    int64_t slots = 0;

    while ((index = line_walk(line, &place)) != NONE) {
        slots += ((struct sem_client *)core_at(audit->core, CORE_SEM_CLIENTS, index))->slots;
        expect(audit, CORE_SEM_CLIENTS, index, "slots up to its place",
               (int64_t)line_upto(line, place - 1).weight, slots);
    }
}

static void check_semaphores(struct core_audit *audit, struct sums *semaphores)
{
    struct core *core = audit->core;
    int64_t tickets = 0, holders = 0, in_line = 0;

    EACH (core, CORE_SEM_CLIENTS, i) {
        const struct sem_client *client = core_at(core, CORE_SEM_CLIENTS, i);
        bool holds = client->record.state == CLIENT_HOLDING;
        semaphores->of[client->record.scope][holds] += client->slots;
        holders += holds;
        in_line += !holds;
        expect(audit, CORE_SEM_CLIENTS, i, "slots out of bounds",
               client->slots < 1 || client->slots > SEM_SLOTS_HELD_MAX, 0);
        tickets += client->ticket != 0;
        expect(audit, CORE_SEM_CLIENTS, i, "fence past the last", client->fence > core->fence, 0);
        expect(audit, CORE_SEM_CLIENTS, i, "ticket past the last", client->ticket > core->ticket,
               0);
        expect(audit, CORE_SEM_CLIENTS, i, "slot with a ticket",
               client->ticket != 0 && client->record.state == CLIENT_HOLDING, 0);
        expect(audit, CORE_SEM_CLIENTS, i, "deadline", client->timer.deadline_ms,
               sem_client_deadline(client));
    }
    EACH (core, CORE_SEMAPHORES, i) {
        const struct semaphore *semaphore = core_at(core, CORE_SEMAPHORES, i);
        expect(audit, CORE_SEMAPHORES, i, "in use", semaphore->in_use, semaphores->of[i][1]);
        expect(audit, CORE_SEMAPHORES, i, "slots waited for", (int64_t)semaphore->line.weight,
               semaphores->of[i][0]);
        check_line(audit, CORE_SEMAPHORES, i, &semaphore->line, CORE_SEM_CLIENTS,
                   offsetof(struct sem_client, place));
        check_slots_in_line(audit, &semaphore->line);
    }
    expect_all(audit, CORE_SEM_CLIENTS, "number of waiting calls", core->waiting_calls, tickets);
    expect_all(audit, CORE_SEM_CLIENTS, "number of holders", core->holders, holders);
    expect_all(audit, CORE_SEM_CLIENTS, "number in line", core->in_line, in_line);
}

/* The passes of an admission are in its list, in both directions, and name it. */
static void check_note(struct core_audit *audit, uint32_t index)
{
    const struct core *core = audit->core;
    const struct room_note *note = room_note_at(core, index);
    uint32_t previous = NONE;
    int64_t passes = 0;

    for (uint32_t i = note->first; i != NONE && passes <= note->passes; passes++) {
        const struct room_pass *pass = room_pass_at(core, i);
        expect(audit, CORE_ROOM_NOTES, index, "pass in its list",
               pass->note == index && pass->note_previous == previous, 1);
        previous = i;
        i = pass->note_next;
    }
    expect(audit, CORE_ROOM_NOTES, index, "passes", note->passes, passes);
    expect(audit, CORE_ROOM_NOTES, index, "last pass", note->last == previous, 1);
}

static void check_rooms(struct core_audit *audit, struct sums *rooms)
{
    struct core *core = audit->core;
    int64_t gates = 0;

    EACH (core, CORE_ROOM_ENTRIES, i) {
        rooms->of[((struct record *)core_at(core, CORE_ROOM_ENTRIES, i))->scope][0]++;
    }
    EACH (core, CORE_ROOM_PASSES, i) {
        rooms->of[((struct record *)core_at(core, CORE_ROOM_PASSES, i))->scope][1]++;
    }
    EACH (core, CORE_ROOM_NOTES, i) {
        rooms->of[((struct record *)core_at(core, CORE_ROOM_NOTES, i))->scope][2]++;
        check_note(audit, i);
    }
    EACH (core, CORE_ROOMS, i) {
        const struct room *room = core_at(core, CORE_ROOMS, i);
        expect(audit, CORE_ROOMS, i, "in line", room->line.count, rooms->of[i][0]);
        expect(audit, CORE_ROOMS, i, "passes", room->passes, rooms->of[i][1]);
        expect(audit, CORE_ROOMS, i, "admissions", room->notes, rooms->of[i][2]);
        expect(audit, CORE_ROOMS, i, "allowance beyond its rate",
               room->allowance < 0 || room->allowance > room->rate * 1000, 0);
        expect(audit, CORE_ROOMS, i, "allowance of a time to come",
               room->allowance_ms > core->latest_ms, 0);
        expect(audit, CORE_ROOMS, i, "kept for nothing",
               room->line.count + room->passes + room->notes == 0 && !room_has_settings(room), 0);
        gates += (room->record.flags & ROOM_GATE) != 0;
        check_line(audit, CORE_ROOMS, i, &room->line, CORE_ROOM_ENTRIES,
                   offsetof(struct room_entry, place));
    }
    expect_all(audit, CORE_ROOMS, "number with a gate", core->gates, gates);
}

static void check_keys(struct core_audit *audit)
{
    struct core *core = audit->core;

    EACH (core, CORE_LOCKS, i) {
        const struct lock *lock = core_at(core, CORE_LOCKS, i);
        expect(audit, CORE_LOCKS, i, "fence past the last", lock->fence > core->fence, 0);
    }
    EACH (core, CORE_IDEM_KEYS, i) {
        const struct idem *idem = core_at(core, CORE_IDEM_KEYS, i);
        expect(audit, CORE_IDEM_KEYS, i, "response before the end",
               idem->record.state != IDEM_COMPLETED && idem->response_size > 0, 0);
    }
}

/* ---- indexes and timers ---------------------------------------------------------------------- */

/* Which states of a kind have a deadline. */
static bool wants_timer(enum kind kind, const struct record *record)
{
    return kinds[kind].due != NULL && !(record->marks & RECORD_CLOSED) &&
           !(kind == CORE_BOOKINGS && record->state == BOOKING_CONFIRMED);
}

/* An open record stands in its roster where it thinks it does, and no other record does. */
static void check_place(struct core_audit *audit, enum kind kind, uint32_t index)
{
    struct store *store = &audit->core->stores[kind];
    const struct record *record = store_at(store, index);
    uint32_t place = *store_place(store, record);
    bool open = !(record->marks & (RECORD_HIDDEN | RECORD_CLOSED));

    expect(audit, kind, index, "place in its roster", place != NONE, open);
    if (place != NONE) {
        const struct roster *roster = store_roster(store, record->scope);
        expect(audit, kind, index, "record at its place", roster_at(roster, place), index);
    }
}

/* As many are in the rosters as there are open records. */
static int64_t count_listed(const struct core *core, enum kind kind)
{
    struct store *store = (struct store *)&core->stores[kind];
    int64_t listed = 0;

    if (store->owners == NULL) {
        return store->roster.count;
    }
    EACH (core, kinds[kind].parent, i) {
        listed += store_roster(store, i)->count;
    }
    return listed;
}

static void check_store(struct core_audit *audit, enum kind kind)
{
    const struct store *store = &audit->core->stores[kind];
    int64_t armed = 0, shown = 0, closed = 0, open = 0;

    EACH (audit->core, kind, i) {
        const struct record *record = store_at(store, i);
        int64_t deadline_ms = kinds[kind].due != NULL ? record_deadline_ms(record) : 0;
        bool timed = deadline_ms != 0 && !(record->marks & RECORD_CLOSED);
        expect(audit, kind, i, "timer", timed, wants_timer(kind, record));
        expect(audit, kind, i, "overdue", timed && deadline_ms <= audit->core->latest_ms, 0);
        armed += timed;
        closed += (record->marks & RECORD_CLOSED) != 0;
        shown += !(record->marks & RECORD_HIDDEN);
        open += !(record->marks & (RECORD_HIDDEN | RECORD_CLOSED));
        if (store->place_offset != 0) {
            check_place(audit, kind, i);
        }
        if (audit->look_up && !(record->marks & RECORD_HIDDEN)) {
            struct key key = store_key(store, record->scope, record_name(record));
            expect(audit, kind, i, "found under its name", store_find(store, &key) == i, 1);
        }
    }
    if (kinds[kind].due != NULL) {
        expect_all(audit, kind, "number of timers", store->armed, armed);
    }
    if (store->place_offset != 0) {
        expect_all(audit, kind, "number in rosters", count_listed(audit->core, kind), open);
    }
    expect_all(audit, kind, "number of names in the index", store->table.count, shown);
    expect_all(audit, kind, "number of closed records", store->closed_count, closed);
}

static uint64_t run(struct core *core, bool look_up, hf_audit_report *report, void *context)
{
    struct core_audit audit = {
        .core = core, .look_up = look_up, .report = report, .context = context};
    static const enum kind parents[] = {CORE_EVENTS,   CORE_ZONES,   CORE_SEAT_USERS,
                                        CORE_SHOWS,    CORE_TENANTS, CORE_SEMAPHORES,
                                        CORE_PRODUCTS, CORE_ROOMS,   CORE_STOCK_USERS};
    struct sums sums[CORE_KIND_COUNT] = {{0}};
    bool enough = true;

    buffer_init(&audit.line, core->memory);
    for (size_t i = 0; i < sizeof parents / sizeof parents[0] && enough; i++) {
        enough = sums_init(&sums[parents[i]], core, parents[i]);
    }
    if (enough) {
        add_bookings(&audit, sums);
        check_events(&audit, &sums[CORE_EVENTS]);
        check_seats(&audit, &sums[CORE_ZONES], &sums[CORE_SEAT_USERS], &sums[CORE_SHOWS]);
        check_quota(&audit, &sums[CORE_TENANTS]);
        check_stock(&audit, &sums[CORE_PRODUCTS], &sums[CORE_STOCK_USERS]);
        check_semaphores(&audit, &sums[CORE_SEMAPHORES]);
        check_rooms(&audit, &sums[CORE_ROOMS]);
        check_keys(&audit);
        for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
            check_store(&audit, kind);
        }
    }
    for (enum kind kind = 0; kind < CORE_KIND_COUNT; kind++) {
        if (sums[kind].of != NULL) {
            sums_free(&sums[kind]);
        }
    }
    buffer_free(&audit.line);
    return enough ? audit.findings : UINT64_MAX;
}

uint64_t core_audit(struct core *core, hf_audit_report *report, void *context)
{
    core_settle(core);
    return run(core, true, report, context);
}

uint64_t core_audit_totals(struct core *core)
{
    return run(core, false, NULL, NULL);
}
