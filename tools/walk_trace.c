/* SPDX-License-Identifier: Apache-2.0
 *
 * Records which functions of a program are entered, in order, for `tools/walk`. It is preloaded
 * into a program that was compiled with -finstrument-functions. SIGURG begins a recording; the
 * next one ends it and writes it to the file that WALK_FILE names, one line an event:
 *
 *     thread depth address        a function was entered
 *     thread depth =name bytes    a system call was made
 *
 * Addresses count from where the program was loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define EVENTS_MAX (1 << 20)

struct event {
    const char *call; /* NULL: a function */
    uintptr_t value;  /* its address, or the bytes of the call */
    int thread, depth;
};

static struct event events[EVENTS_MAX];
static atomic_size_t count;
static atomic_bool recording;
static atomic_int threads;
static uintptr_t base;
static __thread int thread, depth;

static void record(const char *call, uintptr_t value)
{
    if (thread == 0) {
        thread = ++threads;
    }
    size_t i = recording ? count++ : EVENTS_MAX;
    if (i < EVENTS_MAX) {
        events[i] = (struct event){call, value, thread, depth};
    }
}

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    record(NULL, (uintptr_t)function - base);
    depth++;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
    depth--;
}

#define TRACED(type, name, parameters, arguments, size)                                            \
    type name parameters                                                                           \
    {                                                                                              \
        type(*real) parameters = dlsym(RTLD_NEXT, #name);                                          \
        type result = real arguments;                                                              \
        record(#name, (uintptr_t)(size));                                                          \
        return result;                                                                             \
    }

TRACED(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags), result)
TRACED(ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags),
       result)
TRACED(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), result)
TRACED(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), result)
TRACED(ssize_t, pwrite64, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at),
       result)
TRACED(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at),
       result)
TRACED(ssize_t, writev, (int fd, const struct iovec *parts, int parts_count),
       (fd, parts, parts_count), result)
TRACED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
       result)
TRACED(int, fdatasync, (int fd), (fd), result)

static void on_signal(int number)
{
    (void)number;
    if (!recording) {
        count = 0;
        recording = true;
        return;
    }
    recording = false;
    FILE *out = fopen(getenv("WALK_FILE"), "w");
    for (size_t i = 0; out != NULL && i < count && i < EVENTS_MAX; i++) {
        const struct event *event = &events[i];
        if (event->call != NULL) {
            fprintf(out, "%d %d =%s %ld\n", event->thread, event->depth, event->call,
                    (long)event->value);
        } else {
            fprintf(out, "%d %d %#lx\n", event->thread, event->depth, (unsigned long)event->value);
        }
    }
    if (out != NULL) {
        fclose(out);
    }
}

static int note_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    base = info->dlpi_addr; /* the first is the program itself */
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    dl_iterate_phdr(note_base, NULL);
    sigaction(SIGURG, &action, NULL);
}
