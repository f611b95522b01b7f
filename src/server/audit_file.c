/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the file of the audit log. A link is not followed and a pipe is not written to: whoever may
 * put one there could have the log end up elsewhere, or hold it up. */
#include "server/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_FLAGS (O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define FILE_MODE 0600

static bool complain(struct problem *problem, const char *path, const char *why)
{
    problem_set(problem, HF_INVALID_ARGUMENT, "audit-log \"%.200s\": %s", path, why);
    return false;
}

/* What is no regular file, NULL of one that is. */
static const char *strange_kind(mode_t mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISLNK(mode)  ? "a symbolic link, which is not followed"
           : S_ISDIR(mode)  ? "a directory"
           : S_ISFIFO(mode) ? "a named pipe"
                            : "not a regular file";
}

/* Is it a regular file, or nothing? Looked at before it is opened, which alone wakes up whoever
 * reads a pipe. */
static bool is_usable(const char *path, bool *exists, struct problem *problem)
{
    struct stat about;

    *exists = lstat(path, &about) == 0;
    if (!*exists) {
        return errno == ENOENT || complain(problem, path, strerror(errno));
    }
    const char *kind = strange_kind(about.st_mode);
    return kind == NULL || complain(problem, path, kind);
}

/* Does it end in the middle of a line? */
static bool is_torn(int fd)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char last = '\n';

    return end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

int audit_file_open(const char *path, struct problem *problem)
{
    bool exists;
    struct stat about;

    if (!is_usable(path, &exists, problem)) {
        return -1;
    }
    int fd = open(path, FILE_FLAGS | O_CREAT, FILE_MODE);
    if (fd < 0) {
        complain(problem, path,
                 errno == ELOOP ? "a symbolic link, which is not followed" : strerror(errno));
        return -1;
    }
    if (fstat(fd, &about) != 0 || strange_kind(about.st_mode) != NULL) {
        close(fd);
        complain(problem, path, "not a regular file");
        return -1;
    }
    if (is_torn(fd) && write(fd, "\n", 1) != 1) {
        close(fd);
        complain(problem, path, strerror(errno));
        return -1;
    }
    return fd;
}

bool audit_file_check(const char *path, struct problem *problem)
{
    char copy[PATH_MAX];
    bool exists;

    if (!is_usable(path, &exists, problem)) {
        return false;
    }
    if (exists) {
        return access(path, R_OK | W_OK) == 0 || complain(problem, path, strerror(errno));
    }
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy) {
        return complain(problem, path, strerror(ENAMETOOLONG));
    }
    const char *above = dirname(copy);
    if (access(above, W_OK | X_OK) == 0) {
        return true;
    }
    problem_set(problem, HF_INVALID_ARGUMENT, "audit-log \"%.200s\": cannot be created: %.200s: %s",
                path, above, strerror(errno));
    return false;
}
