/* SPDX-License-Identifier: Apache-2.0 */
#include "conversation.h"

#include "base/check.h"
#include "base/random.h"
#include "engine/embedded.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define NOW_MS INT64_C(1800000000000)
/* Of the token "secret". */
#define USERS "ann write sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n"

/* ---- chance that can be repeated, in the place of base/random.c ------------------------------ */

static uint8_t next_random;

void random_init(struct random *random)
{
    random->left = 0;
}

void random_bytes(struct random *random, void *out, size_t size)
{
    (void)random;
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)out)[i] = next_random++;
    }
}

/* ---- one conversation ------------------------------------------------------------------------ */

struct talk {
    struct server server;
    struct session session;
    bool released;
    struct buffer heard;  /* bytes not used yet */
    struct buffer said;   /* all answers */
    struct memory memory; /* of these two */
};

static struct talk *talk_of(struct session *session)
{
    return LIST_ENTRY(session, struct talk, session);
}

static void release(struct session *session)
{
    talk_of(session)->released = true;
}

static const struct server_options *options(void)
{
    static struct server_options loaded;
    /* Any host, or most of the corpus would get no further than that. */
    static char *words[] = {"serve", "--memory",        "--log-level", "error", "--slow-threshold",
                            "0",     "--allowed-hosts", "*",           NULL};
    struct problem problem;

    if (loaded.fsync == NULL) {
        CHECK(options_load(&loaded, 8, words, &problem) == HF_OK);
    }
    return &loaded;
}

static int64_t stand_still(void *context)
{
    (void)context;
    return NOW_MS;
}

static void talk_begin(struct talk *talk, const struct front *front, bool with_users)
{
    struct embedded_options wanted = {.fixed_entropy = true};
    struct engine *engine;
    struct problem problem;

    next_random = 0;
    *talk = (struct talk){.released = false};
    memory_init(&talk->memory);
    buffer_init(&talk->heard, &talk->memory);
    buffer_init(&talk->said, &talk->memory);
    server_init(&talk->server, options());
    talk->server.release = release;
    talk->server.started_ns = 1; /* a part of request ids */
    clock_asked(&wanted.clock, stand_still, NULL);
    CHECK(embedded_open_with(&wanted, &engine, &problem) == HF_OK);
    server_attach(&talk->server, engine);
    if (with_users) {
        talk->server.auth = auth_parse("users", hf_text(USERS), &problem);
        CHECK(talk->server.auth != NULL);
    }
    CHECK(session_open(&talk->session, &talk->server, front));
}

/* What the loop does with what a turn left. Was there anything? */
static bool take_answers(struct talk *talk)
{
    struct session *session = &talk->session;

    server_commit(&talk->server);
    CHECK(session->firm == session->out.size || !session->is_touched);
    if (session->is_touched) {
        list_remove(&session->touched);
        session->is_touched = false;
    }
    bool any = session->out.size > 0;
    buffer_bytes(&talk->said, session->out.data, session->out.size);
    buffer_clear(&session->out);
    session->firm = 0;
    if (session->is_resumed) {
        list_remove(&session->resumed);
        session->is_resumed = false;
        any = true;
    }
    return any;
}

static void talk_hear(struct talk *talk, const void *data, size_t size)
{
    struct session *session = &talk->session;
    struct buffer *heard = &talk->heard;
    size_t used;

    buffer_bytes(heard, data, size);
    session_heard(session);
    do {
        used = session_stopped(session) ? 0 : session_feed(session, heard->data, heard->size);
        CHECK(used <= heard->size);
        if (used > 0) {
            heard->size -= used;
            memmove(heard->data, heard->data + used, heard->size);
        }
    } while (take_answers(talk) || used > 0);
}

static void talk_end(struct talk *talk, bool heard)
{
    struct session *session = &talk->session;

    while (session->waits) { /* time stands still: nobody will come and answer */
        session_give_up(session);
        CHECK(!session->waits);
        talk_hear(talk, "", 0);
    }
    bool free_now = session_close(session, heard);
    CHECK(free_now || talk->released);
    session_free(session);
    buffer_free(&talk->heard);
    server_free(&talk->server); /* checks that nothing of its memory is left */
}

/* ---- twice, and compared --------------------------------------------------------------------- */

static void differ(const struct buffer *whole, const struct buffer *cut)
{
    fprintf(stderr, "in one piece:\n%.*s\n\nin pieces:\n%.*s\n", (int)whole->size, whole->data,
            (int)cut->size, cut->data);
    abort();
}

void converse(const struct front *front, const uint8_t *data, size_t size,
              void (*tidy)(struct buffer *said))
{
    static struct talk whole, cut;

    if (size < CONVERSATION_HEAD) {
        return;
    }
    bool with_users = data[0] & WITH_USERS, heard = !(data[0] & GOES_UNHEARD);
    uint32_t dice = data[1] | (uint32_t)data[2] << 8;
    size_t largest = 1 + (size_t)data[3];
    data += CONVERSATION_HEAD;
    size -= CONVERSATION_HEAD;

    talk_begin(&whole, front, with_users);
    talk_hear(&whole, data, size);
    talk_end(&whole, heard);

    talk_begin(&cut, front, with_users);
    for (size_t at = 0; at < size;) {
        dice = dice * 1103515245 + 12345;
        size_t part = 1 + (dice >> 16) % largest;
        part = part < size - at ? part : size - at;
        talk_hear(&cut, data + at, part);
        at += part;
    }
    talk_end(&cut, heard);

    if (tidy != NULL) {
        tidy(&whole.said);
        tidy(&cut.said);
    }
    if (whole.said.size != cut.said.size ||
        (whole.said.size > 0 && memcmp(whole.said.data, cut.said.data, cut.said.size) != 0)) {
        differ(&whole.said, &cut.said);
    }
    buffer_free(&whole.said);
    buffer_free(&cut.said);
}

bool mentions(const uint8_t *data, size_t size, const char *word)
{
    size_t length = strlen(word);

    for (size_t i = 0; i + length <= size; i++) {
        if (strncasecmp((const char *)data + i, word, length) == 0) {
            return true;
        }
    }
    return false;
}
