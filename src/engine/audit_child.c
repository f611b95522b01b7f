/* SPDX-License-Identifier: Apache-2.0
 *
 * The child sends a line for each finding, and behind the last of them a byte 0 and the number of
 * findings. Without that number the audit came to no end. */
#include "engine/audit_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* An audit of ten million holds takes some seconds. */
#define TIMEOUT_MS (300 * 1000)
#define REAP_MS 1000 /* how long a killed process has to be gone */

/* ---- in the child ---------------------------------------------------------------------------- */

static void send_all(int to, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t sent = write(to, at, size);
        if (sent < 0 && errno != EINTR) {
            _exit(1); /* the parent is gone */
        }
        at += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
}

static void send_finding(void *context, const char *finding)
{
    int to = *(int *)context;

    send_all(to, finding, strlen(finding));
    send_all(to, "\n", 1);
}

static _Noreturn void be_child(struct core *core, int to)
{
    uint64_t findings = core_audit(core, send_finding, &to);

    send_all(to, "", 1);
    send_all(to, &findings, sizeof findings);
    _exit(0);
}

/* ---- in the parent --------------------------------------------------------------------------- */

enum hf_error audit_child_begin(struct audit_child *child, struct core *core,
                                void (*forked)(void *context), void *context,
                                struct problem *problem)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return problem_set(problem, HF_BUSY, "cannot begin an audit: %s", strerror(errno));
    }
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        if (forked != NULL) {
            forked(context);
        }
        be_child(core, ends[1]);
    }
    int code = errno;
    close(ends[1]);
    child->from = ends[0];
    if (child->pid < 0) {
        close(ends[0]);
        return problem_set(problem, HF_BUSY, "cannot fork for an audit: %s", strerror(code));
    }
    return HF_OK;
}

/* What has come in and is not reported yet. */
struct incoming {
    char bytes[4096]; /* longer than a finding */
    size_t size;
    bool ended; /* the last finding is reported; what follows is their number */
};

static void report_lines(struct incoming *incoming, hf_audit_report *report, void *context)
{
    size_t from = 0;

    for (size_t i = 0; i < incoming->size && !incoming->ended; i++) {
        if (incoming->bytes[i] == '\0') {
            incoming->ended = true;
            from = i + 1;
        } else if (incoming->bytes[i] == '\n') {
            incoming->bytes[i] = '\0';
            report(context, incoming->bytes + from);
            from = i + 1;
        }
    }
    incoming->size -= from;
    memmove(incoming->bytes, incoming->bytes + from, incoming->size);
}

/* Reads once; false at the end, or when nothing has come for too long. */
static bool read_some(const struct audit_child *child, struct incoming *incoming)
{
    struct pollfd wanted = {.fd = child->from, .events = POLLIN};
    size_t room = sizeof incoming->bytes - incoming->size;
    int ready;

    do {
        ready = poll(&wanted, 1, TIMEOUT_MS);
    } while (ready < 0 && errno == EINTR);
    ssize_t got =
        ready > 0 && room > 0 ? read(child->from, incoming->bytes + incoming->size, room) : 0;
    incoming->size += got > 0 ? (size_t)got : 0;
    return got > 0 || (got < 0 && errno == EINTR);
}

/* A killed process ends at once, unless the kernel cannot end it, as while a disk does not answer:
 * then it is left behind, so that the audit's caller is answered. */
static void reap(struct audit_child *child)
{
    close(child->from);
    child->from = -1;
    kill(child->pid, SIGKILL); /* it has said all that it has to say, or will never */
    for (int waited_ms = 0; waited_ms < REAP_MS && waitpid(child->pid, NULL, WNOHANG) == 0;
         waited_ms++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

enum hf_error audit_child_end(struct audit_child *child, hf_audit_report *report, void *context,
                              uint64_t *findings, struct problem *problem)
{
    struct incoming incoming = {.size = 0};

    while (read_some(child, &incoming)) {
        report_lines(&incoming, report, context);
    }
    reap(child);
    if (!incoming.ended || incoming.size != sizeof *findings) {
        return problem_set(problem, HF_BUSY,
                           "the audit came to no end: its process was ended or made no progress");
    }
    memcpy(findings, incoming.bytes, sizeof *findings);
    if (*findings == UINT64_MAX) {
        return problem_set(problem, HF_BUSY, "not enough memory for the audit");
    }
    return HF_OK;
}

void audit_child_stop(const struct audit_child *child)
{
    kill(child->pid, SIGKILL);
}
