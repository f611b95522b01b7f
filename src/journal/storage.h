/* SPDX-License-Identifier: Apache-2.0
 *
 * The little the journal wants of a file system: one flat directory. The real one is
 * storage_posix.c; tests put a faulty or a simulated one in its place.
 *
 * Every call that can fail returns 0 or a negative errno, and says nothing itself. */
#ifndef JOURNAL_STORAGE_H
#define JOURNAL_STORAGE_H

#include "base/buffer.h"

#include <errno.h>

struct storage;

enum storage_mode {
    STORAGE_CREATE, /* for writing; must not exist */
    STORAGE_WRITE,  /* for writing; must exist */
    STORAGE_READ,
};

typedef void storage_name(void *context, const char *name);

/* Of the file system that a directory is on, in bytes. */
struct storage_space {
    int64_t free; /* for us: what is reserved for the administrator does not count */
    int64_t total;
};

struct storage_type {
    int (*list)(struct storage *storage, storage_name *name, void *context);
    /* A handle ≥ 0, or a negative errno. */
    int (*open)(struct storage *storage, const char *name, enum storage_mode mode);
    void (*close)(struct storage *storage, int handle);
    /* How many bytes were read or written, which may be fewer than asked for. */
    int64_t (*read)(struct storage *storage, int handle, int64_t offset, void *data, size_t size);
    int64_t (*write)(struct storage *storage, int handle, int64_t offset, const void *data,
                     size_t size);
    int64_t (*size)(struct storage *storage, int handle);
    int (*truncate)(struct storage *storage, int handle, int64_t size);
    /* Makes room up to `size`, which reads as zeros. May do nothing. A failure means that there is
     * less room than that, or none can be made in advance; the file is as usable as before. */
    int (*allocate)(struct storage *storage, int handle, int64_t size);
    int (*sync)(struct storage *storage, int handle);
    int (*rename)(struct storage *storage, const char *from, const char *to);
    int (*remove)(struct storage *storage, const char *name);
    /* What was created, renamed and removed survives a crash from here on. */
    int (*sync_directory)(struct storage *storage);
    /* Locks the directory; -EAGAIN if another process has. */
    int (*lock)(struct storage *storage);
    /* How much room there is. May be NULL: then it is not known. */
    int (*space)(struct storage *storage, struct storage_space *space);
    /* Milliseconds since a file was written to, by the wall clock. May be NULL. */
    int64_t (*age_ms)(struct storage *storage, int handle);
    /* In a child of fork(): the lock is the parent's alone. May be NULL: then the owner may not
     * fork. */
    void (*forked)(struct storage *storage);
    void (*free)(struct storage *storage);
};

/* The head of every storage's own struct. */
struct storage {
    const struct storage_type *type;
};

/* A directory of the system, created if it is not there and `create` says so. *storage is to be
 * freed with storage_free(). */
int storage_posix(const char *path, bool create, struct storage **storage);
void storage_free(struct storage *storage);

/* Writes all of it at `offset`, going on after short writes and EINTR. */
int storage_write_all(struct storage *storage, int handle, int64_t offset, const void *data,
                      size_t size);
/* The bytes that are free, or -1 if that is not known. */
int64_t storage_free_bytes(struct storage *storage);

/* What is there under the name of a file is no file: a FIFO, a device, a directory. A symbolic link
 * is -ELOOP. */
#define STORAGE_IRREGULAR (-EMEDIUMTYPE)

/* What a negative errno means. */
const char *storage_error(int code);

/* The same, and more. Where the room gave out, also how many bytes were needed and how
 * many free; -1 for either: not known. Returns `out`. */
#define STORAGE_WHY_SIZE 160
const char *storage_why(int code, int64_t needed, int64_t free_bytes, char out[STORAGE_WHY_SIZE]);
/* Is it the room that gave out? */
bool storage_is_full(int code);

/* The size of a file, or a negative errno. */
int64_t storage_file_size(struct storage *storage, const char *name);
/* Appends a whole file to `out`. -ENOMEM when there is no memory. */
int storage_read_file(struct storage *storage, const char *name, struct buffer *out);

#endif
