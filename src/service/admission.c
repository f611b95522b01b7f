/* SPDX-License-Identifier: Apache-2.0
 *
 * The admission worker: every server calls ROOM.TICK for the waiting rooms that have a RATE or an
 * INSIDE, a few times a second. The allowance is kept with the room, so that it does not matter how
 * many servers do so, nor whether one of them dies.
 *
 *     RESTS ──due──> ASKS* ──somebody waits, and may be admitted──> MAY ──> TICKS* ──┐
 *       ^              └───────────────── otherwise ──────────────────────┐          │
 *       └─────────────────────────────────────────────────────────────────┴──────────┘
 *
 * In the steps marked * the engine has the word. ROOM.STATS is asked first because it changes
 * nothing: a room where nobody waits costs no write. Between the two the settings may change, by
 * another server too: LIMITED makes the tick leave alone a room that is admitted to by hand.
 *
 * Rooms are found by LIST, at the start and every few seconds, and by the commands that pass. One
 * that LIST finds and that has no limits is forgotten again. */
#include "base/siphash.h"
#include "base/text.h"
#include "service/service_state.h"

/* Rooms that are looked after; the list finds others as soon as some are gone. */
#define ROOMS_MAX 10000
/* Questions to the engine at a time, and in one turn. */
#define IN_FLIGHT_MAX 64
#define LIST_EVERY_MS ((int64_t)5000)
#define LIST_PAGE 100
#define LIST_PAUSE_MS 10 /* between two pages */
#define LIST_SHARE 20    /* one part in so many of the time, at most, is spent on listing */
#define EMPTY_REST_MS ((int64_t)1000)
#define AWAY_REST_MS ((int64_t)1000)
#define SCAN_PAUSE_MS 10
#define STRETCH_MS ((int64_t)10 * 1000)
#define MEASURED_MIN_MS ((int64_t)1000)
#define ROOMS_PER_MS 2 /* so many are asked in a millisecond, at most */

enum admission_step { ADMISSION_RESTS, ADMISSION_ASKS, ADMISSION_MAY, ADMISSION_TICKS };

struct admission_room {
    struct service *service;
    struct list node; /* in admission.ticking, in ADMISSION_MAY */
    uint32_t index, hash;
    enum admission_step step;
    int64_t due_ms, asked_ms;
    bool is_full; /* when it was last asked, it admitted nobody because of INSIDE alone */
    /* What the estimate of waits is made of: users admitted in all, by whichever server, at the
     * beginning of this stretch of time and of the one before it. */
    int64_t began_ms, began_admitted, before_ms, before_admitted;
    int64_t last_ms, last_admitted;
    uint8_t event_size;
    char event[HF_ID_MAX];
};

static struct hf_bytes event_of(const struct admission_room *room)
{
    return (struct hf_bytes){room->event, room->event_size};
}

static int64_t every_ms(const struct service *service)
{
    return service->settings.admission_every_ms;
}

/* ---- the rooms ------------------------------------------------------------------------------- */

void admission_init(struct service *service, int64_t now_ms)
{
    struct admission *admission = &service->admission;

    slab_init(&admission->rooms, &service->memory, sizeof(struct admission_room));
    table_init(&admission->by_event, &service->memory);
    list_init(&admission->ticking);
    admission->due_ms = admission->list_due_ms = now_ms;
}

void admission_free(struct service *service)
{
    table_free(&service->admission.by_event);
    slab_free(&service->admission.rooms);
}

struct room_wanted {
    const struct slab *rooms;
    struct hf_bytes event;
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct room_wanted *wanted = context;
    return text_equal(event_of(slab_at(wanted->rooms, index)), wanted->event);
}

static uint32_t hash_of(const struct service *service, struct hf_bytes event)
{
    return (uint32_t)siphash(service->hash_key, event.data, event.size);
}

static struct admission_room *find(struct service *service, struct hf_bytes event)
{
    struct admission *admission = &service->admission;
    struct room_wanted wanted = {&admission->rooms, event};
    uint32_t index = table_find(&admission->by_event, hash_of(service, event), is_wanted, &wanted);

