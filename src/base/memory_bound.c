/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the system, the process's limits, and the control groups of both versions. A group's limit
 * binds all groups below it, so each on the way up is read. In a container the path may be that of
 * the host, and not be there: then what is above it is. */
#include "base/memory_bound.h"

#include "base/file.h"
#include "base/text.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILE_MOST ((size_t)64 << 10)

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number in a file; SIZE_MAX if there is none, or "max". */
static size_t number_in(const char *path)
{
    struct memory memory;
    struct buffer text;
    int64_t number;
    size_t found = SIZE_MAX;

    memory_init(&memory);
    buffer_init(&text, &memory);
    if (file_read(path, FILE_MOST, &text, NULL) == 0) {
        size_t size = text.size;
        while (size > 0 && text.data[size - 1] == '\n') {
            size--;
        }
        if (text_to_integer((struct hf_bytes){text.data, size}, &number) && number > 0) {
            found = (size_t)number;
        }
    }
    buffer_free(&text);
    return found;
}

/* The least limit of a group and of all above it. */
static size_t least_of_groups(const char *root, const char *mount, struct hf_bytes group,
                              const char *file)
{
    size_t found = SIZE_MAX;
    char path[PATH_MAX];

    while (group.size > 0 && group.data[group.size - 1] == '/') {
        group.size--;
    }
    for (;;) {
        int size = snprintf(path, sizeof path, "%s%s%.*s/%s", root, mount, (int)group.size,
                            group.size > 0 ? group.data : "", file);
        if (size > 0 && (size_t)size < sizeof path) {
            found = least(found, number_in(path));
        }
        if (group.size == 0) {
            return found;
        }
        while (group.size > 0 && group.data[--group.size] != '/') {}
    }
}

/* A line of /proc/self/cgroup: "0::/system.slice/holdfast.service", or "4:memory:/docker/0815". */
static size_t bound_of_line(const char *root, struct hf_bytes line)
{
    const char *end = line.data + line.size;
    const char *first = memchr(line.data, ':', line.size);
    const char *second = first == NULL ? NULL : memchr(first + 1, ':', (size_t)(end - (first + 1)));

    if (second == NULL) {
        return SIZE_MAX;
    }
    struct hf_bytes controllers = {first + 1, (size_t)(second - first - 1)};
    struct hf_bytes group = {second + 1, (size_t)(end - second - 1)};
    if (controllers.size == 0) {
        return least_of_groups(root, "/sys/fs/cgroup", group, "memory.max");
    }
    return text_equal(controllers, hf_text("memory"))
               ? least_of_groups(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes")
               : SIZE_MAX;
}

static size_t bound_of_groups(const char *root)
{
    struct memory memory;
    struct buffer text;
    char path[PATH_MAX];
    size_t found = SIZE_MAX;

    memory_init(&memory);
    buffer_init(&text, &memory);
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (file_read(path, FILE_MOST, &text, NULL) == 0) {
        for (size_t at = 0; at < text.size;) {
            const char *end = memchr(text.data + at, '\n', text.size - at);
            size_t size = end == NULL ? text.size - at : (size_t)(end - (text.data + at));
            found = least(found, bound_of_line(root, (struct hf_bytes){text.data + at, size}));
            at += size + 1;
        }
    }
    buffer_free(&text);
    return found;
}

static size_t bound_of_limit(int resource)
{
    struct rlimit limit;

    return getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
               ? (size_t)limit.rlim_cur
               : SIZE_MAX;
}

size_t memory_bound(const char *root)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    size_t found = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : SIZE_MAX;

    found = least(found, bound_of_groups(root));
    found = least(found, bound_of_limit(RLIMIT_AS));
    return least(found, bound_of_limit(RLIMIT_DATA));
}
