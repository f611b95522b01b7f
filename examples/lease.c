/* SPDX-License-Identifier: Apache-2.0
 *
 * One writer at a time, on any number of machines. The lease is kept alive in the background while
 * the work goes on; if it is lost, the work is told to stop, and a write that comes too late all
 * the same is turned away by its fence.
 *
 *     cc lease.c $(pkg-config --cflags --libs holdfast) -o lease
 *     ./lease                            in this process, to look at
 *     ./lease holdfast://127.0.0.1:4653  with a server: start two of them */
#include <holdfast.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HEARTBEAT_MS 200
#define STEPS 5

static void must(enum hf_error code, const char *what)
{
    if (code != HF_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, hf_error_name(code), hf_last_message());
        exit(1);
    }
}

/* Called from a thread of the library, once, when the slot is lost. */
static void stop(void *context, const char *why)
{
    printf("the slot is lost: %s\n", why);
    atomic_store((atomic_bool *)context, true);
}

/* What is protected: it remembers the largest fence and turns away smaller ones. */
static bool write_with(int64_t fence)
{
    static int64_t largest;

    if (fence < largest) {
        return false;
    }
    largest = fence;
    return true;
}

static hf_lease *enter(hf_handle *hf, const char *id, atomic_bool *stopped)
{
    struct hf_sem_acquire_args ask = {.name = HF_TEXT("writer"),
                                      .id = hf_text(id),
                                      .limit = 1,
                                      .heartbeat_ms = HEARTBEAT_MS,
                                      .wait_ms = 600000};
    hf_lease *lease;

    must(hf_lease_slot(hf, &ask, stop, stopped, &lease, NULL), id);
    return lease;
}

/* Longer than the heartbeat: without signs of life the slot would be gone. */
static void work(const hf_lease *lease, const atomic_bool *stopped)
{
    struct timespec step = {.tv_nsec = HEARTBEAT_MS * 1000000 / 2};
    int done = 0;

    while (done < STEPS && !atomic_load(stopped) && hf_lease_held(lease)) {
        nanosleep(&step, NULL); /* the work */
        done++;
    }
    printf("%d of %d steps done, and the slot is %s\n", done, STEPS,
           hf_lease_held(lease) ? "still held" : "lost");
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "embedded:";
    atomic_bool stopped = false;
    char id[32];
    hf_handle *hf;

    must(hf_open(url, &hf), url);
    snprintf(id, sizeof id, "process-%d", (int)getpid());
    hf_lease *lease = enter(hf, id, &stopped);
    int64_t fence = hf_lease_fence(lease);
    printf("in, with fence %lld\n", (long long)fence);
    work(lease, &stopped);
    printf("the write is %s\n", write_with(fence) ? "taken" : "turned away");
    must(hf_lease_release(lease), "release");

    /* Somebody takes the slot away behind the holder's back: an operator, say. */
    lease = enter(hf, id, &stopped);
    struct hf_sem_release_args away = {.name = HF_TEXT("writer"), .id = hf_text(id)};
    must(hf_sem_release(hf, &away, NULL), "take away");
    work(lease, &stopped);
    write_with(hf_lease_fence(lease) + 1); /* the next holder was quicker */
    printf("the late write is %s\n", write_with(hf_lease_fence(lease)) ? "TAKEN" : "turned away");
    enum hf_error code = hf_lease_release(lease);
    printf("releasing it says %s\n", hf_error_name(code));
    hf_close(hf);
    return code == HF_NOT_FOUND ? 0 : 1;
}
