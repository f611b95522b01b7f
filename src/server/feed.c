/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping the latest entries, offering them to listeners, and finding the visitor of a waiting
 * room that was admitted. */
#include "server/feed.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "command/words.h"
#include "engine/engine.h"
#include "server/session.h"

/* A buffer that grew beyond this for one entry is not kept. */
#define SCRATCH_MAX ((size_t)64 << 10)

void feed_init(struct feed *feed, struct memory *memory)
{
    struct random random;

    *feed = (struct feed){.memory = memory};
    /* From the clock, so that a number from before a restart is not taken for one of now. */
    feed->next = feed->first = feed->since = (uint64_t)clock_wall_ms() * 1000;
    buffer_init(&feed->scratch, memory);
    list_init(&feed->listeners);
    table_init(&feed->visitors, memory);
    slab_init(&feed->visitor_slab, memory, sizeof(struct feed_visitor *));
    random_init(&random);
    random_bytes(&random, feed->key, sizeof feed->key);
}

static void drop_entry(struct feed *feed, struct feed_entry *entry)
{
    memory_free(feed->memory, entry->data, entry->scope_size + entry->size);
    *entry = (struct feed_entry){.data = NULL};
}

static void drop_kept(struct feed *feed)
{
    if (feed->kept != NULL) {
        for (size_t i = 0; i < FEED_KEPT; i++) {
            drop_entry(feed, &feed->kept[i]);
        }
        memory_free(feed->memory, feed->kept, FEED_KEPT * sizeof *feed->kept);
        feed->kept = NULL;
        feed->next++; /* what is not kept from now on leaves a gap */
    }
}

void feed_free(struct feed *feed)
{
    drop_kept(feed);
    buffer_free(&feed->scratch);
    table_free(&feed->visitors);
    slab_free(&feed->visitor_slab);
}

static void update_wanted(struct feed *feed)
{
    feed->wanted = feed->kept != NULL || feed->visitor_slab.count > 0;
}

void feed_turn(struct feed *feed, struct engine *engine, uint64_t now_ns)
{
    if (feed->kept != NULL && feed->listener_count == 0 &&
        now_ns - feed->left_ns > FEED_LINGER_NS) {
        drop_kept(feed);
        update_wanted(feed);
    }
    bool collect = feed->kept != NULL;
    if (collect != feed->collecting) {
        engine_collect_events(engine, collect);
        feed->collecting = collect;
    }
}

/* ---- listeners ------------------------------------------------------------------------------- */

static void tell_missed(struct feed_listener *listener, struct buffer *out)
{
    buffer_text(out, "event: missed\ndata: {\"count\":");
    if (listener->lost_track) {
        buffer_text(out, "null");
    } else {
        buffer_decimal(out, (int64_t)listener->missed);
    }
    buffer_text(out, "}\n\n");
    listener->missed = 0;
    listener->lost_track = false;
}

/* Is it of the families and scopes of the listener's user? */
static bool may_see(const struct feed_listener *listener, const struct feed_entry *entry)
{
    const struct access *access = listener->session->who.access;

    return access == NULL ||
           (access_has_family(access, entry->family) &&
            (!access->by_scope ||
             (entry->scoped &&
              access_has_scope(access, (struct hf_bytes){entry->data, entry->scope_size}))));
}

static bool concerns(const struct feed_listener *listener, const struct feed_entry *entry)
{
    size_t size = strlen(listener->scope);

    return may_see(listener, entry) &&
           (size == 0 ||
            (size == entry->scope_size && memcmp(listener->scope, entry->data, size) == 0));
}

void feed_catch_up(struct feed *feed, struct feed_listener *listener)
{
    struct buffer *out = &listener->session->out;
    size_t before = out->size;

    if (listener->next < feed->first) {
        listener->missed += feed->first - listener->next;
        listener->next = feed->first;
    }
    while (out->size <= FEED_BACKLOG_MAX &&
           (listener->next < feed->next || listener->missed > 0 || listener->lost_track)) {
        if (listener->missed > 0 || listener->lost_track) {
            tell_missed(listener, out);
            continue;
        }
        const struct feed_entry *entry = &feed->kept[listener->next++ % FEED_KEPT];
        if (entry->data != NULL && concerns(listener, entry)) {
            buffer_bytes(out, entry->data + entry->scope_size, entry->size);
        }
    }
    if (out->size != before || out->failed) {
        listener->session->answers++; /* what it tells of may not be on disk yet */
        session_touch(listener->session);
    }
}

