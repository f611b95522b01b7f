/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot that is damaged in any bit, cut short, of another version or crafted with a right
 * checksum is refused, or at least makes a core that can be lived with: never a crash, never a
 * leak. */
#include "snapshot_fixture.h"

#include "base/crc32c.h"
#include "core/state.h"

#include <stdlib.h>

/* Memory that refuses to grow past a bound, as a snapshot may claim to need any amount. */
#define MEMORY_MAX ((size_t)64 << 20)

static void *bounded(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return memory->used - old_size + new_size > MEMORY_MAX ? NULL : realloc(block, new_size);
}

static void assert_refused(struct fixture *f, const char *data, size_t size, const char *says)
{
    struct problem problem = {.code = HF_OK};

    assert_null(restore(&f->memory, data, size, &problem));
    assert_int_equal(problem.code, HF_IOERR);
    assert_non_null(strstr(problem.message, says));
}

static void every_flipped_bit_is_refused(void **state)
{
    struct fixture *f = *state;

    fill(f);
    struct buffer bytes = snapshot_of(f);
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        assert_refused(f, bytes.data, bytes.size, "checksum");
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
    }
    buffer_free(&bytes);
}

static void every_truncation_is_refused(void **state)
{
    struct fixture *f = *state;

    fill(f);
    struct buffer bytes = snapshot_of(f);
    for (size_t size = 0; size < bytes.size; size++) {
        char *part = malloc(size + 1); /* so that reading past the end is noticed */
        memcpy(part, bytes.data, size);
        char *exact = realloc(part, size ? size : 1);
        assert_refused(f, exact, size, "checksum");
        free(exact);
    }
    buffer_byte(&bytes, 0);
    assert_refused(f, bytes.data, bytes.size, "checksum");
    buffer_free(&bytes);
}

/* The checksum made right again. */
static void seal(struct buffer *bytes)
{
    uint32_t crc = crc32c(0, bytes->data, bytes->size - 4);

    for (size_t i = 0; i < 4; i++) {
        bytes->data[bytes->size - 4 + i] = (char)(crc >> 8 * i);
    }
}

static void a_wrong_version_is_refused_and_says_so(void **state)
{
    struct fixture *f = *state;

    fill(f);
    struct buffer bytes = snapshot_of(f);
    for (int version = 0; version < 128; version++) {
        if (version < 1 || version > bytes.data[8]) {
            struct buffer other = snapshot_of(f);
            other.data[8] = (char)version;
            seal(&other);
            assert_refused(f, other.data, other.size, "version");
            buffer_free(&other);
        }
    }
    buffer_free(&bytes);
}

/* One command, at the time of the state. */
static void apply(struct core *core, struct reply *reply, const char *text)
{
    struct hf_bytes words[16];
    struct command command;
    size_t count = 0;

    for (const char *word = text; word != NULL; word = strchr(word, ' ')) {
        word += *word == ' ';
        words[count++] = (struct hf_bytes){word, strcspn(word, " ")};
    }
    assert_int_equal(command_from_words(&command, count, words, NULL), HF_OK);
    core_apply(core, &command, 1010, reply);
}

