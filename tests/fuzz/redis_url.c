/* SPDX-License-Identifier: Apache-2.0
 *
 * The URL of Redis, as a user writes it: read, or refused with a reason. What is read is within its
 * bounds, can be shown in any size of buffer, and means the same when it is read again. */
#include "base/check.h"
#include "fuzz.h"
#include "redis/client/url.h"

#include <stdio.h>
#include <stdlib.h>

/* Room for 16 hosts of 255 bytes with their ports, and for all else. */
#define SHOWN_SIZE 8192

static bool ends_within(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static void check_bounds(const struct redis_url *url)
{
    CHECK(url->host_count >= 1 && url->host_count <= REDIS_HOSTS_MAX);
    CHECK(url->kind != REDIS_STANDALONE || url->host_count == 1);
    for (size_t i = 0; i < url->host_count; i++) {
        const struct redis_host *host = &url->hosts[i];
        CHECK(ends_within(host->name, sizeof host->name) && host->name[0] != '\0');
        CHECK(host->port != 0);
    }
    CHECK(ends_within(url->master, sizeof url->master));
    CHECK((url->master[0] != '\0') == (url->kind == REDIS_SENTINEL));
    CHECK(ends_within(url->username, sizeof url->username));
    CHECK(ends_within(url->password, sizeof url->password));
    CHECK(url->username[0] == '\0' || url->password[0] != '\0');
    CHECK(ends_within(url->tls_ca, sizeof url->tls_ca));
    CHECK(ends_within(url->tls_cert, sizeof url->tls_cert));
    CHECK(ends_within(url->tls_key, sizeof url->tls_key));
    CHECK((url->tls_cert[0] != '\0') == (url->tls_key[0] != '\0'));
    CHECK(ends_within(url->tls_server_name, sizeof url->tls_server_name));
    CHECK(url->tls ||
          (url->tls_ca[0] == '\0' && url->tls_cert[0] == '\0' && url->tls_server_name[0] == '\0'));
    CHECK(ends_within(url->sentinel_username, sizeof url->sentinel_username));
    CHECK(ends_within(url->sentinel_password, sizeof url->sentinel_password));
    CHECK(url->sentinel_username[0] == '\0' || url->sentinel_password[0] != '\0');
    CHECK(url->sentinel_password[0] == '\0' || url->kind == REDIS_SENTINEL);
    CHECK(ends_within(url->name_space, sizeof url->name_space));
    size_t size = strlen(url->name_space);
    CHECK(size == 0 || url->name_space[size - 1] == ':');
    CHECK(url->database >= 0 && (url->kind != REDIS_CLUSTER || url->database == 0));
    CHECK(url->timeout_ms > 0 && url->connect_timeout_ms > 0 && url->queue > 0);
}

/* Shown in a buffer of that size, of its own, so that writing past it is seen. */
static void show_in(const struct redis_url *url, size_t size, const char *whole)
{
    char *out = malloc(size);

    CHECK(out != NULL);
    redis_url_show(url, out, size);
    CHECK(ends_within(out, size) && strncmp(out, whole, strlen(out)) == 0);
    CHECK(strlen(out) == (strlen(whole) < size ? strlen(whole) : size - 1));
    free(out);
}

/* What is shown names the same servers. The name of a master is shown as it is, so that one with a
 * slash or a question mark in it reads as something else. */
static void check_shown(const struct redis_url *url)
{
    static char shown[SHOWN_SIZE];
    struct redis_url again;

    redis_url_show(url, shown, sizeof shown);
    CHECK(strlen(shown) < sizeof shown - 1);
    for (size_t size = 1; size < strlen(shown) + 2; size += 1 + size / 3) {
        show_in(url, size, shown);
    }
    if (strpbrk(url->master, "/?%@") != NULL) {
        return;
    }
    CHECK(redis_url_parse(shown, &again, NULL) == HF_OK);
    CHECK(again.tls == url->tls && again.kind == url->kind && again.database == url->database);
    CHECK(strcmp(again.master, url->master) == 0 && again.host_count == url->host_count);
    for (size_t i = 0; i < url->host_count; i++) {
        CHECK(strcmp(again.hosts[i].name, url->hosts[i].name) == 0);
        CHECK(again.hosts[i].port == url->hosts[i].port);
    }
    CHECK(again.username[0] == '\0' && again.password[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redis_url url;
    struct problem problem = {.code = HF_OK};
    char *text = malloc(size + 1); /* of its own, so that reading past its end is seen */

    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    enum hf_error code = redis_url_parse(text, &url, &problem);
    if (code == HF_OK) {
        check_bounds(&url);
        check_shown(&url);
    } else {
        CHECK(code == HF_INVALID_ARGUMENT && problem.code == code && problem.message[0] != '\0');
    }
    free(text);
    return 0;
}