bool feed_listen(struct feed *feed, struct feed_listener *listener, uint64_t after)
{
    if (feed->listener_count == FEED_LISTENERS_MAX) {
        return false;
    }
    if (feed->kept == NULL) {
        feed->kept = memory_zeroed(feed->memory, FEED_KEPT * sizeof *feed->kept);
        if (feed->kept == NULL) {
            return false;
        }
        feed->first = feed->since = feed->next;
    }
    listener->missed = 0;
    listener->lost_track = false;
    listener->next = after < feed->next ? after + 1 : feed->next;
    if (listener->next < feed->since) {
        listener->lost_track = true;
        listener->next = feed->since;
    } else if (after >= feed->next && after != UINT64_MAX) {
        listener->lost_track = true; /* of a run whose wall clock was ahead of this one's */
    }
    list_add_last(&feed->listeners, &listener->node);
    feed->listener_count++;
    update_wanted(feed);
    feed_catch_up(feed, listener);
    return true;
}

void feed_leave(struct feed *feed, struct feed_listener *listener, uint64_t now_ns)
{
    list_remove(&listener->node);
    feed->listener_count--;
    feed->left_ns = now_ns;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* "id: 17\nevent: NAME\ndata: {" */
static void begin_entry(struct feed *feed, const char *name, int64_t time_ms)
{
    struct buffer *out = &feed->scratch;

    buffer_clear(out);
    buffer_text(out, "id: ");
    buffer_decimal(out, (int64_t)feed->next);
    buffer_text(out, "\nevent: ");
    buffer_text(out, name);
    buffer_text(out, "\ndata: {\"time_ms\":");
    buffer_decimal(out, time_ms);
}

/* Keeps what is in scratch, and offers it to the listeners. Without memory it is missed. */
static void end_entry(struct feed *feed, struct hf_bytes scope, enum family family, bool scoped)
{
    struct buffer *from = &feed->scratch;
    struct feed_entry *entry = &feed->kept[feed->next % FEED_KEPT];

    buffer_text(from, "}\n\n");
    drop_entry(feed, entry);
    char *data = from->failed ? NULL : memory_get(feed->memory, scope.size + from->size);
    if (data != NULL) {
        memcpy(data, scope.data, scope.size);
        memcpy(data + scope.size, from->data, from->size);
        *entry = (struct feed_entry){.data = data,
                                     .scope_size = (uint32_t)scope.size,
                                     .size = (uint32_t)from->size,
                                     .family = family,
                                     .scoped = scoped};
    }
    feed->next++;
    if (feed->next - feed->first > FEED_KEPT) {
        feed->first = feed->next - FEED_KEPT;
    }
    if (from->capacity > SCRATCH_MAX) {
        buffer_free(from);
    }
    for (struct list *node = feed->listeners.next; node != &feed->listeners; node = node->next) {
        struct feed_listener *listener = LIST_ENTRY(node, struct feed_listener, node);
        listener->missed += data == NULL;
        feed_catch_up(feed, listener);
    }
}

static struct hf_bytes scope_of(const struct command *command)
{
    struct hf_bytes scope;

    memcpy(&scope, command_arg(command, &command->spec->args[0]), sizeof scope);
    return scope.data != NULL ? scope : hf_text(""); /* RECONCILE may be of no product */
}

static void add_command(struct feed *feed, const struct command *command, const struct reply *reply)
{
    struct buffer *out = &feed->scratch;

    begin_entry(feed, command->spec->name, clock_wall_ms());
    buffer_text(out, ",\"command\":\"");
    buffer_text(out, command->spec->name);
    buffer_byte(out, '"');
    size_t short_size = out->size;
    buffer_text(out, ",\"args\":");
    command_to_json(command, out);
    buffer_text(out, ",\"reply\":");
    reply_to_json(reply, command->spec, out);
    if (out->size > FEED_ENTRY_MAX) {
        out->size = short_size;
        buffer_text(out, ",\"scope\":");
        json_text(out, scope_of(command));
        buffer_text(out, ",\"left_out\":true");
    }
    end_entry(feed, scope_of(command), command_family(command),
              command_scope(command).data != NULL);
}

void feed_event(struct feed *feed, const struct event *event)
{
    struct buffer *out = &feed->scratch;

    if (feed->kept == NULL) {
        return;
    }
    begin_entry(feed, event_name(event->kind), event->time_ms);
    buffer_text(out, ",\"event\":\"");
    buffer_text(out, event_name(event->kind));
    buffer_text(out, "\",\"scope\":");
    json_text(out, hf_text(event->scope));
    buffer_text(out, ",\"id\":");
    json_text(out, hf_text(event->id));
    buffer_text(out, ",\"quantity\":");
    buffer_decimal(out, event->quantity);
    end_entry(feed, hf_text(event->scope), event_family(event->kind), true);
}

/* ---- visitors of waiting rooms --------------------------------------------------------------- */

static struct feed_visitor *visitor_at(const struct feed *feed, uint32_t index)
{
    return *(struct feed_visitor **)slab_at(&feed->visitor_slab, index);
}

/* Neither an event nor a user has a NUL in it. */
static uint32_t hash_visitor(const struct feed *feed, struct hf_bytes event, struct hf_bytes user)
{
    char text[2 * HF_ID_SIZE];

    memcpy(text, event.data, event.size);
    text[event.size] = '\0';
    memcpy(text + event.size + 1, user.data, user.size);
    return (uint32_t)siphash(feed->key, text, event.size + 1 + user.size);
}

struct looking {
    const struct feed *feed;
    struct hf_bytes event, user;
};

static bool is_visitor(const void *context, uint32_t index)
{
    const struct looking *looking = context;
    const struct feed_visitor *visitor = visitor_at(looking->feed, index);

    return strlen(visitor->event) == looking->event.size &&
           strlen(visitor->user) == looking->user.size &&
           memcmp(visitor->event, looking->event.data, looking->event.size) == 0 &&
           memcmp(visitor->user, looking->user.data, looking->user.size) == 0;
}

bool feed_watch(struct feed *feed, struct feed_visitor *visitor)
{
    visitor->hash = hash_visitor(feed, hf_text(visitor->event), hf_text(visitor->user));
    visitor->index = slab_take(&feed->visitor_slab);
    if (visitor->index == NONE) {
        return false;
    }
    if (!table_add(&feed->visitors, visitor->hash, visitor->index)) {
        slab_give(&feed->visitor_slab, visitor->index);
        return false;
    }
    *(struct feed_visitor **)slab_at(&feed->visitor_slab, visitor->index) = visitor;
    update_wanted(feed);
    return true;
}

void feed_unwatch(struct feed *feed, struct feed_visitor *visitor)
{
    table_remove(&feed->visitors, visitor->hash, visitor->index);
    slab_give(&feed->visitor_slab, visitor->index);
    update_wanted(feed);
}

static void admit(struct feed *feed, struct hf_bytes event, struct hf_bytes user)
{
    struct looking looking = {feed, event, user};
    uint32_t hash = hash_visitor(feed, event, user), index;

    while ((index = table_find(&feed->visitors, hash, is_visitor, &looking)) != NONE) {
        struct feed_visitor *visitor = visitor_at(feed, index);
        feed_unwatch(feed, visitor);
        visitor->admitted(visitor);
    }
}

void feed_command(struct feed *feed, const struct command *command, const struct reply *reply)
{
    if (feed->kept != NULL && !text_is_own_id(scope_of(command))) {
        add_command(feed, command, reply);
    }
    enum command_id id = command_id(command->spec);
    if ((id == ROOM_ADMIT || id == ROOM_TICK) && feed->visitor_slab.count > 0) {
        struct hf_bytes event =
            id == ROOM_ADMIT ? command->args.room_admit.event : command->args.room_tick.event;
        for (size_t i = 0; i + 1 < reply->count; i += 2) {
            admit(feed, event, reply_bytes(reply, i));
        }
    }
}
