/* SPDX-License-Identifier: Apache-2.0
 *
 * Slow work on libuv's threads. libuv starts them all with the first work it is given, and ends the
 * process if it gets none: so they are tried before, and started where the server can still say
 * what it lacks. */
#include "server/loop_work.h"

#include "base/check.h"
#include "base/thread.h"
#include "server/loop.h"

#include <stdlib.h>

/* Hashing a password takes 16 MB. */
#define WORKERS 2
#define WORKERS_TEXT "2"

static void *wait_for_the_others(void *context)
{
    pthread_mutex_lock(context);
    pthread_mutex_unlock(context);
    return NULL;
}

/* Does the system give as many threads at a time? */
static bool are_to_be_had(void)
{
    pthread_t threads[WORKERS];
    pthread_mutex_t mutex;
    unsigned count = 0;

    pthread_mutex_init(&mutex, NULL);
    pthread_mutex_lock(&mutex);
    while (count < WORKERS && thread_start(&threads[count], wait_for_the_others, &mutex)) {
        count++;
    }
    pthread_mutex_unlock(&mutex);
    for (unsigned i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    pthread_mutex_destroy(&mutex);
    return count == WORKERS;
}

static void do_nothing(struct loop_work *work)
{
    (void)work;
}

bool loop_work_start(struct loop *loop)
{
    if (!are_to_be_had()) {
        return false;
    }
    setenv("UV_THREADPOOL_SIZE", WORKERS_TEXT, 0);
    loop_work_begin(&loop->first_work, loop, do_nothing, do_nothing);
    return true;
}

static void run_work(uv_work_t *request)
{
    struct loop_work *work = request->data;
    work->run(work);
}

static void work_done(uv_work_t *request, int status)
{
    struct loop_work *work = request->data;
    (void)status;
    work->done(work);
}

void loop_work_begin(struct loop_work *work, struct loop *loop, void (*run)(struct loop_work *work),
                     void (*done)(struct loop_work *work))
{
    work->run = run;
    work->done = done;
    if (loop == NULL) {
        run(work);
        done(work);
        return;
    }
    work->request.data = work;
    uv_queue_work(&loop->uv, &work->request, run_work, work_done);
}
