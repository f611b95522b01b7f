/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs of PostgreSQL: postgres://user:password@host:port/database?sslmode=… with every option that
 * libpq has. libpq takes them apart; what it would complain of with the URL in its words is said
 * here without them, since a password may be among them.
 *
 * Nothing shown of a URL contains a part of a password, also where a character in the password
 * should have been escaped and was not: such URLs are refused before anything of them is shown. */
#include "ledger/postgres_state.h"

#include "base/text.h"

#include <stdio.h>

#define FORM "postgres://user:password@host:port/database?sslmode=verify-full"

static const char *const ssl_modes[] = {"disable", "allow",     "prefer",
                                        "require", "verify-ca", "verify-full"};

/* The value of an option; NULL if the URL does not have it. */
static const char *option_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options->keyword != NULL; options++) {
        if (strcmp(options->keyword, keyword) == 0) {
            return options->val;
        }
    }
    return NULL;
}

/* An @ that belongs to a password would make libpq take the rest of it for a host, a database or
 * an option, and show it. */
static bool stray_at(const char *url)
{
    const char *authority = strstr(url, "://") + 3;
    const char *first = strchr(authority, '@');
    if (first == NULL) {
        return false;
    }
    return first > authority + strcspn(authority, "/?#") || strchr(first + 1, '@') != NULL;
}

static bool known_mode(const char *mode)
{
    for (size_t i = 0; i < sizeof ssl_modes / sizeof *ssl_modes; i++) {
        if (strcmp(mode, ssl_modes[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Ports, one for each host, by commas. */
static bool known_ports(const char *ports)
{
    for (;;) {
        size_t size = strcspn(ports, ",");
        int64_t port = 1; /* an empty one is the default */
        if (size > 0 && !text_to_integer((struct hf_bytes){ports, size}, &port)) {
            return false;
        }
        if (port < 1 || port > 65535) {
            return false;
        }
        if (ports[size] == '\0') {
            return true;
        }
        ports += size + 1;
    }
}

static enum hf_error check_options(const PQconninfoOption *options, struct problem *problem)
{
    const char *port = option_of(options, "port");
    if (port != NULL && !known_ports(port)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "the port of a postgres:// URL is a number from 1 to 65535; a : or / in "
                           "a password is written %%3A or %%2F");
    }
    const char *mode = option_of(options, "sslmode");
    if (mode != NULL && !known_mode(mode)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "sslmode of a postgres:// URL is one of disable, allow, prefer, "
                           "require, verify-ca, verify-full");
    }
    return HF_OK;
}

/* What libpq says with everything left out that it quotes. */
static void without_quotes(char *words)
{
    char *out = words;
    bool inside = false;
    for (const char *at = words; *at != '\0' && *at != '\n'; at++) {
        if (*at == '"' || !inside) {
            *out++ = *at;
        }
        inside = inside != (*at == '"');
    }
    *out = '\0';
}

enum hf_error postgres_check(const char *url, struct problem *problem)
{
    if (!text_starts_with(url, "postgres://") && !text_starts_with(url, "postgresql://")) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "not a URL of PostgreSQL: " FORM);
    }
    if (stray_at(url)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "a postgres:// URL has one @, before the host: in a name, a password or "
                           "an option write %%40 for @, %%2F for / and %%3F for ?");
    }
    char *words = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &words);
    if (options == NULL) {
        without_quotes(words != NULL ? words : (char[]){""});
        problem_set(problem, HF_INVALID_ARGUMENT, "not a URL of PostgreSQL (%s): " FORM,
                    words != NULL ? words : "out of memory");
        PQfreemem(words);
        return HF_INVALID_ARGUMENT;
    }
    enum hf_error error = check_options(options, problem);
    PQconninfoFree(options);
    return error;
}

void postgres_show(const char *url, char *out, size_t size)
{
    PQconninfoOption *options =
        postgres_check(url, NULL) == HF_OK ? PQconninfoParse(url, NULL) : NULL;
    if (options == NULL) {
        snprintf(out, size, "postgres://");
        return;
    }
    const char *user = option_of(options, "user"), *port = option_of(options, "port");
    const char *host = option_of(options, "host"), *database = option_of(options, "dbname");
    if (host == NULL) {
        host = option_of(options, "hostaddr");
    }
    snprintf(out, size, "postgres://%s%s%s%s%s/%s", user != NULL ? user : "",
             user != NULL ? "@" : "", host != NULL ? host : "", port != NULL ? ":" : "",
             port != NULL ? port : "", database != NULL ? database : "");
    PQconninfoFree(options);
}
