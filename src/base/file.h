/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading a small file whole. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/buffer.h"

#include <sys/stat.h>

/* Appends what is in the file. 0, or what is wrong as a negative errno: -EFBIG if there is more
 * than `size_max`. `about` is what was opened, so that the file cannot be exchanged in between;
 * with it, only a regular file is read, and the call never waits: -EMEDIUMTYPE for another. NULL:
 * from a pipe, too. */
int file_read(const char *path, size_t size_max, struct buffer *out, struct stat *about);

#endif