    return index != NONE ? slab_at(&admission->rooms, index) : NULL;
}

/* NULL when there are too many, or no memory: the list will find it again. */
static struct admission_room *get(struct service *service, struct hf_bytes event)
{
    struct admission *admission = &service->admission;
    struct admission_room *known = find(service, event);
    uint32_t hash = hash_of(service, event), index;

    if (known != NULL) {
        return known;
    }
    if (admission->rooms.count >= ROOMS_MAX) {
        if (!admission->full) {
            log_line(&service->options.log, LOG_WARNING,
                     "more than %d waiting rooms: some admit nobody until others are empty",
                     ROOMS_MAX);
        }
        admission->full = true;
        return NULL;
    }
    index = slab_take(&admission->rooms);
    if (index == NONE) {
        return NULL;
    }
    if (!table_add(&admission->by_event, hash, index)) {
        slab_give(&admission->rooms, index);
        return NULL;
    }
    struct admission_room *room = slab_at(&admission->rooms, index);
    *room = (struct admission_room){.service = service,
                                    .index = index,
                                    .hash = hash,
                                    .due_ms = INT64_MAX,
                                    .event_size = (uint8_t)event.size};
    memcpy(room->event, event.data, event.size);
    return room;
}

static void forget(struct admission_room *room)
{
    struct admission *admission = &room->service->admission;

    table_remove(&admission->by_event, room->hash, room->index);
    slab_give(&admission->rooms, room->index);
}

static void wake_at(struct admission_room *room, int64_t due_ms)
{
    struct admission *admission = &room->service->admission;

    room->due_ms = due_ms < room->due_ms ? due_ms : room->due_ms;
    admission->due_ms = room->due_ms < admission->due_ms ? room->due_ms : admission->due_ms;
}

