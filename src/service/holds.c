/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of what the ledger is to know of holds, in the order in which it happened. One job at
 * a time takes what is there, so that while it is carried out the next one collects:
 *
 *     RESERVE, EXTEND, RELEASE ─keep─> queue ─> HOLDS … ─ done ─> written
 *                                        ^         └─ the ledger is away: back to the front
 *                                        └─ full: the oldest is dropped, and counted
 *
 * Every entry is the whole booking, so that a later one makes up for an earlier one that was
 * dropped. One that the database refuses is found by taking fewer at a time. */
#include "service/holds.h"

#include "base/check.h"
#include "base/siphash.h"

#include <stdlib.h>
#include <time.h>

/* More than these wait in memory at no time. */
#define QUEUE_MAX 20000
/* Between two jobs, unless a whole one waits; and after one that the ledger did not take. */
#define GATHER_MS 10
#define RETRY_MS 250
/* Slots of a job for the hashes of its bookings. */
#define HOLDS_SEEN ((size_t)4 * LEDGER_HOLDS_MAX)
/* How long a service that is closed waits for what is still to be written. */
#define CLOSE_MS 5000

struct holds_entry {
    struct list node;
    struct ledger_booking booking;
    char texts[];
};

/* A job: the entries it has taken, and what it shows the ledger of them. */
struct holds_work {
    struct list taken;
    size_t count;
    struct ledger_booking bookings[LEDGER_HOLDS_MAX];
    uint64_t seen[HOLDS_SEEN]; /* hashes of them, with room to spare; 0: none */
};

/* ---- the queue ------------------------------------------------------------------------------- */

/* The texts that a row of a hold has. */
#define HOLD_TEXTS 7
static void texts_of(struct ledger_booking *booking, struct hf_bytes *texts[HOLD_TEXTS])
{
    texts[0] = &booking->event;
    texts[1] = &booking->booking;
    texts[2] = &booking->zone;
    texts[3] = &booking->user;
    texts[4] = &booking->show;
    texts[5] = &booking->status;
    texts[6] = &booking->trace;
}

static struct holds_entry *copy_entry(const struct ledger_booking *booking)
{
    struct ledger_booking copy = *booking;
    struct hf_bytes *texts[HOLD_TEXTS];
    size_t size = 0;

    texts_of(&copy, texts);
    for (size_t i = 0; i < HOLD_TEXTS; i++) {
        size += texts[i]->size;
    }
    struct holds_entry *entry = malloc(sizeof *entry + size);
    if (entry == NULL) {
        return NULL;
    }
    char *at = entry->texts;
    for (size_t i = 0; i < HOLD_TEXTS; i++) {
        if (texts[i]->size > 0) {
            memcpy(at, texts[i]->data, texts[i]->size);
        }
        texts[i]->data = at;
        at += texts[i]->size;
    }
    entry->booking = copy;
    return entry;
}

static void free_entries(struct list *entries)
{
    struct list *next;

    for (struct list *node = entries->next; node != entries; node = next) {
        next = node->next;
        free(LIST_ENTRY(node, struct holds_entry, node));
    }
    list_init(entries);
}

/* Drops the oldest, until no more than so many wait. */
static void drop_beyond(struct service *service, size_t most)
{
    struct list dropped;

    list_init(&dropped);
    for (; service->holds_waiting > most; service->holds_waiting--) {
        struct list *node = service->holds.next;
        list_remove(node);
        list_add_last(&dropped, node);
        service->holds_dropped++;
    }
    free_entries(&dropped);
}

