/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a batch as one call of its script, in the form that lua/parts/batch_items.lua reads: what
 * all requests of one kind have in common goes once, because every word costs Redis time. */
#include "base/check.h"
#include "base/resp_write.h"
#include "base/text.h"
#include "redis/client/batch.h"

#include <string.h>

#define KINDS_MAX 26 /* by letters */
/* A letter, a mark for each word, a colon and a semicolon. */
#define LAYOUT_MAX (KINDS_MAX * (BATCH_WORDS_MAX + 3))

/* The requests of one script. Words are its keys, then its arguments. */
struct batch_kind {
    const struct redis_request *first;
    uint64_t varies; /* a bit for each word */
};

struct batch_kinds {
    struct batch_kind of[KINDS_MAX];
    size_t count;
};

_Static_assert(BATCH_WORDS_MAX <= 64, "words have a bit each");

/* The size of the bulk string that begins here, with all that belongs to it: "$4\r\ngala\r\n". */
static size_t word_size(const char *word)
{
    size_t at = 1, size = 0;

    CHECK(word[0] == '$');
    for (; word[at] != '\r'; at++) {
        size = 10 * size + (size_t)(word[at] - '0');
    }
    return at + 2 + size + 2;
}

static struct batch_kind *kind_of(struct batch_kinds *kinds, const struct redis_request *item)
{
    for (size_t i = 0; i < kinds->count; i++) {
        if (kinds->of[i].first->script == item->script) {
            return &kinds->of[i];
        }
    }
    CHECK(kinds->count < KINDS_MAX);
    kinds->of[kinds->count] = (struct batch_kind){.first = item};
    return &kinds->of[kinds->count++];
}

/* Marks the words in which an item differs from the first of its kind. */
static void compare(struct batch_kind *kind, const struct redis_request *item)
{
    const char *a = kind->first->bytes + kind->first->keys_at, *b = item->bytes + item->keys_at;

    CHECK(item->key_count == kind->first->key_count && item->arg_count == kind->first->arg_count);
    for (size_t i = 0; i < item->key_count + item->arg_count; i++) {
        size_t size = word_size(a), other = word_size(b);
        if (size != other || memcmp(a, b, size) != 0) {
            kind->varies |= UINT64_C(1) << i;
        }
        a += size;
        b += other;
    }
}

/* Writes an item's keys, or its arguments: those that vary, or those that do not. */
static void write_words(struct buffer *out, const struct redis_request *item, uint64_t varies,
                        bool keys, bool varying)
{
    const char *word = item->bytes + (keys ? item->keys_at : item->args_at);
    size_t first = keys ? 0 : item->key_count;
    size_t end = keys ? item->key_count : item->key_count + item->arg_count;

    for (size_t i = first; i < end; i++) {
        size_t size = word_size(word);
        if ((varies >> i & 1) == varying) {
            buffer_bytes(out, word, size);
        }
        word += size;
    }
}

static void write_all(struct buffer *out, const struct redis_batch *batch,
                      struct batch_kinds *kinds, bool keys)
{
    for (size_t i = 0; i < kinds->count; i++) {
        write_words(out, kinds->of[i].first, kinds->of[i].varies, keys, false);
    }
    for (size_t i = 0; i < batch->count; i++) {
        const struct redis_request *item = batch->items[i];
        write_words(out, item, kind_of(kinds, item)->varies, keys, true);
    }
}

/* The layout of all kinds, as the script reads it. */
static size_t write_layout(char layout[LAYOUT_MAX], const struct batch_kinds *kinds)
{
    size_t size = 0;

    for (size_t i = 0; i < kinds->count; i++) {
        const struct batch_kind *kind = &kinds->of[i];
        layout[size++] = kind->first->script->operation;
        size_t keys = kind->first->key_count, words = keys + kind->first->arg_count;
        for (size_t word = 0; word < words; word++) {
            if (word == keys) {
                layout[size++] = ':';
            }
            layout[size++] = kind->varies >> word & 1 ? 'v' : 's';
        }
        if (words == keys) {
            layout[size++] = ':'; /* a script without arguments */
        }
        layout[size++] = ';';
    }
    return size;
}

/* ---- runs ------------------------------------------------------------------------------------ */

#define RUN_KEYS_MAX 1024 /* a power of two, more than any batch has */

/* The own keys of the run so far, by their hashes. A hash that is taken for another only ends a run
 * early. */
