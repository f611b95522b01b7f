/* SPDX-License-Identifier: Apache-2.0
 *
 * One datagram to the socket that NOTIFY_SOCKET names. */
#include "server/systemd_notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* With RELOADING=1 systemd wants to know since when, on the monotonic clock. */
static size_t write_message(char *out, size_t size, const char *state)
{
    struct timespec now;
    int length;

    if (strcmp(state, "RELOADING=1") == 0 && clock_gettime(CLOCK_MONOTONIC, &now) == 0) {
        length = snprintf(out, size, "%s\nMONOTONIC_USEC=%" PRId64, state,
                          (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    } else {
        length = snprintf(out, size, "%s", state);
    }
    return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

void systemd_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t path_size = path ? strlen(path) : 0;
    char message[512];
    size_t size = write_message(message, sizeof message, state);

    /* A path in the file system, or a name of its own that begins with @. */
    if (size == 0 || path_size < 2 || path_size >= sizeof address.sun_path ||
        (path[0] != '/' && path[0] != '@')) {
        return;
    }
    memcpy(address.sun_path, path, path_size);
    address.sun_path[0] = path[0] == '@' ? '\0' : '/';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        socklen_t used = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_size);
        sendto(fd, message, size, MSG_NOSIGNAL, (const struct sockaddr *)&address, used);
        close(fd);
    }
}
