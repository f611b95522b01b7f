/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out `holdfast serve --check-config`: tries all that a start would need and reports every
 * fault, not only the first one. Nothing is changed. */
#include "server/audit_log.h"
#include "server/auth.h"
#include "server/exposed.h"
#include "server/server.h"
#include "net/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool complain(const char *setting, const char *path, const char *what)
{
    fprintf(stderr, "holdfast: %s \"%s\": %s\n", setting, path, what);
    return false;
}

/* Would the lock of a server be free? */
static bool check_lock(const char *dir)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/LOCK", dir) >= sizeof path) {
        return complain("dir", dir, strerror(ENAMETOOLONG));
    }
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || complain("dir", path,
                                           errno == ELOOP ? "a symbolic link, which is not followed"
                                                          : strerror(errno));
    }
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return complain("dir", path, "not a regular file");
    }
    bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return is_free || complain("dir", dir, "in use by another process");
}

/* A directory that is not there is made at the start, the one above it is not. */
static bool check_dir(const char *dir)
{
    char copy[PATH_MAX];
    struct stat status;

    if (stat(dir, &status) == 0) {
        if (!S_ISDIR(status.st_mode)) {
            return complain("dir", dir, "not a directory");
        }
        return access(dir, R_OK | W_OK | X_OK) == 0 ? check_lock(dir)
                                                    : complain("dir", dir, strerror(errno));
    }
    if (errno != ENOENT || (size_t)snprintf(copy, sizeof copy, "%s", dir) >= sizeof copy) {
        return complain("dir", dir, strerror(errno));
    }
    const char *above = dirname(copy);
    if (access(above, W_OK | X_OK) == 0) {
        return true;
    }
    char what[PATH_MAX + 64];
    snprintf(what, sizeof what, "cannot be created: %s: %s", above, strerror(errno));
    return complain("dir", dir, what);
}

static bool check_auth(const char *path)
{
    struct problem problem;
    struct auth *auth = auth_load(path, &problem);

    if (auth == NULL) {
        fprintf(stderr, "holdfast: %s\n", problem.message);
        return false;
    }
    auth_free(auth);
    return true;
}

static bool check_tls(const char *cert, const char *key)
{
    struct problem problem;
    struct tls *tls = tls_server(cert, key, &problem);

    if (tls == NULL) {
        fprintf(stderr, "holdfast: %s\n", problem.message);
        return false;
    }
    const char *outdated = tls_outdated(tls);
    if (outdated != NULL) {
        fprintf(stderr, "holdfast: warning: tls-cert \"%s\": clients will refuse it: %s\n", cert,
                outdated);
    }
    tls_free(tls);
    return true;
}

static bool check_audit(const char *path)
{
    struct problem problem;

    if (!audit_log_check(path, &problem)) {
        fprintf(stderr, "holdfast: %s\n", problem.message);
        return false;
    }
    return true;
}

static void warn_exposed(void *context, const char *warning)
{
    (void)context;
    fprintf(stderr, "holdfast: warning: %s\n", warning);
}

enum server_exit server_check(const struct server_options *options)
{
    bool dir = options->dir == NULL || check_dir(options->dir);
    bool auth = options->auth_file == NULL || check_auth(options->auth_file);
    bool tls = options->tls_cert == NULL || check_tls(options->tls_cert, options->tls_key);
    bool audit = options->audit_log == NULL || check_audit(options->audit_log);

    if (!dir || !auth || !tls || !audit) {
        return SERVER_USAGE;
    }
    exposed_files(options, warn_exposed, NULL);
    printf("holdfast: the settings are good\n");
    return SERVER_DONE;
}
