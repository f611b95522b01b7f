/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded in front of a program's libraries (LD_PRELOAD) by tests/e2e/test_scarce_threads.py: a
 * system that gives a process as many threads at a time as SCARCE_THREADS says, and no more. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef int create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *context);

static create *system_create;
static atomic_int left;

__attribute__((constructor)) static void find(void)
{
    const char *given = getenv("SCARCE_THREADS");

    /* What dlsym gives is a function, which ISO C has no cast for. */
    *(void **)&system_create = dlsym(RTLD_NEXT, "pthread_create");
    atomic_init(&left, given != NULL ? atoi(given) : 0);
}

struct started {
    void *(*run)(void *);
    void *context;
};

static void give_back(void *context)
{
    (void)context;
    atomic_fetch_add(&left, 1);
}

static void *run_counted(void *context)
{
    struct started started = *(struct started *)context;
    void *result;

    free(context);
    pthread_cleanup_push(give_back, NULL);
    result = started.run(started.context);
    pthread_cleanup_pop(1);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *context)
{
    struct started *started = malloc(sizeof *started);

    if (started == NULL || atomic_fetch_sub(&left, 1) <= 0) {
        if (started != NULL) {
            atomic_fetch_add(&left, 1);
        }
        free(started);
        return EAGAIN;
    }
    *started = (struct started){run, context};
    int error = system_create(thread, attributes, run_counted, started);
    if (error != 0) {
        atomic_fetch_add(&left, 1);
        free(started);
    }
    return error;
}
