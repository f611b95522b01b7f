/* SPDX-License-Identifier: Apache-2.0
 *
 * The fields of every kind of record, listed once each: a field that is added here is written to
 * snapshots, read back and part of the digest. */
#include "core/codec.h"

#include "base/siphash.h"
#include "core/quota_commits.h"
#include "core/seats.h"

/* Adds bytes to the digest. */
static void mix(struct codec *codec, const void *data, size_t size)
{
    uint8_t key[SIPHASH_KEY] = "holdfast digest";

    memcpy(key, &codec->digest, sizeof codec->digest);
    codec->digest = siphash(key, data, size);
}

void codec_number(struct codec *codec, int64_t *number, int64_t min, int64_t max)
{
    switch (codec->mode) {
    case CODEC_WRITE:
        buffer_signed(codec->out, *number);
        break;
    case CODEC_READ:
        *number = reader_signed(codec->reader);
        codec->failed |= codec->reader->failed || *number < min || *number > max;
        break;
    case CODEC_DIGEST:
        mix(codec, number, sizeof *number);
        break;
    }
}

void codec_word(struct codec *codec, uint64_t *word)
{
    switch (codec->mode) {
    case CODEC_WRITE:
        buffer_varint(codec->out, *word);
        break;
    case CODEC_READ:
        *word = reader_varint(codec->reader);
        codec->failed |= codec->reader->failed;
        break;
    case CODEC_DIGEST:
        mix(codec, word, sizeof *word);
        break;
    }
}

void codec_small(struct codec *codec, uint8_t *number, uint8_t max)
{
    int64_t wide = *number;

    codec_number(codec, &wide, 0, max);
    if (codec->mode == CODEC_READ) {
        *number = codec->failed ? 0 : (uint8_t)wide;
    }
}

void codec_bytes(struct codec *codec, void *bytes, size_t size)
{
    const uint8_t *stored;

    switch (codec->mode) {
    case CODEC_WRITE:
        buffer_bytes(codec->out, bytes, size);
        break;
    case CODEC_READ:
        stored = reader_bytes(codec->reader, size);
        codec->failed |= stored == NULL;
        if (stored != NULL && size > 0) {
            memcpy(bytes, stored, size);
        }
        break;
    case CODEC_DIGEST:
        mix(codec, bytes, size);
        break;
    }
}

/* A name is its kind, then 16 bytes of a UUID, or its text; a far one with its length. */
static void read_name(struct codec *codec, struct name *name)
{
    *name = (struct name){.words = {0, 0}};
    if (codec->failed) {
        return;
    }
    uint8_t kind = reader_byte(codec->reader);
    uint64_t size =
        kind == NAME_FAR ? reader_varint(codec->reader) : (kind == NAME_UUID ? NAME_INLINE : kind);
    if (kind > NAME_FAR || size > HF_ID_MAX || (kind == NAME_FAR && size <= NAME_INLINE)) {
        codec->failed = true;
        return;
    }
    const uint8_t *bytes = reader_bytes(codec->reader, size);
    if (bytes == NULL) {
        codec->failed = true;
        return;
    }
    struct name view = kind == NAME_UUID ? name_uuid(bytes)
                                         : name_view((struct hf_bytes){(const char *)bytes, size});
    if (view.kind != kind || !name_own(codec->core->memory, &view)) {
        codec->failed = true;
        return;
    }
    *name = view;
}

void codec_name(struct codec *codec, struct name *name)
{
    char text[HF_ID_MAX];

    switch (codec->mode) {
    case CODEC_WRITE:
        buffer_byte(codec->out, name->kind);
        if (name->kind == NAME_FAR) {
            buffer_varint(codec->out, name->far.size);
            buffer_bytes(codec->out, name->far.data, name->far.size);
        } else {
            buffer_bytes(codec->out, name->bytes,
                         name->kind == NAME_UUID ? NAME_INLINE : name->kind);
        }
        break;
    case CODEC_READ:
        read_name(codec, name);
        break;
    case CODEC_DIGEST:
        mix(codec, text, name_write(name, text));
        break;
    }
}

