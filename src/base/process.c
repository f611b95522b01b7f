/* SPDX-License-Identifier: Apache-2.0
 *
 * A counter that pthread_atfork() moves in each child, and the hooks that are called there. */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint generation;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards `hooks`, across a fork too */
static struct list hooks = {&hooks, &hooks};

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&mutex);
}

static void in_child(void)
{
    atomic_fetch_add(&generation, 1);
    for (struct list *node = hooks.next; node != &hooks; node = node->next) {
        struct process_hook *hook = LIST_ENTRY(node, struct process_hook, node);
        hook->forked(hook);
    }
    pthread_mutex_unlock(&mutex);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

unsigned process_generation(void)
{
    pthread_once(&once, watch_forks);
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void process_add_hook(struct process_hook *hook)
{
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&mutex);
    list_add_last(&hooks, &hook->node);
    pthread_mutex_unlock(&mutex);
}

void process_remove_hook(struct process_hook *hook)
{
    pthread_mutex_lock(&mutex);
    list_remove(&hook->node);
    pthread_mutex_unlock(&mutex);
}
