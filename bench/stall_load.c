/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills a server for bench/stall.py, which is too slow for millions of commands itself:
 *
 *     stall_load PORT FIRST COUNT PIPELINE DUE_MS SPREAD_MS SEED WORD...
 *
 * sends the same command for each number from FIRST on, PIPELINE of them at a time. In a word, %i
 * stands for the number, %p for the numbers in an order without pattern, each once, and %t for a
 * TTL that ends at DUE_MS on the wall clock or at random up to SPREAD_MS after it. Ends with
 * "ANSWERED REFUSED" on standard output, and with an error if a reply is one. */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS_MAX 24
#define WORD_SIZE 160

struct load {
    uint64_t first, count, pipeline, random;
    int64_t due_ms, spread_ms;
    int words;
    char **templates;
    uint64_t answered, refused;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Multiplying by a number that shares no factor with the count visits each number once. */
static uint64_t permuted(const struct load *load, uint64_t index)
{
    uint64_t step = 2654435761U; /* a prime */

    if (load->count % step == 0) {
        step = 1;
    }
    return load->first + (uint64_t)((unsigned __int128)index * step % load->count);
}

static int64_t ttl_ms(struct load *load)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t due_ms = load->due_ms;

    if (load->spread_ms > 0) {
        due_ms += (int64_t)(next_random(&load->random) % (uint64_t)load->spread_ms);
    }
    return due_ms - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* The word for the index-th command, in `word`; gives its length. */
static size_t write_word(struct load *load, const char *template, uint64_t index, char *word)
{
    const char *mark = strchr(template, '%');

    if (mark == NULL) {
        return (size_t)snprintf(word, WORD_SIZE, "%s", template);
    }
    int before = (int)(mark - template);
    if (mark[1] == 't') {
        return (size_t)snprintf(word, WORD_SIZE, "%.*s%" PRId64 "ms%s", before, template,
                                ttl_ms(load), mark + 2);
    }
    uint64_t number = mark[1] == 'p' ? permuted(load, index) : load->first + index;
    return (size_t)snprintf(word, WORD_SIZE, "%.*s%" PRIu64 "%s", before, template, number,
                            mark + 2);
}

static void append(redisContext *context, struct load *load, uint64_t index)
{
    static char words[WORDS_MAX][WORD_SIZE];
    const char *arguments[WORDS_MAX];
    size_t sizes[WORDS_MAX];

    for (int i = 0; i < load->words; i++) {
        sizes[i] = write_word(load, load->templates[i], index, words[i]);
        arguments[i] = words[i];
    }
    if (redisAppendCommandArgv(context, load->words, arguments, sizes) != REDIS_OK) {
        fprintf(stderr, "stall_load: %s\n", context->errstr);
        exit(1);
    }
}

static void read_reply(redisContext *context, struct load *load)
{
    void *got = NULL;
    if (redisGetReply(context, &got) != REDIS_OK) {
        fprintf(stderr, "stall_load: %s\n", context->errstr);
        exit(1);
    }
    redisReply *reply = got;
    if (reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "stall_load: %s\n", reply->str);
        exit(1);
    }
    load->answered++;
    load->refused += reply->type == REDIS_REPLY_ARRAY && reply->elements >= 2 &&
                     reply->element[0]->type == REDIS_REPLY_INTEGER &&
                     reply->element[0]->integer == 0;
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    if (argc < 9 || argc - 8 > WORDS_MAX) {
        fputs("stall_load PORT FIRST COUNT PIPELINE DUE_MS SPREAD_MS SEED WORD...\n", stderr);
        return 2;
    }
    struct load load = {.first = strtoull(argv[2], NULL, 10),
                        .count = strtoull(argv[3], NULL, 10),
                        .pipeline = strtoull(argv[4], NULL, 10),
                        .due_ms = strtoll(argv[5], NULL, 10),
                        .spread_ms = strtoll(argv[6], NULL, 10),
                        .random = strtoull(argv[7], NULL, 10) | 1,
                        .words = argc - 8,
                        .templates = argv + 8};
    redisContext *context = redisConnect("127.0.0.1", (int)strtol(argv[1], NULL, 10));
    if (context == NULL || context->err != 0) {
        fprintf(stderr, "stall_load: cannot connect to port %s\n", argv[1]);
        return 1;
    }
    for (uint64_t sent = 0; sent < load.count;) {
        uint64_t end = sent + load.pipeline < load.count ? sent + load.pipeline : load.count;
        uint64_t batch = end - sent;

        for (; sent < end; sent++) {
            append(context, &load, sent);
        }
        for (; batch > 0; batch--) {
            read_reply(context, &load);
        }
    }
    printf("%" PRIu64 " %" PRIu64 "\n", load.answered, load.refused);
    redisFree(context);
    return 0;
}
