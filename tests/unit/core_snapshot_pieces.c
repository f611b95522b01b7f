/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot is written and read a piece at a time, and writing touches no record: so the process
 * that writes one needs next to no memory of its own. */
#include "snapshot_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PIECE_MOST ((size_t)70 << 10)
#define ORDERS 6000

struct pieces {
    struct buffer whole;
    size_t count, largest;
    size_t most; /* the one after which no more are wanted; 0: all are */
};

static bool take_piece(void *context, struct hf_bytes piece)
{
    struct pieces *pieces = context;

    buffer_bytes(&pieces->whole, piece.data, piece.size);
    pieces->largest = piece.size > pieces->largest ? piece.size : pieces->largest;
    return ++pieces->count != pieces->most;
}

static void fill_more(struct fixture *f)
{
    char words[128];

    fill(f);
    run(f, "STOCK.ADJUST shoe 9999 more");
    for (int i = 0; i < ORDERS; i++) {
        snprintf(words, sizeof words, "STOCK.TAKE shoe order-number-%08d user-number-%08d 1", i, i);
        assert_int_not_equal(run(f, words)[0], '-');
    }
}

static void a_large_state_is_handed_over_in_small_pieces(void **state)
{
    struct fixture *f = *state;
    struct pieces pieces = {.count = 0};

    fill_more(f);
    size_t used = f->memory.used;
    buffer_init(&pieces.whole, &f->memory);
    assert_true(core_snapshot_pieces(f->core, take_piece, &pieces));
    assert_true(pieces.count > 3 && pieces.largest < PIECE_MOST);
    struct buffer once = snapshot_of(f);
    assert_int_equal(once.size, pieces.whole.size);
    assert_memory_equal(once.data, pieces.whole.data, once.size);
    pieces.most = pieces.count + 2;
    assert_false(core_snapshot_pieces(f->core, take_piece, &pieces));
    assert_int_equal(pieces.count, pieces.most);
    buffer_free(&once);
    buffer_free(&pieces.whole);
    assert_int_equal(f->memory.used, used);
}

/* ---- memory that can be made read-only ------------------------------------------------------- */

#define BLOCKS_MAX 4096
#define ROUND_UP(size) (((size) + 4095) / 4096 * 4096)

/* Every block has pages of its own. */
struct mapped {
    struct memory memory;
    void *blocks[BLOCKS_MAX];
    size_t sizes[BLOCKS_MAX];
};

static void *map_block(struct memory *memory, size_t size)
{
    struct mapped *mapped = (struct mapped *)memory;
    size_t i = 0;

    while (mapped->blocks[i] != NULL) {
        assert_true(++i < BLOCKS_MAX);
    }
    mapped->sizes[i] = ROUND_UP(size);
    mapped->blocks[i] =
        mmap(NULL, mapped->sizes[i], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(mapped->blocks[i] != MAP_FAILED);
    return mapped->blocks[i];
}

static void *move_block(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    struct mapped *mapped = (struct mapped *)memory;
    void *moved = new_size > 0 ? map_block(memory, new_size) : NULL;

    if (moved != NULL && block != NULL) {
        memcpy(moved, block, old_size < new_size ? old_size : new_size);
    }
    for (size_t i = 0; block != NULL && i < BLOCKS_MAX; i++) {
        if (mapped->blocks[i] == block) {
            munmap(block, mapped->sizes[i]);
            mapped->blocks[i] = NULL;
        }
    }
    return moved;
}

static void protect(const struct mapped *mapped, const void *except, int rights)
{
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        if (mapped->blocks[i] != NULL && mapped->blocks[i] != except) {
            assert_int_equal(mprotect(mapped->blocks[i], mapped->sizes[i], rights), 0);
        }
    }
}

/* The process that writes a snapshot shares all pages with the one that goes on: it would have to
 * copy each that it writes to, if only with what was there. */
static void writing_touches_nothing_but_the_core_itself(void **state)
{
    static struct mapped mapped = {.memory = {.resize = move_block, .zeroed = map_block}};
    struct fixture *f = *state;
    struct pieces pieces = {.count = 0};
    struct problem problem;

    fill(f);
    buffer_init(&pieces.whole, &f->memory);
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&mapped.memory, bytes.data, bytes.size, &problem);
    assert_non_null(core);
    protect(&mapped, core, PROT_READ);
    assert_true(core_snapshot_pieces(core, take_piece, &pieces)); /* or it ends by a signal */
    protect(&mapped, core, PROT_READ | PROT_WRITE);
    assert_int_equal(pieces.whole.size, bytes.size);
    core_destroy(core);
    assert_int_equal(mapped.memory.used, 0);
    buffer_free(&bytes);
    buffer_free(&pieces.whole);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A reader that has no more than it needs at any time. */
struct scant {
    struct reader reader;
    const char *rest;
    uint8_t *window;
};

static bool bring_just_enough(struct reader *reader, size_t size)
{
    struct scant *scant = (struct scant *)reader;
    size_t left = (size_t)(reader->end - reader->at), more = size - left;
    uint8_t *window = malloc(size); /* so that a view that is gone is noticed */

    assert_non_null(window);
    memcpy(window, reader->at, left);
    memcpy(window + left, scant->rest, more);
    free(scant->window);
    scant->window = window;
    scant->rest += more;
    reader->at = window;
    reader->end = window + size;
    reader->beyond -= more;
    return true;
}

static void a_snapshot_can_be_read_a_part_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct problem problem;

    fill(f);
    struct buffer bytes = snapshot_of(f);
    struct scant scant = {.rest = bytes.data, .window = malloc(1)};
    scant.reader = (struct reader){
        .at = scant.window, .end = scant.window, .beyond = bytes.size, .more = bring_just_enough};
    struct core *core = core_restore_from(&f->memory, seed, &scant.reader, &problem);
    assert_non_null(core);
    assert_true(core_digest(core) == core_digest(f->core));
    core_destroy(core);
    free(scant.window);
    buffer_free(&bytes);
}

static bool bring_nothing(struct reader *reader, size_t size)
{
    (void)reader, (void)size;
    return false;
}

static void a_part_that_cannot_be_read_ends_it(void **state)
{
    struct fixture *f = *state;
    struct problem problem;

    fill(f);
    struct buffer bytes = snapshot_of(f);
    for (size_t known = 0; known < bytes.size; known++) {
        struct reader reader = {.at = (const uint8_t *)bytes.data,
                                .end = (const uint8_t *)bytes.data + known,
                                .beyond = bytes.size - known,
                                .more = bring_nothing};
        struct core *core = core_restore_from(&f->memory, seed, &reader, &problem);
        assert_true(core == NULL || known >= bytes.size - 4); /* the checksum is the caller's */
        core_destroy(core);
    }
    buffer_free(&bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_large_state_is_handed_over_in_small_pieces),
        TEST(writing_touches_nothing_but_the_core_itself),
        TEST(a_snapshot_can_be_read_a_part_at_a_time),
        TEST(a_part_that_cannot_be_read_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
