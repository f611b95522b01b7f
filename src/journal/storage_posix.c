/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory of the system. */
#include "journal/storage.h"

#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

struct posix {
    struct storage storage;
    int directory;
    int lock;                 /* or -1 */
    struct process_hook hook; /* while it is locked */
};

static struct posix *self(struct storage *storage)
{
    return (struct posix *)storage;
}

static int result(int64_t value)
{
    return value < 0 ? -errno : 0;
}

static int posix_list(struct storage *storage, storage_name *name, void *context)
{
    int copy = openat(self(storage)->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);

    if (stream == NULL) {
        int code = -errno;
        if (copy >= 0) {
            close(copy);
        }
        return code;
    }
    errno = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL; errno = 0) {
        name(context, entry->d_name);
    }
    int code = -errno;
    closedir(stream);
    return code;
}

/* Opens a file of the directory, and nothing else of that name: who may write to the directory
 * could otherwise have us write to any file by a link, or wait for ever on a FIFO. */
static int open_regular(const struct posix *posix, const char *name, int flags)
{
    struct stat about;
    int handle = openat(posix->directory, name,
                        flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0640);

    if (handle < 0) {
        return -errno;
    }
    int code = fstat(handle, &about) < 0 ? -errno : S_ISREG(about.st_mode) ? 0 : STORAGE_IRREGULAR;
    if (code != 0) {
        close(handle);
        return code;
    }
    return handle;
}

static int posix_open(struct storage *storage, const char *name, enum storage_mode mode)
{
    static const int flags[] = {[STORAGE_CREATE] = O_RDWR | O_CREAT | O_EXCL,
                                [STORAGE_WRITE] = O_RDWR,
                                [STORAGE_READ] = O_RDONLY};

    return open_regular(self(storage), name, flags[mode]);
}

static void posix_close(struct storage *storage, int handle)
{
    (void)storage;
    close(handle);
}

static int64_t posix_read(struct storage *storage, int handle, int64_t offset, void *data,
                          size_t size)
{
    ssize_t got = pread(handle, data, size, offset);
    (void)storage;
    return got < 0 ? -errno : got;
}

static int64_t posix_write(struct storage *storage, int handle, int64_t offset, const void *data,
                           size_t size)
{
    ssize_t written = pwrite(handle, data, size, offset);
    (void)storage;
    return written < 0 ? -errno : written;
}

static int64_t posix_size(struct storage *storage, int handle)
{
    struct stat status;
    (void)storage;
    return fstat(handle, &status) < 0 ? -errno : (int64_t)status.st_size;
}

static int posix_truncate(struct storage *storage, int handle, int64_t size)
{
    (void)storage;
    return result(ftruncate(handle, size));
}

static int posix_allocate(struct storage *storage, int handle, int64_t size)
{
    (void)storage;
    /* A file system that cannot make room in advance is as good as one that can. */
    int code;
    do {
        code = fallocate(handle, 0, 0, size) < 0 ? errno : 0;
    } while (code == EINTR);
    return code == EOPNOTSUPP || code == ENOSYS ? 0 : -code;
}

static int posix_sync(struct storage *storage, int handle)
{
    (void)storage;
    return result(fdatasync(handle));
}

static int posix_rename(struct storage *storage, const char *from, const char *to)
{
    return result(renameat(self(storage)->directory, from, self(storage)->directory, to));
}

static int posix_remove(struct storage *storage, const char *name)
{
    return result(unlinkat(self(storage)->directory, name, 0));
}

static int posix_sync_directory(struct storage *storage)
{
    return result(fsync(self(storage)->directory));
}

/* A child does not inherit the lock, which would outlive the parent with it: nobody could open the
 * directory again as long as the child runs. */
static void leave_lock(struct process_hook *hook)
{
    struct posix *posix = LIST_ENTRY(hook, struct posix, hook);

    if (posix->lock >= 0) {
        close(posix->lock);
        posix->lock = -1; /* a child of the child has nothing to close */
    }
}

static int posix_lock(struct storage *storage)
{
    struct posix *posix = self(storage);
    int handle = open_regular(posix, "LOCK", O_RDWR | O_CREAT);

    if (handle < 0) {
        return handle;
    }
    posix->lock = handle;
    if (flock(posix->lock, LOCK_EX | LOCK_NB) < 0) {
        int code = -errno;
        close(posix->lock);
        posix->lock = -1;
        return code;
    }
    posix->hook.forked = leave_lock;
    process_add_hook(&posix->hook);
    return 0;
}

static int posix_space(struct storage *storage, struct storage_space *space)
{
    struct statvfs status;

    if (fstatvfs(self(storage)->directory, &status) < 0) {
        return -errno;
    }
    if (status.f_blocks == 0) {
        return -ENOSYS; /* a file system that does not say */
    }
    space->free = (int64_t)(status.f_bavail * status.f_frsize);
    space->total = (int64_t)(status.f_blocks * status.f_frsize);
    return 0;
}

static int64_t posix_age_ms(struct storage *storage, int handle)
{
    struct stat status;
    struct timespec now;
    (void)storage;

    if (fstat(handle, &status) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0) {
        return -errno;
    }
    int64_t age_ms = (int64_t)(now.tv_sec - status.st_mtim.tv_sec) * 1000 +
                     (now.tv_nsec - status.st_mtim.tv_nsec) / 1000000;
    return age_ms > 0 ? age_ms : 0;
}

static void posix_forked(struct storage *storage)
{
    (void)storage; /* leave_lock() has seen to it */
}

static void posix_free(struct storage *storage)
{
    struct posix *posix = self(storage);

    if (posix->lock >= 0) {
        process_remove_hook(&posix->hook);
        close(posix->lock);
    }
    close(posix->directory);
    free(posix);
}

static const struct storage_type posix_type = {
    .list = posix_list,
    .open = posix_open,
    .close = posix_close,
    .read = posix_read,
    .write = posix_write,
    .size = posix_size,
    .truncate = posix_truncate,
    .allocate = posix_allocate,
    .sync = posix_sync,
    .rename = posix_rename,
    .remove = posix_remove,
    .sync_directory = posix_sync_directory,
    .lock = posix_lock,
    .space = posix_space,
    .age_ms = posix_age_ms,
    .forked = posix_forked,
    .free = posix_free,
};

/* Makes the directory, if it is not there, so that it survives a crash. */
static int make_directory(const char *path)
{
    char parent[PATH_MAX];

    if (mkdir(path, 0750) < 0) {
        return errno == EEXIST ? 0 : -errno;
    }
    if ((size_t)snprintf(parent, sizeof parent, "%s/..", path) >= sizeof parent) {
        return -ENAMETOOLONG;
    }
    int above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0) {
        return -errno;
    }
    int code = result(fsync(above));
    close(above);
    return code;
}

int storage_posix(const char *path, bool create, struct storage **storage)
{
    *storage = NULL;
    if (create) {
        int code = make_directory(path);
        if (code != 0) {
            return code;
        }
    }
    struct posix *posix = malloc(sizeof *posix);
    if (posix == NULL) {
        return -ENOMEM;
    }
    *posix = (struct posix){.storage = {&posix_type}, .lock = -1};
    posix->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (posix->directory < 0) {
        int code = -errno;
        free(posix);
        return code;
    }
    *storage = &posix->storage;
    return 0;
}