void codec_reference(struct codec *codec, enum kind kind, uint32_t *index, bool optional)
{
    if (codec->mode == CODEC_DIGEST) {
        struct name name = {.words = {0, 0}};
        if (*index != NONE) {
            name = record_name(core_at(codec->core, kind, *index));
        }
        codec_name(codec, &name);
        return;
    }
    int64_t number = *index == NONE ? -1 : (int64_t)*index;
    if (codec->mode == CODEC_WRITE && *index != NONE) {
        number = codec->ordinals[kind][*index];
    }
    codec_number(codec, &number, optional ? -1 : 0, RECORDS_MAX);
    if (codec->mode == CODEC_READ) {
        *index = number < 0 || codec->failed ? NONE : (uint32_t)number;
        codec->failed |=
            *index == NONE ? !optional : !slab_has(&codec->core->stores[kind].slab, *index);
    }
}

/* ---- the fields of each kind ----------------------------------------------------------------- */

#define NUMBER(member) codec_number(codec, &(member), 0, HF_INTEGER_MAX)
#define SIGNED(member) codec_number(codec, &(member), -HF_INTEGER_MAX, HF_INTEGER_MAX)
#define DURATION(member) codec_number(codec, &(member), HF_TTL_MIN_MS, HF_TTL_MAX_MS)
#define TIME(member) codec_number(codec, &(member), 0, TIME_MAX_MS)

static void zone_fields(struct codec *codec, struct zone *zone)
{
    NUMBER(zone->capacity);
    NUMBER(zone->reserved);
    NUMBER(zone->confirmed);
    if (codec->version >= 4) {
        NUMBER(zone->max);
    }
}

static void user_fields(struct codec *codec, struct seat_user *user)
{
    NUMBER(user->held);
    NUMBER(user->confirmed);
    NUMBER(user->lifetime);
}

static void sale_fields(struct codec *codec, struct booking *booking)
{
    if (codec->mode == CODEC_READ) {
        booking->sale = slab_take(&codec->core->sales);
        if (booking->sale == NONE) {
            codec->failed = true;
            return;
        }
    }
    struct sale *sale = slab_at(&codec->core->sales, booking->sale);
    TIME(sale->confirmed_ms);
    codec_word(codec, &sale->code);
    codec_name(codec, &sale->payment);
}

/* Counts a booking that was read in the records that it names, and in the totals. */
static void count_booking(struct core *core, const struct booking *booking)
{
    struct seat_event *event = core_at(core, CORE_EVENTS, booking->record.scope);
    bool reserved = booking->record.state == BOOKING_RESERVED;
    bool confirmed = booking->record.state == BOOKING_CONFIRMED;

    ((struct seat_user *)core_at(core, CORE_SEAT_USERS, booking->user))->bookings++;
    if (booking->show != NONE) {
        ((struct show *)core_at(core, CORE_SHOWS, booking->show))->bookings++;
    }
    core->lapsed += booking->record.state == BOOKING_LAPSED;
    seats_sum_add(&event->reserved, reserved ? booking->quantity : 0);
    seats_sum_add(&event->confirmed, confirmed ? booking->quantity : 0);
}

static void booking_fields(struct codec *codec, struct booking *booking)
{
    int64_t ttl_ms = booking->ttl_ms;

    if (codec->mode == CODEC_READ) {
        booking->show = booking->sale = NONE;
    }
    codec_reference(codec, CORE_SEAT_USERS, &booking->user, false);
    codec_reference(codec, CORE_ZONES, &booking->zone, false);
    codec_reference(codec, CORE_SHOWS, &booking->show, true);
    DURATION(ttl_ms);
    NUMBER(booking->quantity);
    NUMBER(booking->unit_price);
    TIME(booking->created_ms);
    if (booking->record.state == BOOKING_CONFIRMED && !codec->failed) {
        sale_fields(codec, booking);
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        booking->ttl_ms = (uint32_t)ttl_ms;
        count_booking(codec->core, booking);
    }
}

