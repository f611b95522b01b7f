/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of MySQL URLs; mysql_url.h has their form. Nothing that it complains of or shows has a
 * part of the password in it, also where a character of the password should have been escaped and
 * was not: such URLs are refused. */
#include "ledger/mysql_url.h"

#include "base/text.h"

#include <stddef.h>
#include <stdio.h>

#define SCHEME "mysql://"
#define FORM "mysql://user:password@host:3306/database?ssl-ca=FILE"
#define PORT 3306

static bool wrong(struct problem *problem, const char *what)
{
    problem_set(problem, HF_INVALID_ARGUMENT, "the URL of MySQL: %s; its form is " FORM, what);
    return false;
}

/* What follows the scheme; NULL if it is another. */
static const char *behind_scheme(const char *text)
{
    static const char *const schemes[] = {SCHEME, "mariadb://"};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (text_starts_with(text, schemes[i])) {
            return text + strlen(schemes[i]);
        }
    }
    return NULL;
}

/* ---- options --------------------------------------------------------------------------------- */

static const struct text_part {
    const char *name;
    size_t offset, size;
    bool tls;
    const char *wrong;
} text_parts[] = {
#define PART(field) offsetof(struct mysql_url, field), sizeof((struct mysql_url *)NULL)->field
    {"socket", PART(socket), false, "socket is not a path of 1 to 107 bytes"},
    {"ssl-ca", PART(ssl_ca), true, "ssl-ca is not a path of 1 to 512 bytes"},
    {"ssl-cert", PART(ssl_cert), true, "ssl-cert is not a path of 1 to 512 bytes"},
    {"ssl-key", PART(ssl_key), true, "ssl-key is not a path of 1 to 512 bytes"},
#undef PART
};

static bool read_verify(struct hf_bytes value, struct mysql_url *url, struct problem *problem)
{
    url->tls = true;
    url->verify = text_equal(value, hf_text("yes"));
    return url->verify || text_equal(value, hf_text("no")) ||
           wrong(problem, "ssl-verify is not yes or no");
}

static bool read_option(struct hf_bytes name, struct hf_bytes value, struct mysql_url *url,
                        struct problem *problem)
{
    if (text_equal(name, hf_text("ssl-verify"))) {
        return read_verify(value, url, problem);
    }
    for (size_t i = 0; i < sizeof text_parts / sizeof *text_parts; i++) {
        const struct text_part *part = &text_parts[i];
        if (text_equal(name, hf_text(part->name))) {
            char *out = (char *)url + part->offset;
            url->tls = url->tls || part->tls;
            return (text_unescape(value, out, part->size) && out[0] != '\0') ||
                   wrong(problem, part->wrong);
        }
    }
    return wrong(problem, "there is an unknown option; the options are socket, ssl-ca, ssl-cert, "
                          "ssl-key and ssl-verify");
}

/* name=value&name=value */
static bool read_options(const char *text, struct mysql_url *url, struct problem *problem)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "&"), name = strcspn(text, "=&");
        if (name == size) {
            return wrong(problem, "an option has no value");
        }
        struct hf_bytes value = {text + name + 1, size - name - 1};
        if (!read_option((struct hf_bytes){text, name}, value, url, problem)) {
            return false;
        }
        text += size + (text[size] == '&');
    }
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool read_account(struct hf_bytes text, struct mysql_url *url, struct problem *problem)
{
    const char *colon = text.size > 0 ? memchr(text.data, ':', text.size) : NULL;
    struct hf_bytes user = {text.data, colon != NULL ? (size_t)(colon - text.data) : text.size};

    if (!text_unescape(user, url->user, sizeof url->user) || url->user[0] == '\0') {
        return wrong(problem, "the user is missing, too long or malformed");
    }
    if (colon != NULL) {
        struct hf_bytes password = {colon + 1, text.size - user.size - 1};
        if (!text_unescape(password, url->password, sizeof url->password)) {
            return wrong(problem, "the password is too long or malformed (write % as %25)");
        }
    }
    return true;
}

static bool read_host(struct hf_bytes text, struct mysql_url *url, struct problem *problem)
{
    url->port = PORT;
    if (text.size == 0) {
        return true; /* right with a socket, as check_whole() finds out */
    }
    return (address_split(text, url->host, &url->port) && url->port != 0) ||
           wrong(problem, "the host or port cannot be read (in a password write : as %3A, / as "
                          "%2F, ? as %3F)");
}

static bool check_whole(const struct mysql_url *url, struct problem *problem)
{
    if (url->host[0] == '\0' && url->socket[0] == '\0') {
        return wrong(problem, "there is neither a host nor a socket");
    }
    if ((url->ssl_cert[0] == '\0') != (url->ssl_key[0] == '\0')) {
        return wrong(problem, "ssl-cert and ssl-key belong together");
    }
    if (!url->verify && url->ssl_ca[0] != '\0') {
        return wrong(problem, "ssl-verify=no makes no use of an ssl-ca");
    }
    if (url->socket[0] != '\0' && url->tls) {
        return wrong(problem, "a socket needs no TLS");
    }
    return true;
}

/* "user:password@host:port/database?options", without the scheme. */
static bool read_parts(const char *text, struct mysql_url *url, struct problem *problem)
{
    const char *at = strchr(text, '@');
    size_t authority = strcspn(text, "/?#");
    if (at == NULL) {
        return wrong(problem, "the user is missing");
    }
    /* An @ of a password would make a host, a database or an option of the password's end. */
    if ((size_t)(at - text) > authority || strchr(at + 1, '@') != NULL) {
        return wrong(problem, "it has one @, in front of the host (elsewhere write @ as %40, / as "
                              "%2F, ? as %3F)");
    }
    const char *path = text + authority;
    size_t path_size = strcspn(path, "?");
    const char *options = path + path_size + (path[path_size] == '?');
    if (*path != '/' || path_size < 2 ||
        !text_unescape((struct hf_bytes){path + 1, path_size - 1}, url->database,
                       sizeof url->database)) {
        return wrong(problem, "the database is missing, too long or malformed");
    }
    struct hf_bytes account = {text, (size_t)(at - text)};
    struct hf_bytes host = {at + 1, (size_t)(path - at - 1)};
    return read_account(account, url, problem) && read_host(host, url, problem) &&
           read_options(options, url, problem) && check_whole(url, problem);
}

enum hf_error mysql_url_parse(const char *text, struct mysql_url *url, struct problem *problem)
{
    *url = (struct mysql_url){.verify = true};
    const char *rest = behind_scheme(text);
    if (rest == NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "not a URL of MySQL: its form is " FORM);
    }
    return read_parts(rest, url, problem) ? HF_OK : HF_INVALID_ARGUMENT;
}

void mysql_url_show(const char *text, char *out, size_t size)
{
    struct mysql_url url;

    if (mysql_url_parse(text, &url, NULL) != HF_OK) {
        snprintf(out, size, SCHEME);
    } else if (url.socket[0] != '\0') {
        snprintf(out, size, SCHEME "%s@/%s?socket=%s", url.user, url.database, url.socket);
    } else {
        bool has_colons = strchr(url.host, ':') != NULL;
        snprintf(out, size, has_colons ? SCHEME "%s@[%s]:%u/%s" : SCHEME "%s@%s:%u/%s", url.user,
                 url.host, url.port, url.database);
    }
}