/* What was taken for a valid snapshot makes a core that can be lived with. */
static void live_with(struct core *core, struct reply *reply)
{
    static const char *const commands[] = {
        "SEATS.CONFIRM gala b1",
        "SEATS.RESERVE gala floor b4 bob 4 9",
        "SEATS.GET gala b2",
        "QUOTA.COMMIT acme h1",
        "QUOTA.RESERVE acme 7 HOLD h3",
        "SEM.PING gpu a 50 50",
        "SEM.PING gpu c 50 50",
        "SEM.ACQUIRE gpu c 1 WAIT 70",
        "SEM.RELEASE gpu a",
        "SEM.RELEASE gpu b",
        "LOCK.EXTEND seat-1 k1 9",
        "LOCK.TRY seat-2 9",
        "STOCK.LOAD shoe 60",
        "STOCK.SETTLE shoe o1",
        "STOCK.TAKE shoe o3 ann 1",
        "ROOM.LEAVE gala dan",
        "ROOM.JOIN gala eva",
        "ROOM.ADMIT gala 2",
        "IDEM.COMPLETE i1 first",
        "IDEM.COMPLETE i2 other",
        "IDEM.ABORT i1",
    };

    assert_int_equal(core_audit(core, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        apply(core, reply, commands[i]);
        assert_int_equal(core_audit(core, NULL, NULL), 0);
    }
    core_advance(core, 10000000000);
    assert_int_equal(core_audit(core, NULL, NULL), 0);
    core_destroy(core);
}

/* Every byte behind the version, changed to others, under a right checksum. */
static void a_changed_byte_under_a_right_checksum_is_refused_or_does_no_harm(void **state)
{
    struct fixture *f = *state;
    unsigned random = 17;
    size_t taken = 0;

    fill(f);
    struct buffer bytes = snapshot_of(f);
    f->memory.resize = bounded;
    for (size_t i = 9 * 16; i < (bytes.size - 4) * 16; i++) {
        char *byte = &bytes.data[i / 16], before = *byte;
        size_t used = f->memory.used;
        *byte = (char)(i % 16 < 8 ? before ^ 1 << i % 8 : rand_r(&random));
        seal(&bytes);
        struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
        if (core != NULL) {
            live_with(core, &f->reply);
            taken++;
        }
        if (f->memory.used != used) {
            print_error("byte %zu from %d to %d: memory lost\n", i / 16, before, *byte);
            fail();
        }
        *byte = before;
    }
    assert_true(taken > 0); /* ids, tokens and the like may be anything */
    buffer_free(&bytes);
}

/* ---- crafted --------------------------------------------------------------------------------- */

/* "HOLDFAST", version 1, time, fence and ticket 0, `kind` as the part says, of all others none. */
static struct core *craft(struct fixture *f, enum kind kind, const char *part, size_t size)
{
    struct buffer bytes;

    buffer_init(&bytes, &f->memory);
    buffer_bytes(&bytes, "HOLDFAST\1\0\0\0", 12);
    for (size_t i = 0; i < CORE_KIND_COUNT; i++) {
        if (i == (size_t)kind) {
            buffer_bytes(&bytes, part, size);
        } else if (kinds[i].since <= 1) {
            buffer_bytes(&bytes, "\0\0", 2); /* no records, none closed */
        }
    }
    buffer_bytes(&bytes, "....", 4);
    seal(&bytes);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    buffer_free(&bytes);
    return core;
}

#define CRAFTED(kind, part) craft(f, kind, part, sizeof(part) - 1)

static void what_is_crafted_well_is_taken(void **state)
{
    struct fixture *f = *state;

    core_destroy(f->core);
    f->core = CRAFTED(CORE_LOCKS, "\0\0");
    assert_non_null(f->core);
    core_destroy(f->core);
    f->core = CRAFTED(CORE_LOCKS, "\1\0\0\0\x14\1r\1k\0\0");
    assert_non_null(f->core);
    at(f, 1);
    expect(f, "LOCK.GET r", "k 0 9");
}

static void bad_counts_are_refused(void **state)
{
    struct fixture *f = *state;

    f->memory.resize = bounded;
    assert_null(CRAFTED(CORE_EVENTS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1")); /* 2^64 - 1 */
    assert_null(CRAFTED(CORE_EVENTS, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"));
    assert_null(
        CRAFTED(CORE_EVENTS, "\xff\xff\xff\xff\7\0\0\0\0\1e\0")); /* 2^31 - 1, with one there */
    assert_null(CRAFTED(CORE_EVENTS, "\1\0\0\0\0\1e\1\0"));       /* closed, but not marked so */
    assert_null(CRAFTED(CORE_EVENTS, "\1\0\0\0\0\1e\1\7"));       /* closed, but not there */
    assert_null(CRAFTED(CORE_LOCKS, "\1\0\0\4\x14\1r\1k\0\0")); /* marked so, but not in the list */
    assert_null(CRAFTED(CORE_IDEM_KEYS, "\1\2\0\0\x14\1k\1f\xff\xff\xff\xff\xff\xff\1\0"));
}

static void bad_references_are_refused(void **state)
{
    struct fixture *f = *state;

    assert_null(CRAFTED(CORE_ZONES, "\1\0\0\0\0\0\1z\2\0\0\0"));         /* of no event */
    assert_null(CRAFTED(CORE_ZONES, "\1\1\0\0\0\0\1z\2\0\0\0"));         /* of event -1 */
    assert_null(CRAFTED(CORE_QUOTA_HOLDS, "\1\0\0\0\0\x14\1h\2\x14\0")); /* of no tenant */
    assert_null(CRAFTED(CORE_ORDERS, "\1\0\0\0\0\x14\1o\1u\2\x14\0"));   /* of no product */
    assert_null(CRAFTED(CORE_SEM_CLIENTS, "\1\0\0\0\0\x14\1c\x14\x14\0\0\0\0\0\0")); /* of none */
}

static void records_that_contradict_each_other_are_refused(void **state)
{
    struct fixture *f = *state;

    assert_null(CRAFTED(CORE_EVENTS, "\2\0\0\0\0\1e\0\0\0\0\1e\0"));    /* one name twice */
    assert_null(CRAFTED(CORE_EVENTS, "\1\0\0\0\x14\1e\0"));             /* with a deadline */
    assert_null(CRAFTED(CORE_LOCKS, "\1\0\0\0\0\1r\1k\0\0"));           /* without one */
    assert_null(CRAFTED(CORE_TENANTS, "\1\0\0\0\0\1t\x14\0\2\0"));      /* held, by no hold */
    assert_null(CRAFTED(CORE_PRODUCTS, "\1\0\0\0\0\1p\2\0\0\4\2\0\0")); /* 2 sold of 1 */
    assert_null(CRAFTED(CORE_LOCKS, "\1\0\0\0\x14\x11r\1k\0\0"));       /* no such name */
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(every_flipped_bit_is_refused),
        CASE(every_truncation_is_refused),
        CASE(a_wrong_version_is_refused_and_says_so),
        CASE(what_is_crafted_well_is_taken),
        CASE(bad_counts_are_refused),
        CASE(bad_references_are_refused),
        CASE(records_that_contradict_each_other_are_refused),
        CASE(a_changed_byte_under_a_right_checksum_is_refused_or_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
