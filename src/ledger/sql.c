/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the driver of a URL, and tells the time that deadlines are of. */
#include "ledger/sql.h"

#include "base/text.h"

#include <stdio.h>
#include <time.h>

static const struct {
    const char *scheme;
    const struct sql_driver *driver;
} schemes[] = {
    {"sqlite:", &sql_sqlite}, {"postgres://", &sql_postgres}, {"postgresql://", &sql_postgres},
    {"mysql://", &sql_mysql}, {"mariadb://", &sql_mysql},
};

const struct sql_driver *sql_driver_find(const char *url, struct problem *problem)
{
    char known[128] = "";
    size_t size = 0;

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (text_starts_with(url, schemes[i].scheme)) {
            return schemes[i].driver;
        }
        size += (size_t)snprintf(known + size, sizeof known - size, "%s%s", i == 0 ? "" : ", ",
                                 schemes[i].scheme);
    }
    /* What follows the scheme may be a secret, and without a colon all of it may. */
    size_t scheme = strcspn(url, ":");
    bool shown = scheme <= 16 && url[scheme] == ':';
    problem_set(problem, HF_INVALID_ARGUMENT,
                "a ledger's URL begins with one of %s, not with '%.*s'", known,
                shown ? (int)scheme + 1 : 0, url);
    return NULL;
}

int64_t sql_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
