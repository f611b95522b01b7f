/* SPDX-License-Identifier: Apache-2.0
 *
 * What a supervisor hears. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "server/systemd_notify.h"

/* A socket at a path, or with an @ in front a name of its own; NOTIFY_SOCKET says so. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    setenv("NOTIFY_SOCKET", path, 1);
    return fd;
}

static const char *heard(int fd)
{
    static char text[512];
    ssize_t size = recv(fd, text, sizeof text - 1, 0);

    text[size < 0 ? 0 : size] = '\0';
    return text;
}

static void a_socket_in_the_file_system_hears_it(void **state)
{
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "/tmp/holdfast-notify-%d", (int)getpid());
    int fd = listen_at(path);
    systemd_notify("READY=1");
    assert_string_equal(heard(fd), "READY=1");
    systemd_notify("STOPPING=1");
    assert_string_equal(heard(fd), "STOPPING=1");
    close(fd);
    unlink(path);
    systemd_notify("READY=1"); /* nobody listens: nothing happens */
}

static void an_abstract_socket_hears_it(void **state)
{
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "@holdfast-notify-%d", (int)getpid());
    int fd = listen_at(path);
    systemd_notify("READY=1");
    assert_string_equal(heard(fd), "READY=1");
    close(fd);
}

static void a_reload_comes_with_its_time(void **state)
{
    char path[64];
    long long since;

    (void)state;
    snprintf(path, sizeof path, "@holdfast-reload-%d", (int)getpid());
    int fd = listen_at(path);
    systemd_notify("RELOADING=1");
    assert_int_equal(sscanf(heard(fd), "RELOADING=1\nMONOTONIC_USEC=%lld", &since), 1);
    assert_true(since > 0);
    close(fd);
}

static void without_a_supervisor_nothing_happens(void **state)
{
    static char path[300];

    (void)state;
    unsetenv("NOTIFY_SOCKET");
    systemd_notify("READY=1");
    static const char *const others[] = {"", "/", "relative", "vsock:2:1", "/nowhere/at/all"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        setenv("NOTIFY_SOCKET", others[i], 1);
        systemd_notify("READY=1");
    }
    memset(path, '/', sizeof path - 1);
    setenv("NOTIFY_SOCKET", path, 1);
    systemd_notify("READY=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_in_the_file_system_hears_it),
        cmocka_unit_test(an_abstract_socket_hears_it),
        cmocka_unit_test(a_reload_comes_with_its_time),
        cmocka_unit_test(without_a_supervisor_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
