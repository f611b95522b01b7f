/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of error words, and where in a reply they stand. */
#include "redis/client/error_reply.h"

#include "base/text.h"

#include <stdio.h>

struct meaning {
    const char *word;
    enum error_action action;
    enum hf_error code;
    bool not_master;
    /* A script meets it at its first write or not at all: before it has changed anything. */
    bool at_first_write;
};

static const struct meaning meanings[] = {
    {"NOSCRIPT", ERROR_NO_SCRIPT, HF_ENGINE_DOWN, false, false},
    {"MOVED", ERROR_MOVED, HF_ENGINE_DOWN, false, false},
    {"ASK", ERROR_ASK, HF_BUSY, false, false},
    {"AGAIN", ERROR_AGAIN, HF_BUSY, false, false},
    {"TRYAGAIN", ERROR_RETRY, HF_BUSY, false, false},
    {"CLUSTERDOWN", ERROR_RETRY, HF_ENGINE_DOWN, false, false},
    {"LOADING", ERROR_RETRY, HF_LOADING, false, false},
    {"MASTERDOWN", ERROR_RETRY, HF_ENGINE_DOWN, false, false},
    {"BUSY", ERROR_RETRY, HF_BUSY, false, false},
    {"READONLY", ERROR_RETRY, HF_ENGINE_DOWN, true, true},
    {"OOM", ERROR_REFUSED, HF_BUSY, false, true},
    {"MISCONF", ERROR_REFUSED, HF_ENGINE_DOWN, false, true},
    {"NOREPLICAS", ERROR_REFUSED, HF_ENGINE_DOWN, false, true},
    {"NOAUTH", ERROR_REFUSED, HF_ENGINE_DOWN, false, false},
    {"WRONGPASS", ERROR_REFUSED, HF_ENGINE_DOWN, false, false},
    {"NOPERM", ERROR_REFUSED, HF_ENGINE_DOWN, false, false},
};

static const struct meaning own = {"", ERROR_ANSWER, HF_ERR, false, false};

static const struct meaning *find(const char *text)
{
    size_t size = strcspn(text, " ");

    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strlen(meanings[i].word) == size && memcmp(text, meanings[i].word, size) == 0) {
            return &meanings[i];
        }
    }
    return &own;
}

/* The error reply to a command inside of a script comes, from Redis 7 on, with the script's name
 * behind it; before, as the end of "ERR Error running script (call to …): …: -OOM …". */
static const struct meaning *find_inside(const char *text)
{
    static const char started[] = "ERR Error running script";
    const char *dash;

    if (strncmp(text, started, sizeof started - 1) == 0 && (dash = strstr(text, ": -")) != NULL) {
        const struct meaning *meaning = find(dash + 3);
        return meaning->at_first_write ? meaning : &own;
    }
    const struct meaning *meaning = find(text);
    return meaning->at_first_write || strstr(text, ", on @user_script") == NULL ? meaning : &own;
}

/* "MOVED 3999 127.0.0.1:6381": a bare IPv6 address has no brackets; the last colon counts. */
static bool read_address(const char *text, struct error_reply *error)
{
    const char *slot = strchr(text, ' ');
    const char *address = slot != NULL ? strchr(slot + 1, ' ') : NULL;
    const char *colon = address != NULL ? strrchr(address, ':') : NULL;
    int64_t slot_number, port;

    if (colon == NULL || (size_t)(colon - address) > sizeof error->host ||
        !text_to_integer((struct hf_bytes){slot + 1, (size_t)(address - slot) - 1}, &slot_number) ||
        !text_to_integer(hf_text(colon + 1), &port) || slot_number < 0 || slot_number > 16383 ||
        port < 1 || port > 65535) {
        return false;
    }
    error->slot = (int)slot_number;
    error->port = (uint16_t)port;
    snprintf(error->host, sizeof error->host, "%.*s", (int)(colon - address) - 1, address + 1);
    return true;
}

void error_reply_read(const redisReply *reply, struct error_reply *error)
{
    const struct meaning *meaning = find_inside(reply->str);

    *error = (struct error_reply){
        .action = meaning->action, .code = meaning->code, .not_master = meaning->not_master};
    if ((meaning->action == ERROR_MOVED || meaning->action == ERROR_ASK) &&
        !read_address(reply->str, error)) {
        error->action = ERROR_ANSWER;
    }
}
