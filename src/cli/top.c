/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast top [--url URL] [--interval TIME] [--once]
 *
 * On a terminal a screen that is drawn anew until q or Ctrl-C; elsewhere a line each time. A server
 * that goes away is waited for. */
#include "cli/top.h"

#include "base/text.h"
#include "cli/cli.h"
#include "library/handle.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS 3600000

struct top {
    struct remote *remote;
    char where[ADDRESS_HOST_SIZE + 16];
    int64_t interval_ms;
    struct sample samples[2]; /* the last two, in turn */
    unsigned taken;
    struct memory memory;
    struct buffer text;

    int signals; /* a descriptor */
    bool live, has_keys;
    struct termios saved;
};

/* ---- samples --------------------------------------------------------------------------------- */

static const struct sample nothing; /* as before the start */

/* Takes another sample; `view` has it and the one before. */
static enum hf_error take_sample(struct top *top, struct top_view *view, struct problem *problem)
{
    struct sample *now = &top->samples[top->taken % 2];
    const struct sample *before = top->taken > 0 ? &top->samples[(top->taken + 1) % 2] : &nothing;
    enum hf_error code = sample_take(now, top->remote, problem);

    if (code == HF_OK) {
        bool restarted = now->uptime_s < before->uptime_s;
        *view = (struct top_view){top->where, now, restarted ? &nothing : before};
        top->taken++;
    }
    return code;
}

static void window_size(size_t *rows, size_t *columns)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col > 0;

    *rows = known ? size.ws_row - 1U : 23;
    *columns = known ? size.ws_col : 80;
}

/* Over what stands there, line by line, so that nothing flickers. */
static void draw(const struct buffer *text)
{
    fputs("\033[H", stdout);
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] == '\n') {
            fputs("\033[K", stdout);
        }
        putchar(text->data[i]);
    }
    fputs("\033[J", stdout);
}

/* Shows how it is now. False if the output is closed. */
static bool show(struct top *top)
{
    struct problem problem;
    struct top_view view;
    size_t rows, columns;

    buffer_clear(&top->text);
    if (take_sample(top, &view, &problem) != HF_OK) {
        top->taken = 0; /* the next sample is a first one */
        buffer_format(&top->text, "%s: %s\n", top->where, problem.message);
    } else if (top->live) {
        window_size(&rows, &columns);
        top_screen(&view, rows, columns, &top->text);
    } else {
        top_line(&view, &top->text);
    }
    if (top->live) {
        draw(&top->text);
    } else {
        fwrite(top->text.data, 1, top->text.size, stdout);
    }
    return fflush(stdout) == 0;
}

static int show_once(struct top *top)
{
    struct problem problem;
    struct top_view view;

    if (take_sample(top, &view, &problem) != HF_OK) {
        return cli_failed(handle_fail(&problem));
    }
    top_screen(&view, SIZE_MAX, SIZE_MAX, &top->text);
    fwrite(top->text.data, 1, top->text.size, stdout);
    return EXIT_DONE;
}

/* ---- the terminal ---------------------------------------------------------------------------- */

/* Keys come one by one and are not shown; a screen of our own, without a cursor. */
static void enter_screen(struct top *top)
{
    top->has_keys = tcgetattr(STDIN_FILENO, &top->saved) == 0;
    if (top->has_keys) {
        struct termios raw = top->saved;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* to be stopped would leave the terminal like this */
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout);
}

static void leave_screen(struct top *top)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (top->has_keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &top->saved);
    }
}

/* Signals come as something to read, so that none is missed between two samples. */
static bool catch_signals(struct top *top)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    top->signals = signalfd(-1, &set, SFD_CLOEXEC);
    return top->signals >= 0;
}

/* Waits until it is time for another sample. False if it is time to go. */
static bool wait_for_more(struct top *top)
{
    struct pollfd waits[2] = {{.fd = top->signals, .events = POLLIN},
                              {.fd = top->has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
    struct signalfd_siginfo signal;
    char key;

    if (poll(waits, 2, (int)top->interval_ms) <= 0) {
        return true;
    }
    if (waits[0].revents != 0) {
        return read(top->signals, &signal, sizeof signal) == (ssize_t)sizeof signal &&
               signal.ssi_signo == SIGWINCH;
    }
    if (read(STDIN_FILENO, &key, 1) != 1) {
        return false;
    }
    return key != 'q' && key != 'Q';
}

static int show_on(struct top *top)
{
    if (!catch_signals(top)) {
        return cli_usage("cannot wait for signals: %s", strerror(errno));
    }
    if (top->live) {
        enter_screen(top);
    }
    while (show(top) && wait_for_more(top)) {}
    if (top->live) {
        leave_screen(top);
    }
    close(top->signals);
    return EXIT_DONE;
}

/* ---- options --------------------------------------------------------------------------------- */

static int run(struct top *top, const char *url, bool once)
{
    struct remote_url parts;
    struct problem problem;
    char shown[CLI_URL_SIZE];

    if (!remote_url_is(url)) {
        return cli_usage("top: %s: must be a server's URL, such as holdfast://127.0.0.1:4653",
                         cli_url_shown(url, shown));
    }
    if (remote_url_read(url, &parts, &problem) != HF_OK ||
        remote_open(url, &top->remote, &problem) != HF_OK) {
        return cli_failed(handle_fail(&problem));
    }
    snprintf(top->where, sizeof top->where, "%s:%u", parts.host, parts.port);
    explicit_bzero(&parts, sizeof parts);
    memory_init(&top->memory);
    buffer_init(&top->text, &top->memory);
    top->live = cli_is_live();
    int code = once ? show_once(top) : show_on(top);
    buffer_free(&top->text);
    remote_close(top->remote);
    return code;
}

int cli_top(int argc, char **argv)
{
    static const struct option options[] = {{"url", required_argument, NULL, 'u'},
                                            {"interval", required_argument, NULL, 'i'},
                                            {"once", no_argument, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    const char *url = cli_server_url();
    int64_t interval_ms = 1000;
    bool once = false;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?') {
            return cli_bad_option("top", argv, options);
        }
        if (option == 'u') {
            url = optarg;
        } else if (option == 'o') {
            once = true;
        } else if (!text_to_duration(hf_text(optarg), 1000, &interval_ms) ||
                   interval_ms < INTERVAL_MIN_MS || interval_ms > INTERVAL_MAX_MS) {
            return cli_usage("--interval %s: must be a time from 100ms to 1h", optarg);
        }
    }
    if (optind < argc) {
        return cli_usage("top: what is '%s'?", argv[optind]);
    }
    struct top *top = calloc(1, sizeof *top);
    if (top == NULL) {
        return cli_usage("out of memory");
    }
    top->interval_ms = interval_ms;
    int code = run(top, url, once);
    free(top);
    return code;
}
