/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of origins. It is as large as there are sessions, and a bound more: who has an endless
 * supply of addresses can have it forget others that are idle, and that is all. */
#include "server/origins.h"

#include "base/check.h"
#include "base/random.h"

void origins_init(struct origins *origins, struct memory *memory)
{
    struct random random;

    *origins = (struct origins){.memory = memory};
    random_init(&random);
    random_bytes(&random, origins->key, sizeof origins->key);
    list_init(&origins->idle);
    for (size_t i = 0; i < ORIGIN_BUCKETS; i++) {
        list_init(&origins->buckets[i]);
    }
}

static struct list *bucket_of(struct origins *origins, uint64_t number)
{
    return &origins->buckets[siphash(origins->key, &number, sizeof number) % ORIGIN_BUCKETS];
}

static void drop_idle(struct origins *origins, struct origin *origin)
{
    list_remove(&origin->idle);
    origins->idle_count--;
    list_remove(&origin->bucket);
    memory_free(origins->memory, origin, sizeof *origin);
}

void origins_free(struct origins *origins)
{
    while (!list_empty(&origins->idle)) {
        drop_idle(origins, LIST_ENTRY(origins->idle.next, struct origin, idle));
    }
    for (size_t i = 0; i < ORIGIN_BUCKETS; i++) {
        CHECK(list_empty(&origins->buckets[i]));
    }
}

struct origin *origin_find(struct origins *origins, uint64_t number)
{
    struct list *head = bucket_of(origins, number);

    for (struct list *node = head->next; node != head; node = node->next) {
        struct origin *origin = LIST_ENTRY(node, struct origin, bucket);
        if (origin->number == number) {
            return origin;
        }
    }
    return NULL;
}

static struct origin *make(struct origins *origins, uint64_t number)
{
    struct origin *origin = memory_zeroed(origins->memory, sizeof *origin);

    if (origin != NULL) {
        origin->number = number;
        list_init(&origin->strangers);
        list_init(&origin->logins);
        list_add_last(bucket_of(origins, number), &origin->bucket);
    }
    return origin;
}

struct origin *origin_enter(struct origins *origins, uint64_t number)
{
    struct origin *origin = origin_find(origins, number);

    if (origin == NULL) {
        origin = make(origins, number);
    } else if (origin->sessions == 0) {
        list_remove(&origin->idle);
        origins->idle_count--;
    }
    if (origin != NULL) {
        origin->sessions++;
    }
    return origin;
}

void origin_leave(struct origins *origins, struct origin *origin)
{
    if (origin == NULL || --origin->sessions > 0) {
        return;
    }
    CHECK(origin->stranger_count == 0 && list_empty(&origin->logins));
    list_add_last(&origins->idle, &origin->idle);
    origins->idle_count++;
    if (origin->guesses == 0 && origin->not_before_ns == 0) {
        drop_idle(origins, origin);
    } else if (origins->idle_count > ORIGINS_IDLE_MAX) {
        drop_idle(origins, LIST_ENTRY(origins->idle.next, struct origin, idle));
    }
}

struct origin *origin_most_crowded(struct origins *origins)
{
    struct origin *most = NULL;

    for (size_t i = 0; i < ORIGIN_BUCKETS; i++) {
        struct list *head = &origins->buckets[i];
        for (struct list *node = head->next; node != head; node = node->next) {
            struct origin *origin = LIST_ENTRY(node, struct origin, bucket);
            if (origin->stranger_count > (most != NULL ? most->stranger_count : 0)) {
                most = origin;
            }
        }
    }
    return most;
}
