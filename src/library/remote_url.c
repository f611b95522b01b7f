/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the URL of a server apart. */
#include "library/remote_url.h"

#include "base/text.h"

#define PLAIN "holdfast://"
#define WITH_TLS "holdfast+tls://"
#define TIMEOUT_DEFAULT_MS 5000

bool remote_url_is(const char *url)
{
    return text_starts_with(url, PLAIN) || text_starts_with(url, WITH_TLS);
}

static enum hf_error malformed(struct problem *problem, const char *why)
{
    return problem_set(
        problem, HF_INVALID_ARGUMENT,
        "%s; a server's URL is holdfast://[user:password@|token@]host[:port][?timeout=5s], or "
        "holdfast+tls:// with ?ca=FILE too",
        why);
}

/* user:password or token. */
static bool read_secret(struct hf_bytes text, struct remote_url *url)
{
    const char *colon = memchr(text.data, ':', text.size);

    if (colon == NULL) {
        return text_unescape(text, url->secret, sizeof url->secret) && url->secret[0] != '\0';
    }
    struct hf_bytes user = {text.data, (size_t)(colon - text.data)};
    struct hf_bytes password = {colon + 1, text.size - user.size - 1};
    return text_unescape(user, url->user, sizeof url->user) &&
           text_unescape(password, url->secret, sizeof url->secret) && url->user[0] != '\0' &&
           url->secret[0] != '\0';
}

static bool read_option(struct hf_bytes option, struct remote_url *url)
{
    const char *equals = memchr(option.data, '=', option.size);

    if (equals == NULL) {
        return false;
    }
    struct hf_bytes name = {option.data, (size_t)(equals - option.data)};
    struct hf_bytes value = {equals + 1, option.size - name.size - 1};
    if (text_equal(name, hf_text("timeout"))) {
        return text_to_duration(value, 1000, &url->timeout_ms) &&
               url->timeout_ms >= HF_TTL_MIN_MS && url->timeout_ms <= HF_TTL_MAX_MS;
    }
    return text_equal(name, hf_text("ca")) && url->tls &&
           text_unescape(value, url->ca, sizeof url->ca) && url->ca[0] != '\0';
}

/* What follows the question mark: name=value&name=value. */
static bool read_options(struct hf_bytes text, struct remote_url *url)
{
    for (size_t at = 0; at < text.size;) {
        const char *start = text.data + at;
        const char *end = memchr(start, '&', text.size - at);
        size_t size = end != NULL ? (size_t)(end - start) : text.size - at;
        if (!read_option((struct hf_bytes){start, size}, url)) {
            return false;
        }
        at += size + 1;
    }
    return true;
}

/* The last '@' ends the secret: a host has none. */
static const char *last_at(struct hf_bytes text)
{
    return text.size > 0 ? memrchr(text.data, '@', text.size) : NULL;
}

enum hf_error remote_url_read(const char *text, struct remote_url *url, struct problem *problem)
{
    *url = (struct remote_url){.port = REMOTE_PORT, .timeout_ms = TIMEOUT_DEFAULT_MS};
    url->tls = text_starts_with(text, WITH_TLS);
    text += strlen(url->tls ? WITH_TLS : PLAIN);

    size_t size = strcspn(text, "?");
    const char *options = text + size + (text[size] == '?');
    struct hf_bytes where = {text, size};
    const char *at = last_at(where);
    if (at != NULL) {
        struct hf_bytes secret = {where.data, (size_t)(at - where.data)};
        where = (struct hf_bytes){at + 1, where.size - secret.size - 1};
        if (!read_secret(secret, url)) {
            return malformed(problem, "the user and password, or the token, cannot be read");
        }
    }
    if (where.size > 0 && where.data[where.size - 1] == '/') {
        where.size--;
    }
    if (!address_split(where, url->host, &url->port) || url->host[0] == '\0' || url->port == 0) {
        return malformed(problem, "the host or port cannot be read");
    }
    if (!read_options(hf_text(options), url)) {
        return malformed(problem, "unknown or malformed option");
    }
    return HF_OK;
}
