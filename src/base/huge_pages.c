/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread, and a few blocks between it and its memory. A child of fork() has no such thread, and
 * maybe a mutex that nobody will ever unlock: so it is only ever tried. */
#include "base/huge_pages.h"

#include "base/thread.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define AHEAD 4
#define SMALLEST_PAGE 4096 /* of any system */

struct huge_pages {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    void *ready[AHEAD];
    unsigned count;
    bool stopped;

    /* Only the thread that uses the memory reads these. */
    size_t after;
    bool tried, started; /* the thread */
    bool at_once;
    void *(*direct)(struct memory *memory, size_t size);
};

#if defined(__SANITIZE_ADDRESS__)
/* The sanitizer sees only what is allocated. */
void *huge_page_map(void)
{
    return calloc(1, HUGE_PAGE);
}

void huge_page_unmap(void *block)
{
    free(block);
}

static void *map_aligned(void)
{
    return huge_page_map();
}
#else
static void *map(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? NULL : block;
}

void *huge_page_map(void)
{
    return map(HUGE_PAGE);
}

void huge_page_unmap(void *block)
{
    munmap(block, HUGE_PAGE);
}

/* A block that a huge page can back: cut out of twice its size. */
static void *map_aligned(void)
{
    char *block = map(2 * HUGE_PAGE);

    if (block == NULL) {
        return NULL;
    }
    size_t before = (HUGE_PAGE - (uintptr_t)block % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) {
        munmap(block, before);
    }
    munmap(block + before + HUGE_PAGE, HUGE_PAGE - before);
    return block + before;
}
#endif

/* A zeroed block that is in a huge page as soon as it is touched; NULL when there is no memory. */
static void *huge_page_new(void)
{
    char *block = map_aligned();

    if (block != NULL) {
        madvise(block, HUGE_PAGE, MADV_HUGEPAGE); /* a hint: it does not matter if it fails */
    }
    return block;
}

/* Has the system find and clear the memory here, so that its user does not wait. A byte of each
 * page is enough: the system has cleared the rest. */
static void touch(volatile char *block)
{
    for (size_t i = 0; i < HUGE_PAGE; i += SMALLEST_PAGE) {
        block[i] = 0;
    }
}

static void *find_pages(void *context)
{
    struct huge_pages *pages = context;

    pthread_mutex_lock(&pages->mutex);
    while (!pages->stopped) {
        if (pages->count == AHEAD) {
            pthread_cond_wait(&pages->wanted, &pages->mutex);
            continue;
        }
        pthread_mutex_unlock(&pages->mutex);
        void *block = huge_page_new();
        if (block != NULL) {
            touch(block);
        }
        pthread_mutex_lock(&pages->mutex);
        if (block == NULL) {
            pages->stopped = true; /* no memory: the caller finds out when it needs some */
        } else {
            pages->ready[pages->count++] = block;
        }
    }
    pthread_mutex_unlock(&pages->mutex);
    return NULL;
}

static void start(struct huge_pages *pages)
{
    pages->tried = true;
    pages->started = thread_start(&pages->thread, find_pages, pages);
    pages->after = 0;
}

static void *take(struct huge_pages *pages)
{
    void *block = NULL;

    if (pthread_mutex_trylock(&pages->mutex) == 0) {
        if (pages->count > 0) {
            block = pages->ready[--pages->count];
            pthread_cond_signal(&pages->wanted);
        }
        pthread_mutex_unlock(&pages->mutex);
    }
    return block;
}

static void *zeroed_ahead(struct memory *memory, size_t size)
{
    struct huge_pages *pages = memory->ahead;
    void *block = NULL;

    if (memory->used <= pages->after) {
        return pages->direct(memory, size);
    }
    if (!pages->tried) {
        start(pages);
    }
    if (size == HUGE_PAGE) {
        block = pages->started ? take(pages) : NULL;
        block = block == NULL && pages->at_once ? huge_page_new() : block;
    }
    return block != NULL ? block : pages->direct(memory, size);
}

void huge_pages_ahead(struct memory *memory, size_t after)
{
    struct huge_pages *pages = calloc(1, sizeof *pages);

    if (pages == NULL) {
        return;
    }
    pthread_mutex_init(&pages->mutex, NULL);
    pthread_cond_init(&pages->wanted, NULL);
    pages->after = after;
    pages->direct = memory->zeroed;
    memory->ahead = pages;
    memory->zeroed = zeroed_ahead;
}

void huge_pages_at_once(struct memory *memory, bool at_once)
{
    if (memory->ahead != NULL) {
        memory->ahead->at_once = at_once;
    }
}

void huge_pages_end(struct memory *memory)
{
    struct huge_pages *pages = memory->ahead;

    if (pages == NULL) {
        return;
    }
    if (pages->started) {
        pthread_mutex_lock(&pages->mutex);
        pages->stopped = true;
        pthread_cond_signal(&pages->wanted);
        pthread_mutex_unlock(&pages->mutex);
        pthread_join(pages->thread, NULL);
    }
    while (pages->count > 0) {
        huge_page_unmap(pages->ready[--pages->count]);
    }
    pthread_cond_destroy(&pages->wanted);
    pthread_mutex_destroy(&pages->mutex);
    memory->zeroed = pages->direct;
    memory->ahead = NULL;
    free(pages);
}
