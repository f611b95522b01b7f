/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on other threads. */
#include "server/loop_work.h"

#include "server/loop.h"

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
