/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts this very program once more as a server, reads from its first line where it listens, and
 * ends it by its pid. It ends by itself when we do. */
#include "cli/own_server.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool own_server_make(struct own_server *server)
{
    const char *where = getenv("TMPDIR");
    int size = snprintf(server->directory, sizeof server->directory, "%s/holdfast-demo-XXXXXX",
                        where != NULL && where[0] == '/' ? where : "/tmp");

    if (size >= (int)sizeof server->directory) {
        errno = ENAMETOOLONG;
        return false;
    }
    return mkdtemp(server->directory) != NULL;
}

/* In the child: never returns. Its log stays in the directory, for it is of no interest unless
 * it cannot start. */
static void run(const struct own_server *server, int ready)
{
    const char *words[16 + OWN_SERVER_FLAGS] = {"holdfast",    "serve",          "--dir",
                                                "data",        "--resp-port",    server->resp_port,
                                                "--http-port", server->http_port};
    size_t count = 8;

    for (size_t i = 0; i < OWN_SERVER_FLAGS && server->flags[i] != NULL; i++) {
        words[count++] = server->flags[i];
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (chdir(server->directory) == 0) {
        int log = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log >= 0) {
            dup2(log, STDERR_FILENO);
        }
        dup2(ready, STDOUT_FILENO);
        execv("/proc/self/exe", (char *const *)words);
    }
    _exit(127);
}

static void show_log(const struct own_server *server)
{
    char path[sizeof server->directory + 8], line[512];

    snprintf(path, sizeof path, "%s/log", server->directory);
    FILE *log = fopen(path, "re");
    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        fputs(line, stderr);
    }
    if (log != NULL) {
        fclose(log);
    }
}

static void wait_gone(struct own_server *server)
{
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {}
    server->pid = 0;
}

/* "holdfast: ready resp=127.0.0.1:4653 http=127.0.0.1:4654 engine=embedded" */
static bool read_ports(struct own_server *server, int ready)
{
    char line[256] = "";
    FILE *in = fdopen(ready, "re");
    bool found = in != NULL && fgets(line, sizeof line, in) != NULL &&
                 sscanf(line, "holdfast: ready resp=%*[^: ]:%7[0-9] http=%*[^: ]:%7[0-9]",
                        server->resp_port, server->http_port) == 2;

    if (in != NULL) {
        fclose(in);
    } else {
        close(ready);
    }
    return found;
}

bool own_server_start(struct own_server *server)
{
    int ready[2];

    if (pipe2(ready, O_CLOEXEC) != 0) {
        return false;
    }
    fflush(stdout);
    server->pid = fork();
    if (server->pid == 0) {
        run(server, ready[1]);
    }
    close(ready[1]);
    if (server->pid < 0 || !read_ports(server, ready[0])) {
        if (server->pid > 0) {
            own_server_kill(server);
        }
        show_log(server);
        return false;
    }
    return true;
}

void own_server_kill(struct own_server *server)
{
    kill(server->pid, SIGKILL);
    wait_gone(server);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void own_server_end(struct own_server *server)
{
    if (server->pid > 0) {
        kill(server->pid, SIGTERM);
        wait_gone(server);
    }
    nftw(server->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