/* One that has something on hold has room for what it will commit. */
static void commits_fields(struct codec *codec, struct tenant *tenant)
{
    struct quota_commits *commits = quota_commits_of(codec->core, tenant);
    uint8_t count = commits == NULL ? 0 : (uint8_t)commits->count;

    if (codec->version >= 6) {
        codec_small(codec, &count, QUOTA_COMMITS_MAX);
    }
    if (codec->mode == CODEC_READ && !codec->failed && (count > 0 || tenant->held > 0)) {
        codec->failed = !quota_commits_reserve(codec->core, tenant);
        commits = quota_commits_of(codec->core, tenant);
    }
    for (uint8_t i = 0; i < count && !codec->failed; i++) {
        int64_t after_ms = i == 0 ? 0 : commits->of[i - 1].at_ms + 1;
        codec_number(codec, &commits->of[i].at_ms, after_ms, TIME_MAX_MS - 1);
        NUMBER(commits->of[i].amount);
        if (codec->mode == CODEC_READ) {
            commits->count = codec->failed ? 0U : i + 1U;
        }
    }
}

static void tenant_fields(struct codec *codec, struct tenant *tenant)
{
    NUMBER(tenant->limit);
    NUMBER(tenant->committed);
    NUMBER(tenant->held);
    commits_fields(codec, tenant);
}

static void quota_hold_fields(struct codec *codec, struct quota_hold *hold)
{
    NUMBER(hold->amount);
    DURATION(hold->ttl_ms);
    if (hold->record.flags & HOLD_EXTENDED) {
        codec_number(codec, &hold->started_ms, 0, TIME_MAX_MS - 1);
    }
    if (codec->version >= 4) {
        NUMBER(hold->used);
    } else if (hold->record.state == HOLD_COMMITTED) {
        hold->used = hold->amount;
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        ((struct tenant *)core_at(codec->core, CORE_TENANTS, hold->record.scope))->holds++;
    }
}

static void semaphore_fields(struct codec *codec, struct semaphore *semaphore)
{
    NUMBER(semaphore->max);
}

static void sem_client_fields(struct codec *codec, struct sem_client *client)
{
    DURATION(client->heartbeat_ms);
    DURATION(client->ttl_ms);
    TIME(client->since_ms);
    NUMBER(client->fence);
    TIME(client->alive_until_ms);
    codec_word(codec, &client->ticket);
    TIME(client->wait_until_ms);
    int64_t slots = codec->mode == CODEC_READ ? 1 : client->slots;
    if (codec->version >= 4) {
        codec_number(codec, &slots, 1, SEM_SLOTS_HELD_MAX);
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        struct semaphore *semaphore = core_at(codec->core, CORE_SEMAPHORES, client->record.scope);
        client->slots = (uint32_t)slots;
        if (client->record.state == CLIENT_HOLDING) {
            semaphore->in_use += slots;
            codec->core->holders++;
        }
        if (client->ticket != 0) {
            codec->failed |= !core_reserve_wakeup(codec->core);
            codec->core->waiting_calls++;
        }
    }
}

static void lock_fields(struct codec *codec, struct lock *lock)
{
    codec_name(codec, &lock->id);
    NUMBER(lock->fence);
}

static void product_fields(struct codec *codec, struct core_product *product)
{
    NUMBER(product->loaded);
    SIGNED(product->adjusted);
    NUMBER(product->taken);
    NUMBER(product->sold);
    codec_number(codec, &product->shards, 1, STOCK_SHARDS_MAX);
    NUMBER(product->watermark);
}

static void stock_user_fields(struct codec *codec, struct stock_user *user)
{
    NUMBER(user->taken);
    NUMBER(user->sold);
}

/* Until version 4 an order had its user's name, and no start: one that is taken began a TTL before
 * its deadline. What a user bought before is not known. */