void holds_keep(struct service *service, const struct ledger_booking *booking)
{
    if (!service->guards) {
        return;
    }
    struct holds_entry *entry = copy_entry(booking);
    if (entry == NULL) {
        service->holds_dropped++;
        return;
    }
    drop_beyond(service, QUEUE_MAX - 1);
    if (service->holds_waiting == 0 && !service->holds_writing) {
        service->holds_due_ms = service_now(service) + GATHER_MS;
    }
    list_add_last(&service->holds, &entry->node);
    service->holds_waiting++;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void release(void *state)
{
    struct holds_work *work = state;

    free_entries(&work->taken);
    free(work);
}

/* What the ledger did not take goes back to the front, in its order. */
static void put_back(struct service *service, struct holds_work *work)
{
    list_splice_first(&service->holds, &work->taken);
    service->holds_waiting += work->count;
    drop_beyond(service, QUEUE_MAX);
}

/* Called by the ledger. */
static void written(struct ledger_job *job, void *context)
{
    struct service_call *call = context;
    struct service *service = call->service;
    struct holds_work *work = call->state;
    bool refused = job->answer == LEDGER_REFUSED;

    service->holds_writing = false;
    service->holds_due_ms = service_now(service) + GATHER_MS;
    if (job->answer == LEDGER_DONE) {
        service->holds_written += work->count;
        webhooks_kick(service);
        service->holds_most =
            service->holds_most < LEDGER_HOLDS_MAX / 2 ? 2 * service->holds_most : LEDGER_HOLDS_MAX;
    } else if (refused && work->count == 1) {
        log_line(&service->options.log, LOG_WARNING,
                 "the ledger's database refuses the row of a hold: %s", job->problem.message);
        service->holds_dropped++;
    } else {
        service->holds_most = refused ? work->count / 2 : service->holds_most;
        service->holds_due_ms += refused ? 0 : RETRY_MS;
        put_back(service, work);
    }
    call_drop_state(call);
    call_end(call);
}

/* Is the booking none that the job has already? What becomes of one is written in its order, so
 * that the second entry of a booking waits for the next job. */
static bool is_first(const struct service *service, struct holds_work *work,
                     const struct ledger_booking *booking)
{
    uint64_t hash = siphash(service->hash_key, booking->event.data, booking->event.size) * 31 +
                    siphash(service->hash_key, booking->booking.data, booking->booking.size);
    size_t at = hash % HOLDS_SEEN;

    hash += hash == 0;
    for (; work->seen[at] != 0; at = (at + 1) % HOLDS_SEEN) {
        if (work->seen[at] == hash) {
            return false;
        }
    }
    work->seen[at] = hash;
    return true;
}

static void write_holds(struct service *service)
{
    struct service_call *call = call_own(service);
    struct holds_work *work = call != NULL ? call_add_state(call, sizeof *work, release) : NULL;

    if (work == NULL) {
        service->holds_due_ms = service_now(service) + RETRY_MS;
        if (call != NULL) {
            call_end(call);
        }
        return;
    }
    list_init(&work->taken);
    while (work->count < service->holds_most && !list_empty(&service->holds)) {
        struct holds_entry *entry = LIST_ENTRY(service->holds.next, struct holds_entry, node);
        if (!is_first(service, work, &entry->booking)) {
            break;
        }
        list_remove(&entry->node);
        list_add_last(&work->taken, &entry->node);
        work->bookings[work->count++] = entry->booking;
    }
    service->holds_waiting -= work->count;
    service->holds_writing = true;
    struct ledger_job *job = call_job(call, LEDGER_TASK_HOLDS);
    job->holds = work->bookings;
    job->notice.type = webhooks_type(service, "booking");
    job->count = work->count;
    job->done = written;
    call_submit(call, NULL);
}

/* ---- time ------------------------------------------------------------------------------------ */

void holds_init(struct service *service)
{
    list_init(&service->holds);
    service->holds_most = LEDGER_HOLDS_MAX;
}

int64_t holds_due(const struct service *service)
{
    return service->holds_waiting == 0 || service->holds_writing ? INT64_MAX
           : service->holds_waiting >= LEDGER_HOLDS_MAX          ? service->holds_due_ms - GATHER_MS
                                                                 : service->holds_due_ms;
}

void holds_turn(struct service *service, int64_t now_ms)
{
    if (now_ms >= holds_due(service)) {
        write_holds(service);
    }
}

/* Nobody turns the service any more: what is still to be written has a moment left. Other calls
 * that the ledger answers meanwhile stay where they are. */
void holds_close(struct service *service)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until_ms = service_now(service) + CLOSE_MS;

    while (service->ledger != NULL && (service->holds_waiting > 0 || service->holds_writing) &&
           ledger_unready(service->ledger) == NULL && service_now(service) < until_ms) {
        if (!service->holds_writing) {
            write_holds(service);
        }
        ledger_turn(service->ledger);
        nanosleep(&pause, NULL);
    }
    service->holds_dropped += service->holds_waiting;
    free_entries(&service->holds);
}