void admission_note(struct service *service, const struct command *command)
{
    enum command_id id = command_id(command->spec);

    if (every_ms(service) == 0 || (id != ROOM_OPEN && id != ROOM_JOIN)) {
        return;
    }
    struct admission_room *room = get(service, id == ROOM_OPEN ? command->args.room_open.event
                                                               : command->args.room_join.event);
    if (room != NULL) {
        int64_t soon = room->asked_ms + every_ms(service), now_ms = service_now(service);
        wake_at(room, soon > now_ms ? soon : now_ms);
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

static void end_listing(struct service *service, int64_t pause_ms)
{
    struct admission *admission = &service->admission;

    admission->listing = false;
    admission->list_due_ms = service_now(service) + pause_ms;
    if (admission->list_due_ms < admission->due_ms) {
        admission->due_ms = admission->list_due_ms;
    }
}

static void page_listed(void *context, const struct reply *reply)
{
    struct service *service = context;
    struct admission *admission = &service->admission;
    int64_t now_ms = service_now(service);

    if (reply->code != HF_OK || reply->count == 0) {
        admission->cursor[0] = '\0';
        end_listing(service, LIST_EVERY_MS);
        return;
    }
    for (size_t i = 1; i < reply->count; i += command_table[LIST].field_count) {
        struct admission_room *room = get(service, reply_bytes(reply, i));
        if (room != NULL) {
            wake_at(room, room->asked_ms == 0 ? now_ms : room->asked_ms + LIST_EVERY_MS);
        }
    }
    struct hf_bytes cursor = reply_bytes(reply, 0);
    if (cursor.size >= sizeof admission->cursor) {
        cursor.size = 0;
    }
    memcpy(admission->cursor, cursor.data, cursor.size);
    admission->cursor[cursor.size] = '\0';
    int64_t pause_ms = (now_ms - admission->list_began_ms) * LIST_SHARE;
    end_listing(service, cursor.size > 0            ? LIST_PAUSE_MS
                         : pause_ms > LIST_EVERY_MS ? pause_ms
                                                    : LIST_EVERY_MS);
}

/* Asks for the next page of rooms. */
static void list_rooms(struct service *service, int64_t now_ms)
{
    struct admission *admission = &service->admission;
    struct hf_list_args args = {
        .kind = HF_TEXT("rooms"), .after = hf_text(admission->cursor), .count = LIST_PAGE};
    struct command command;

    if (command_from_struct(&command, &command_table[LIST], &args, NULL) != HF_OK ||
        !engine_ready(service->inner, &command)) {
        return;
    }
    if (admission->cursor[0] == '\0') {
        admission->list_began_ms = now_ms;
        admission->full = false;
    }
    admission->listing = true;
    engine_submit(service->inner, &command, page_listed, service);
}

/* ---- one room -------------------------------------------------------------------------------- */

static void rest(struct admission_room *room, int64_t ms)
{
    int64_t least_ms = (int64_t)room->service->admission.rooms.count / ROOMS_PER_MS;

    room->step = ADMISSION_RESTS;
    room->due_ms = INT64_MAX;
    wake_at(room, service_now(room->service) + (ms > least_ms ? ms : least_ms));
}

static void tick_answered(void *context, const struct reply *reply)
{
    struct admission_room *room = context;
    struct service *service = room->service;
    const struct service_options *settings = &service->settings;
    struct hf_room_tick_args args = {.event = event_of(room), .limited = true};
    struct command command;

    service->admission.in_flight--;
    service->admission.ticks++;
    if (reply->code == HF_OK && reply->count > 0) {
        service->admission.admitted += reply->count / 2;
        if (settings->carried_out != NULL &&
            command_from_struct(&command, &command_table[ROOM_TICK], &args, NULL) == HF_OK) {
            settings->carried_out(settings->carried_out_context, &command, reply);
        }
    }
    rest(room, reply->code == HF_OK ? every_ms(service) : AWAY_REST_MS);
}

/* Submits a command about a room whose answer `done` gets; false if the engine takes none now. */
static bool submit(struct admission_room *room, enum command_id id, const void *args,
                   enum admission_step step, engine_done *done)
{
    struct service *service = room->service;
    struct command command;

    if (command_from_struct(&command, &command_table[id], args, NULL) != HF_OK ||
        !engine_ready(service->inner, &command)) {
        return false;
    }
    random_bytes(&service->random, command.entropy, sizeof command.entropy);
    room->step = step;
    service->admission.in_flight++;
    engine_submit(service->inner, &command, done, room);
    return true;
}

/* Takes down how many are admitted by now. The measurement reaches back one to two stretches; it
 * begins anew when the room was not looked at for longer, or when its count began anew. */
static void measure(struct admission_room *room, const struct hf_room_stats_reply *stats)
{
    int64_t now_ms = service_now(room->service);
    bool broken = now_ms - room->last_ms > STRETCH_MS || stats->admitted < room->last_admitted;

    room->is_full = stats->inside_max > 0 && stats->inside >= stats->inside_max && stats->started &&
                    !stats->paused;
    if (room->began_ms == 0 || broken) {
        room->before_ms = room->began_ms = now_ms;
        room->before_admitted = room->began_admitted = stats->admitted;
    } else if (now_ms - room->began_ms >= STRETCH_MS) {
        room->before_ms = room->began_ms;
        room->before_admitted = room->began_admitted;
        room->began_ms = now_ms;
        room->began_admitted = stats->admitted;
    }
    room->last_ms = now_ms;
    room->last_admitted = stats->admitted;
}

/* May the room admit somebody, as far as its figures tell? */
static bool may_admit(const struct hf_room_stats_reply *stats)
{
    return stats->waiting > 0 && stats->started && !stats->paused &&
           (stats->rate > 0 || stats->inside_max > 0) &&
           (stats->inside_max == 0 || stats->inside < stats->inside_max);
}

static void stats_answered(void *context, const struct reply *reply)
{
    struct admission_room *room = context;
    struct service *service = room->service;
    struct hf_room_stats_reply stats = {0};

    service->admission.in_flight--;
    if (reply->code != HF_OK) {
        rest(room, AWAY_REST_MS);
        return;
    }
    reply_to_struct(reply, &command_table[ROOM_STATS], &stats);
    measure(room, &stats);
    bool limited = stats.rate > 0 || stats.inside_max > 0;
    if (may_admit(&stats)) {
        room->step = ADMISSION_MAY;
        list_add_last(&service->admission.ticking, &room->node);
    } else if (limited) {
        rest(room, stats.waiting > 0 ? every_ms(service) : EMPTY_REST_MS);
    } else if (room->due_ms == INT64_MAX) { /* no command spoke of it meanwhile */
        forget(room);
    } else {
        rest(room, every_ms(service));
    }
}

static bool ask(struct admission_room *room, int64_t now_ms)
{
    struct hf_room_stats_args args = {.event = event_of(room)};

    room->asked_ms = now_ms;
    room->due_ms = INT64_MAX;
    if (submit(room, ROOM_STATS, &args, ADMISSION_ASKS, stats_answered)) {
        return true;
    }
    wake_at(room, now_ms + SCAN_PAUSE_MS);
    return false;
}

static void tick_rooms(struct service *service)
{
    struct list *ticking = &service->admission.ticking;

    while (!list_empty(ticking)) {
        struct admission_room *room = LIST_ENTRY(ticking->next, struct admission_room, node);
        struct hf_room_tick_args args = {.event = event_of(room), .limited = true};
        list_remove(&room->node);
        if (!submit(room, ROOM_TICK, &args, ADMISSION_TICKS, tick_answered)) {
            rest(room, SCAN_PAUSE_MS);
            return;
        }
    }
}

/* Asks the rooms that are due how they are, and notes when the next one is. */
static void ask_rooms(struct service *service, int64_t now_ms)
{
    struct admission *admission = &service->admission;
    unsigned asked = 0;

    admission->due_ms = INT64_MAX;
    for (uint32_t i = 0; (i = slab_next(&admission->rooms, i)) != NONE; i++) {
        struct admission_room *room = slab_at(&admission->rooms, i);
        if (room->step == ADMISSION_RESTS && room->due_ms <= now_ms && asked < IN_FLIGHT_MAX &&
            admission->in_flight < IN_FLIGHT_MAX) {
            asked += ask(room, now_ms) ? 1 : IN_FLIGHT_MAX;
        }
        if (slab_has(&admission->rooms, i) && room->step == ADMISSION_RESTS &&
            room->due_ms < admission->due_ms) {
            admission->due_ms = room->due_ms;
        }
    }
    if (!admission->listing && admission->list_due_ms < admission->due_ms) {
        admission->due_ms = admission->list_due_ms;
    }
    if (admission->due_ms < now_ms + SCAN_PAUSE_MS) {
        admission->due_ms = now_ms + SCAN_PAUSE_MS;
    }
}

void admission_turn(struct service *service, int64_t now_ms)
{
    struct admission *admission = &service->admission;

    tick_rooms(service);
    if (now_ms < admission->due_ms) {
        return;
    }
    if (engine_failure(service->inner) != NULL || engine_is_away(service->inner)) {
        admission->due_ms = now_ms + AWAY_REST_MS;
        return;
    }
    if (!admission->listing && now_ms >= admission->list_due_ms) {
        admission->list_due_ms = now_ms + LIST_PAUSE_MS;
        list_rooms(service, now_ms);
    }
    ask_rooms(service, now_ms);
    tick_rooms(service);
}

/* ---- how long it takes ----------------------------------------------------------------------- */

bool admission_estimates(struct service *service, struct hf_bytes event)
{
    const struct admission_room *room = find(service, event);

    return room != NULL && room->is_full;
}

int64_t admission_wait_s(struct service *service, struct hf_bytes event, int64_t place,
                         int64_t by_rate_s)
{
    const struct admission_room *room = find(service, event);

    if (room == NULL || !room->is_full || place == 0) {
        return by_rate_s;
    }
    int64_t elapsed_ms = room->last_ms - room->before_ms;
    int64_t count = room->last_admitted - room->before_admitted;
    if (count == 0 || elapsed_ms < MEASURED_MIN_MS) {
        return -1;
    }
    double wait_s = (double)place * (double)elapsed_ms / (double)count / 1000;
    int64_t measured_s = wait_s < (double)HF_INTEGER_MAX ? (int64_t)wait_s + 1 : HF_INTEGER_MAX;
    return measured_s > by_rate_s ? measured_s : by_rate_s;
}