static void read_former_order(struct codec *codec, struct order *order)
{
    struct name user = {.words = {0, 0}};
    char text[HF_ID_MAX];

    codec_name(codec, &user);
    NUMBER(order->quantity);
    DURATION(order->ttl_ms);
    if (codec->failed) {
        return;
    }
    bool taken = order->record.state == ORDER_TAKEN;
    order->user =
        core_obtain(codec->core, CORE_STOCK_USERS, order->record.scope, name_text(&user, text));
    name_free(codec->core->memory, &user);
    if (order->user == NONE || order->timer.deadline_ms < order->ttl_ms) {
        codec->failed = true;
        return;
    }
    struct stock_user *known = core_at(codec->core, CORE_STOCK_USERS, order->user);
    order->started_ms = taken ? order->timer.deadline_ms - order->ttl_ms : 0;
    codec->failed |= order->quantity > HF_INTEGER_MAX - known->taken;
    known->taken += taken ? order->quantity : 0;
}

static void order_fields(struct codec *codec, struct order *order)
{
    if (codec->version < 4) {
        read_former_order(codec, order);
    } else {
        codec_reference(codec, CORE_STOCK_USERS, &order->user, false);
        NUMBER(order->quantity);
        DURATION(order->ttl_ms);
        TIME(order->started_ms);
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        ((struct stock_user *)core_at(codec->core, CORE_STOCK_USERS, order->user))->orders++;
    }
}

static void room_fields(struct codec *codec, struct room *room)
{
    if (codec->version >= 4) {
        codec_number(codec, &room->rate, 0, ROOM_RATE_MAX);
        NUMBER(room->inside_max);
        NUMBER(room->start_ms);
        codec_number(codec, &room->pass_ms, 0, HF_TTL_MAX_MS);
        NUMBER(room->allowance);
        TIME(room->allowance_ms);
        NUMBER(room->admitted);
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        codec->core->gates += (room->record.flags & ROOM_GATE) != 0;
    }
}

static void room_pass_fields(struct codec *codec, struct room_pass *pass)
{
    int64_t ttl_ms = pass->ttl_ms;

    codec_bytes(codec, pass->token, sizeof pass->token);
    if (codec->version >= 4) {
        codec_bytes(codec, pass->entry_token, sizeof pass->entry_token);
        codec_number(codec, &ttl_ms, 0, HF_TTL_MAX_MS);
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        pass->ttl_ms = (uint32_t)ttl_ms;
        pass->note = NONE; /* until the lists of the notes are read */
        ((struct room *)core_at(codec->core, CORE_ROOMS, pass->record.scope))->passes++;
    }
}

static void room_note_fields(struct codec *codec, struct room_note *note)
{
    codec_number(codec, &note->count, 1, ROOM_ADMIT_MAX);
    codec_number(codec, &note->pass_ms, 0, HF_TTL_MAX_MS);
    if (codec->mode == CODEC_READ && !codec->failed) {
        note->first = note->last = NONE;
        ((struct room *)core_at(codec->core, CORE_ROOMS, note->record.scope))->notes++;
    }
}

static void idem_fields(struct codec *codec, struct idem *idem)
{
    codec_name(codec, &idem->fingerprint);
    codec_word(codec, &idem->response_size);
    if (codec->mode == CODEC_READ && idem->response_size > 0) {
        if (codec->failed || idem->response_size > reader_left(codec->reader) ||
            !(idem->response = memory_get(codec->core->memory, idem->response_size))) {
            idem->response_size = 0;
            codec->failed = true;
            return;
        }
    }
    codec_bytes(codec, idem->response, idem->response_size);
    if (codec->mode == CODEC_READ) {
        codec->core->processing += idem->record.state == IDEM_PROCESSING;
        codec->core->answer_bytes += idem->response_size;
    }
}

