/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a command in its own process group on behalf of `holdfast exec`: hands it the terminal,
 * passes signals on to it, stops with it, and ends it when the hold is lost. */
#include "cli/child.h"

#include "base/clock.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_CANNOT_RUN 126
#define EXIT_NO_PROGRAM 127
#define GROUP_POLL_MS                                                                              \
    20 /* how often the rest of the group, which sends us no SIGCHLD, is counted */

/* A command that runs. */
struct running {
    pid_t pid; /* its process group, too */
    int signals;
    bool foreground; /* the terminal was handed to it */
    bool ended;
    int status;
    uint64_t kill_ns; /* when its time is up; 0: it may go on */
};

/* ---- the terminal ---------------------------------------------------------------------------- */

/* Makes a group the one that the terminal's keys and input are for. Done from the background that
 * would stop us, were the signal not blocked. */
static void hand_terminal(pid_t group)
{
    sigset_t quiet, before;

    sigemptyset(&quiet);
    sigaddset(&quiet, SIGTTOU);
    sigprocmask(SIG_BLOCK, &quiet, &before);
    tcsetpgrp(STDIN_FILENO, group);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool has_terminal(void)
{
    return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* The user pressed Ctrl-Z: we stop, too, so that the shell is back; and go on together. */
static void stop_together(struct running *running)
{
    if (running->foreground) {
        hand_terminal(getpgrp());
        raise(SIGSTOP);
        hand_terminal(running->pid);
        kill(-running->pid, SIGCONT);
    }
}

/* ---- starting -------------------------------------------------------------------------------- */

/* In the new process. Does not return; why it could not start goes into the pipe. */
static void become(const struct child *child, const sigset_t *mask, bool foreground, pid_t parent,
                   int report)
{
    setpgid(0, 0);
    if (foreground) {
        hand_terminal(getpid());
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(EXIT_CANNOT_RUN); /* The parent died before PR_SET_PDEATHSIG was set. */
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(child->command[0], child->command);
    int error = errno;
    if (write(report, &error, sizeof error) < 0) {
        _exit(EXIT_CANNOT_RUN);
    }
    _exit(EXIT_NO_PROGRAM);
}

/* Why the new process could not become the command; 0 if it has. */
static int read_report(int report)
{
    int error = 0;
    ssize_t got;

    do {
        got = read(report, &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    return got == sizeof error ? error : 0;
}

static int cannot_start(const char *name, int error)
{
    cli_usage("%s: %s", name, strerror(error));
    return error == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN;
}

/* 0, or the exit code of a command that could not be started. */
static int start(const struct child *child, const sigset_t *mask, struct running *running)
{
    int report[2];
    pid_t parent = getpid();

    if (pipe2(report, O_CLOEXEC) != 0) {
        return cannot_start(child->command[0], errno);
    }
    fflush(NULL);
    running->foreground = has_terminal();
    running->pid = fork();
    if (running->pid == 0) {
        become(child, mask, running->foreground, parent, report[1]);
    }
    int error = running->pid < 0 ? errno : 0;
    close(report[1]);
    if (error == 0) {
        setpgid(running->pid,
                running->pid); /* Parent and child both do it: either may come first. */
        error = read_report(report[0]);
        if (error != 0) {
            waitpid(running->pid, NULL, 0);
        }
    }
    close(report[0]);
    if (error != 0 && running->foreground) {
        hand_terminal(getpgrp());
    }
    return error == 0 ? 0 : cannot_start(child->command[0], error);
}

/* ---- running --------------------------------------------------------------------------------- */

static void take_signal(struct running *running)
{
    struct signalfd_siginfo info;

    if (read(running->signals, &info, sizeof info) != sizeof info) {
        return;
    }
    if (info.ssi_signo != SIGCHLD) {
        kill(-running->pid, (int)info.ssi_signo);
        return;
    }
    int status;
    if (waitpid(running->pid, &status, WNOHANG | WUNTRACED) == running->pid) {
        if (WIFSTOPPED(status)) {
            stop_together(running);
        } else {
            running->ended = true;
            running->status = status;
        }
    }
}

static void ask_to_end(const struct child *child, struct running *running)
{
    running->kill_ns = clock_nanoseconds() + (uint64_t)child->kill_after_ms * 1000000;
    kill(-running->pid, SIGTERM);
    kill(-running->pid, SIGCONT); /* one that is stopped would not notice */
}

/* Is no process of the group left? Without the hold, the command's own children may not go on
 * either. */
static bool is_over(const struct running *running)
{
    return running->ended && (running->kill_ns == 0 || kill(-running->pid, 0) != 0);
}

/* How long to wait for a signal: -1 for ever. */
static int poll_ms(const struct running *running)
{
    uint64_t now_ns = clock_nanoseconds();

    if (running->kill_ns == 0) {
        return -1;
    }
    uint64_t left_ms = now_ns < running->kill_ns ? (running->kill_ns - now_ns) / 1000000 + 1 : 0;
    uint64_t most_ms = running->ended ? GROUP_POLL_MS : 60000;
    return (int)(left_ms < most_ms ? left_ms : most_ms);
}

/* Until the command has ended; after a stop, until all of its group have, or were killed. */
static void see_to_its_end(const struct child *child, struct running *running)
{
    while (!is_over(running)) {
        struct pollfd fds[] = {
            {.fd = running->signals, .events = POLLIN},
            {.fd = running->kill_ns == 0 ? child->stop_fd : -1, .events = POLLIN}};
        if (poll(fds, 2, poll_ms(running)) < 0 && errno != EINTR) {
            cli_usage("poll: %s", strerror(errno));
            kill(-running->pid, SIGKILL);
        }
        if (fds[0].revents != 0) {
            take_signal(running);
        }
        if (fds[1].revents != 0 && !running->ended) {
            ask_to_end(child, running);
        }
        if (running->kill_ns != 0 && clock_nanoseconds() >= running->kill_ns) {
            kill(-running->pid, SIGKILL);
            if (running->ended) {
                return; /* zombies of others may stay for ever */
            }
            running->kill_ns = UINT64_MAX;
        }
    }
}

int child_run(const struct child *child, bool *stopped)
{
    static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    struct running running = {.pid = -1};
    sigset_t signals, before;

    *stopped = false;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++) {
        sigaddset(&signals, passed_on[i]);
    }
    sigprocmask(SIG_BLOCK, &signals, &before);
    running.signals = signalfd(-1, &signals, SFD_CLOEXEC);
    if (running.signals < 0) {
        return cannot_start("signalfd", errno);
    }
    int code = start(child, &before, &running);
    if (code == 0) {
        see_to_its_end(child, &running);
        *stopped = running.kill_ns != 0;
        code = WIFSIGNALED(running.status) ? 128 + WTERMSIG(running.status)
                                           : WEXITSTATUS(running.status);
        if (running.foreground) {
            hand_terminal(getpgrp());
        }
    }
    close(running.signals);
    return code;
}