struct run_keys {
    uint64_t hashes[RUN_KEYS_MAX]; /* 0: free */
};

_Static_assert(BATCH_MAX *BATCH_WORDS_MAX <= RUN_KEYS_MAX, "there is room for every key");

/* False if the run has it already. */
static bool run_add(struct run_keys *run, const char *word, size_t size)
{
    uint64_t hash = batch_hash((struct hf_bytes){word, size}) | 1;
    size_t at = hash >> 20;

    while (run->hashes[at &= RUN_KEYS_MAX - 1] != 0) {
        if (run->hashes[at++] == hash) {
            return false;
        }
    }
    run->hashes[at] = hash;
    return true;
}

/* Adds the keys that an item does not have in common with the others of its kind. */
static bool run_add_item(struct run_keys *run, const struct redis_request *item, uint64_t varies)
{
    const char *word = item->bytes + item->keys_at;
    bool added = true;

    for (size_t i = 0; i < item->key_count; i++) {
        size_t size = word_size(word);
        added = (!(varies >> i & 1) || run_add(run, word, size)) && added;
        word += size;
    }
    return added;
}

/* The letter of each item, and a space in front of one that has a key of its run. */
static size_t write_letters(char letters[2 * BATCH_MAX], const struct redis_batch *batch,
                            struct batch_kinds *kinds)
{
    struct run_keys run = {{0}};
    size_t size = 0;

    for (size_t i = 0; i < batch->count; i++) {
        const struct redis_request *item = batch->items[i];
        uint64_t varies = kind_of(kinds, item)->varies;
        if (!run_add_item(&run, item, varies)) {
            memset(&run, 0, sizeof run);
            run_add_item(&run, item, varies);
            letters[size++] = ' ';
        }
        letters[size++] = item->script->operation;
    }
    return size;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* How many keys or arguments go: those in common of each kind, and the others of each item. */
static size_t count_words(const struct redis_batch *batch, struct batch_kinds *kinds, bool keys)
{
    size_t count = 0;

    for (size_t i = 0; i < kinds->count + batch->count; i++) {
        bool common = i < kinds->count;
        const struct batch_kind *kind =
            common ? &kinds->of[i] : kind_of(kinds, batch->items[i - kinds->count]);
        size_t key_count = kind->first->key_count;
        uint64_t key_bits = (UINT64_C(1) << key_count) - 1;
        uint64_t bits = keys ? kind->varies & key_bits : kind->varies >> key_count;
        size_t varying = (size_t)__builtin_popcountll(bits);
        count += common ? (keys ? key_count : kind->first->arg_count) - varying : varying;
    }
    return count;
}

/* lua/parts/common.lua, due_share(). No UTF-8 text begins with the first byte. */
static const char behind_word[] = {'\xff', 'b', 'e', 'h', 'i', 'n', 'd', '\0'};

void batch_write_behind(struct buffer *out, const struct redis_request *request)
{
    size_t head = 1;
    int64_t words = 0;

    CHECK(request->bytes[0] == '*');
    for (; request->bytes[head] != '\r'; head++) {
        words = 10 * words + (request->bytes[head] - '0');
    }
    head += 2;
    resp_number(out, '*', words + 1);
    buffer_bytes(out, request->bytes + head, request->size - head);
    resp_text(out, hf_text(behind_word));
}

void batch_write(struct buffer *out, const struct redis_batch *batch, bool behind)
{
    struct batch_kinds kinds = {.count = 0};
    char layout[LAYOUT_MAX], letters[2 * BATCH_MAX], digits[21];

    for (size_t i = 0; i < batch->count; i++) {
        compare(kind_of(&kinds, batch->items[i]), batch->items[i]);
    }
    size_t keys = count_words(batch, &kinds, true), args = count_words(batch, &kinds, false);
    resp_number(out, '*', (int64_t)(5 + keys + args + behind));
    resp_text(out, hf_text("EVALSHA"));
    resp_text(out, hf_text(batch->items[0]->script->batch->sha1));
    resp_text(out, (struct hf_bytes){digits, decimal_write(digits, (int64_t)keys)});
    write_all(out, batch, &kinds, true);
    resp_text(out, (struct hf_bytes){layout, write_layout(layout, &kinds)});
    resp_text(out, (struct hf_bytes){letters, write_letters(letters, batch, &kinds)});
    write_all(out, batch, &kinds, false);
    if (behind) {
        resp_text(out, hf_text(behind_word));
    }
}
