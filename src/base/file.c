/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a small file whole, up to a bound, through one descriptor. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define CHUNK 4096

static int read_all(int fd, size_t size_max, struct buffer *out)
{
    size_t total = 0;

    for (;;) {
        if (!buffer_reserve(out, CHUNK)) {
            return -ENOMEM;
        }
        ssize_t size = read(fd, out->data + out->size, CHUNK);
        if (size == 0) {
            return 0;
        }
        if (size < 0 && errno != EINTR) {
            return -errno;
        }
        if (size > 0) {
            total += (size_t)size;
            out->size += (size_t)size;
        }
        if (total > size_max) {
            return -EFBIG;
        }
    }
}

int file_read(const char *path, size_t size_max, struct buffer *out, struct stat *about)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | (about != NULL ? O_NONBLOCK | O_NOCTTY : 0));

    if (fd < 0) {
        return -errno;
    }
    int code = 0;
    if (about != NULL) {
        code = fstat(fd, about) != 0 ? -errno : S_ISREG(about->st_mode) ? 0 : -EMEDIUMTYPE;
    }
    code = code != 0 ? code : read_all(fd, size_max, out);
    close(fd);
    return code;
}