void codec_fields(struct codec *codec, enum kind kind, void *record)
{
    switch (kind) {
    case CORE_ZONES:
        zone_fields(codec, record);
        break;
    case CORE_SEAT_USERS:
        user_fields(codec, record);
        break;
    case CORE_BOOKINGS:
        booking_fields(codec, record);
        break;
    case CORE_TENANTS:
        tenant_fields(codec, record);
        break;
    case CORE_QUOTA_HOLDS:
        quota_hold_fields(codec, record);
        break;
    case CORE_SEMAPHORES:
        semaphore_fields(codec, record);
        break;
    case CORE_SEM_CLIENTS:
        sem_client_fields(codec, record);
        break;
    case CORE_LOCKS:
        lock_fields(codec, record);
        break;
    case CORE_PRODUCTS:
        product_fields(codec, record);
        break;
    case CORE_ORDERS:
        order_fields(codec, record);
        break;
    case CORE_STOCK_USERS:
        stock_user_fields(codec, record);
        break;
    case CORE_ROOMS:
        room_fields(codec, record);
        break;
    case CORE_ROOM_ENTRIES:
        codec_bytes(codec, ((struct room_entry *)record)->token, TOKEN_BYTES);
        break;
    case CORE_ROOM_PASSES:
        room_pass_fields(codec, record);
        break;
    case CORE_ROOM_NOTES:
        room_note_fields(codec, record);
        break;
    case CORE_IDEM_KEYS:
        idem_fields(codec, record);
        break;
    case CORE_EVENTS:
    case CORE_SHOWS:
    case CORE_KIND_COUNT:
        break;
    }
}

/* ---- records and lines ----------------------------------------------------------------------- */

/* Where an open record stands in the roster of its scope. Before version 4 there were none: places
 * are given in order. A record that goes when time allows may have another place after a replay. */
static void walk_place(struct codec *codec, enum kind kind, uint32_t index)
{
    struct store *store = &codec->core->stores[kind];
    const struct record *record = store_at(store, index);
    bool open = !(record->marks & (RECORD_HIDDEN | RECORD_CLOSED));

    if (store->place_offset == 0 || (codec->mode == CODEC_DIGEST && kinds[kind].loose)) {
        return;
    }
    int64_t place = *store_place(store, record);
    if (open && codec->version >= 4) {
        codec_number(codec, &place, 0, RECORDS_MAX);
    }
    if (codec->mode == CODEC_READ && !codec->failed) {
        bool given = open && codec->version >= 4;
        codec->failed = !store_relist(store, index, given ? (uint32_t)place : NONE);
    }
}

void codec_record(struct codec *codec, enum kind kind, uint32_t index)
{
    struct record *record = core_at(codec->core, kind, index);
    struct name name = record_name(record);
    int64_t none = 0; /* the deadline of a kind that has none */
    int64_t *deadline = kinds[kind].due != NULL ? &record_timer(record)->deadline_ms : &none;

    if (kinds[kind].parent != CORE_NO_KIND) {
        codec_reference(codec, kinds[kind].parent, &record->scope, false);
    }
    codec_small(codec, &record->state, kinds[kind].last_state);
    codec_small(codec, &record->flags, kinds[kind].all_flags);
    codec_small(codec, &record->marks, RECORD_HIDDEN | RECORD_CLOSED);
    codec_number(codec, deadline, 0, TIME_MAX_MS);
    codec->failed |= none != 0;
    if (!(record->marks & RECORD_HIDDEN) && !codec->failed) {
        codec_name(codec, &name);
        if (codec->mode == CODEC_READ) {
            record->name_words[0] = name.words[0];
            record->name_words[1] = name.words[1];
            record->name_kind = name.kind;
        }
    }
    if (!codec->failed) {
        walk_place(codec, kind, index);
    }
    if (!codec->failed) {
        codec_fields(codec, kind, record);
    }
}

struct line *codec_line(const struct core *core, enum kind kind, uint32_t index)
{
    return kind == CORE_SEMAPHORES ? &((struct semaphore *)core_at(core, kind, index))->line
                                   : &((struct room *)core_at(core, kind, index))->line;
}

enum kind codec_member(enum kind kind)
{
    return kind == CORE_SEMAPHORES ? CORE_SEM_CLIENTS : CORE_ROOM_ENTRIES;
}
