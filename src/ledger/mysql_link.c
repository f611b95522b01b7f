/* SPDX-License-Identifier: Apache-2.0
 *
 * Links to MySQL and MariaDB: making them as a URL says, and deadlines of whatever is sent.
 *
 * libmariadb has timeouts in whole seconds, for each read and write. But it lets the program wait
 * for the socket in its place (MARIADB_OPT_IO_WAIT), and that wait ends at the deadline of the
 * call, in milliseconds, whatever the server or the network does. The wait is given no context, so
 * the deadline stands in a variable of the thread, which is blocked in that one call. Only the
 * resolver, where a host is given by name, has its own idea of time. */
#include "ledger/mysql_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

/* Names are quoted by " or `. The clock is read in UTC, where no hour comes twice. */
#define SETTINGS                                                                                   \
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ANSI_QUOTES,"                \
    "ERROR_FOR_DIVISION_BY_ZERO', time_zone = '+00:00', autocommit = 0"                            \
    "/*M!100300 , idle_transaction_timeout = 15 */"
#define ISOLATION "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"

/* A server that is not who it should be might ask for the password in clear, or for a file. */
#define SAFE_LOGINS "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password"

/* ---- waiting --------------------------------------------------------------------------------- */

static _Thread_local struct {
    int64_t deadline_ms;
    bool connecting;
} waiting;

static void pipe_signal(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGPIPE);
}

void mysql_link_enter(int64_t deadline_ms, sigset_t *before)
{
    sigset_t set;

    waiting.deadline_ms = deadline_ms;
    pipe_signal(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void mysql_link_leave(const sigset_t *before)
{
    sigset_t set, pending;

    pipe_signal(&set);
    if (!sigismember(before, SIGPIPE) && sigpending(&pending) == 0 &&
        sigismember(&pending, SIGPIPE)) {
        sigtimedwait(&set, NULL, &(struct timespec){0});
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static bool set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && ((flags & O_NONBLOCK) != 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
}

/* Has connect() failed? If libmariadb were to find that out, it would forget the reason. */
static bool refused(const struct pollfd *look)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (!waiting.connecting || (look->revents & POLLERR) == 0 ||
        getsockopt(look->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error == 0) {
        return false;
    }
    errno = error;
    return true;
}

/* libmariadb makes the socket blocking after connect(), and then TLS would not come to wait here.
 * That is undone at each wait; if there was none in between, as the server was quick to greet, the
 * system ends what blocks. */
static bool keep_from_blocking(int fd)
{
    int64_t left = waiting.deadline_ms - sql_now_ms();
    if (left < 1) {
        left = 1; /* 0 would be forever */
    }
    struct timeval time = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};

    return set_nonblocking(fd) &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0;
}

/* In place of libmariadb's own wait: 1 if the socket is ready, 0 or -1 if the call shall fail. */
static int wait_for_socket(my_socket fd, my_bool is_read, int timeout)
{
    struct pollfd look = {.fd = fd, .events = is_read ? POLLIN : POLLOUT};
    (void)timeout;

    if (waiting.connecting && !keep_from_blocking(fd)) {
        return -1;
    }
    for (;;) {
        int64_t left = waiting.deadline_ms - sql_now_ms();
        int ready = poll(&look, 1, left <= 0 ? 0 : left < INT_MAX ? (int)left : INT_MAX);
        if (ready > 0) {
            return refused(&look) ? -1 : 1;
        }
        if (ready == 0 && left <= 0) {
            errno = ETIMEDOUT;
            return 0;
        }
        if (ready < 0 && errno != EINTR) {
            return -1;
        }
    }
}

bool mysql_link_is_late(void)
{
    return sql_now_ms() >= waiting.deadline_ms;
}

void mysql_link_say(struct problem *problem, const char *words)
{
    problem_set(problem, HF_LEDGER_DOWN, "%s",
                mysql_link_is_late() ? "MySQL did not answer in time" : words);
}

bool mysql_link_is_quiet(MYSQL *link)
{
    struct pollfd look = {.fd = mysql_get_socket(link), .events = POLLIN};

    return look.fd >= 0 && poll(&look, 1, 0) == 0;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* libmariadb sets SIGPIPE to be ignored when it is first used. How a program takes its signals is
 * not ours to change: mysql_link_enter() keeps them away. */
static void init_library(void)
{
    struct sigaction before;

    sigaction(SIGPIPE, NULL, &before);
    mysql_library_init(0, NULL, NULL);
    sigaction(SIGPIPE, &before, NULL);
}

static void set_tls(MYSQL *link, const struct mysql_url *url)
{
    my_bool yes = 1, verify = url->verify;

    mysql_optionsv(link, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_optionsv(link, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (url->ssl_ca[0] != '\0') {
        mysql_optionsv(link, MYSQL_OPT_SSL_CA, url->ssl_ca);
    }
    if (url->ssl_cert[0] != '\0') {
        mysql_optionsv(link, MYSQL_OPT_SSL_CERT, url->ssl_cert);
        mysql_optionsv(link, MYSQL_OPT_SSL_KEY, url->ssl_key);
    }
}

static void set_options(MYSQL *link, const struct mysql_url *url)
{
    unsigned none = 0;
    enum mysql_protocol_type protocol =
        url->socket[0] != '\0' ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;

    mysql_optionsv(link, MARIADB_OPT_IO_WAIT, wait_for_socket);
    mysql_optionsv(link, MYSQL_OPT_CONNECT_TIMEOUT, &none); /* it would undo ours */
    mysql_optionsv(link, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_optionsv(link, MYSQL_OPT_LOCAL_INFILE, &none);
    mysql_optionsv(link, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(link, MYSQL_INIT_COMMAND, SETTINGS);
    mysql_optionsv(link, MYSQL_INIT_COMMAND, ISOLATION);
    if (url->tls) {
        set_tls(link, url);
    }
    if (url->socket[0] == '\0' && !(url->tls && url->verify)) {
        mysql_optionsv(link, MARIADB_OPT_RESTRICTED_AUTH, SAFE_LOGINS);
    }
}

static bool open_link(MYSQL *link, const struct mysql_url *url, struct problem *problem)
{
    /* An UPDATE shall count the rows that it has found, also those that it left as they were. */
    bool opened =
        mysql_real_connect(link, url->host, url->user, url->password, url->database, url->port,
                           url->socket[0] != '\0' ? url->socket : NULL, CLIENT_FOUND_ROWS) != NULL;
    if (!opened || !set_nonblocking(mysql_get_socket(link))) {
        mysql_link_say(problem, mysql_error(link));
        return false;
    }
    /* Where no proof is demanded, libmariadb would go on without TLS. */
    if (url->tls && mysql_get_ssl_cipher(link) == NULL) {
        problem_set(problem, HF_LEDGER_DOWN, "the MySQL server has no TLS");
        return false;
    }
    return true;
}

MYSQL *mysql_link_open(const struct mysql_url *url, struct problem *problem)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init_library);
    MYSQL *link = mysql_init(NULL);
    if (link == NULL) {
        problem_set(problem, HF_LEDGER_DOWN, "out of memory");
        return NULL;
    }
    set_options(link, url);
    waiting.connecting = true;
    bool opened = open_link(link, url, problem);
    waiting.connecting = false;
    if (!opened) {
        mysql_link_close(link);
        return NULL;
    }
    return link;
}

void mysql_link_close(MYSQL *link)
{
    waiting.deadline_ms = 0; /* The farewell is sent if the socket takes it, or not at all */
    mysql_close(link);
}
