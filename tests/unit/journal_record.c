/* SPDX-License-Identifier: Apache-2.0
 *
 * The format of segments and records to the byte, and the conditions for a valid record (record.h)
 * one by one. */
#include "journal_fixture.h"

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "journal/directory.h"
#include "journal/record.h"

#include <stdio.h>
#include <stdlib.h>

static struct memory memory;
static struct buffer bytes;

static int setup(void **state)
{
    (void)state;
    memory_init(&memory);
    buffer_init(&bytes, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_free(&bytes);
    return memory.used != 0;
}

static struct hf_bytes view(void)
{
    return (struct hf_bytes){bytes.data, bytes.size};
}

/* Appends a record; returns its checksum. */
static uint32_t add(uint64_t sequence, uint32_t chain, uint32_t undurable, const char *command)
{
    struct journal_record record = {.sequence = sequence,
                                    .chain = chain,
                                    .undurable = undurable,
                                    .time_ms = 1700000000000,
                                    .command = hf_text(command)};
    record_write(&record, &bytes);
    return record.checksum;
}

static void zeros(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buffer_byte(&bytes, 0);
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void a_segment_header_is_these_32_bytes(void **state)
{
    static const uint8_t expected[28] = {'H',  'F',  'J',  'O',  'U',  'R',  'N',  '\n', 1,    0,
                                         0,    0,    0x04, 0x03, 0x02, 0x01, 0x88, 0x77, 0x66, 0x55,
                                         0x44, 0x33, 0x22, 0x11, 0,    0,    0,    0};
    struct segment_header header = {.chain = 0x01020304, .first = 0x1122334455667788};
    (void)state;

    segment_header_write(&header, &bytes);
    assert_int_equal(bytes.size, 32);
    assert_memory_equal(bytes.data, expected, 28);
    assert_int_equal(get_u32(bytes.data + 28), crc32c(0, expected, 28));
}

static void a_record_is_these_bytes(void **state)
{
    static const uint8_t expected[35] = {
        27, 0, 0, 0, 0, 0, 0,    0,    0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 4,  3,
        2,  1, 7, 0, 0, 0, 0x00, 0x68, 0xe5, 0xcf, 0x8b, 0x01, 0,    0,    'a',  'b',  'c'};
    uint8_t got[35];
    (void)state;

    uint32_t checksum = add(0x1122334455667788, 0x01020304, 7, "abc");
    assert_int_equal(bytes.size, 35);
    memcpy(got, bytes.data, 35);
    assert_int_equal(get_u32(got + 4), checksum);
    assert_int_equal(checksum, crc32c(crc32c(0, expected, 4), expected + 8, 27));
    memset(got + 4, 0, 4);
    assert_memory_equal(got, expected, 35);
}

static void a_segment_is_named_by_its_first_record_in_20_digits(void **state)
{
    char name[SEGMENT_NAME_SIZE];
    (void)state;

    segment_name(1, name);
    assert_string_equal(name, "journal-00000000000000000001");
    segment_name(UINT64_MAX, name);
    assert_string_equal(name, "journal-18446744073709551615");
}

static void what_is_written_is_read_back(void **state)
{
    struct segment_header header = {.chain = 5, .first = 9}, got;
    struct journal_record record;
    (void)state;

    segment_header_write(&header, &bytes);
    uint32_t checksum = add(9, 5, 3, "hello");
    assert_int_equal(segment_header_read(view(), &got), SEGMENT_GOOD);
    assert_true(got.chain == 5 && got.first == 9);
    assert_true(record_read(view(), 32, &record));
    assert_true(record.sequence == 9 && record.chain == 5 && record.undurable == 3);
    assert_true(record.time_ms == 1700000000000 && record.checksum == checksum);
    assert_int_equal(record.command.size, 5);
    assert_memory_equal(record.command.data, "hello", 5);
    assert_int_equal(record.size, bytes.size - 32);
}

/* ---- segment headers ------------------------------------------------------------------------- */

static void a_header_that_ends_early_or_is_zero_is_short(void **state)
{
    struct segment_header header = {.chain = 5, .first = 9}, got;
    (void)state;

    segment_header_write(&header, &bytes);
    for (size_t size = 0; size < 32; size++) {
        struct hf_bytes cut = {bytes.data, size};
        assert_int_equal(segment_header_read(cut, &got), SEGMENT_SHORT);
    }
    memset(bytes.data, 0, 32);
    assert_int_equal(segment_header_read(view(), &got), SEGMENT_SHORT);
}

static void every_flipped_bit_of_a_header_is_damage(void **state)
{
    struct segment_header header = {.chain = 5, .first = 9}, got;
    (void)state;

    segment_header_write(&header, &bytes);
    for (size_t bit = 0; bit < 32 * 8; bit++) {
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        assert_int_equal(segment_header_read(view(), &got), SEGMENT_DAMAGED);
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
    }
}

static void a_header_of_another_version_is_newer(void **state)
{
    struct segment_header header = {.chain = 5, .first = 9}, got;
    (void)state;

    segment_header_write(&header, &bytes);
    put_u32((uint8_t *)bytes.data + 8, JOURNAL_VERSION + 1);
    put_u32((uint8_t *)bytes.data + 28, crc32c(0, bytes.data, 28));
    assert_int_equal(segment_header_read(view(), &got), SEGMENT_NEWER);
}

/* ---- conditions for a valid record ----------------------------------------------------------- */

/* Gives the record at 0 a right checksum, whatever else is wrong with it. */
static void mend_checksum(uint32_t length)
{
    uint8_t *at = (uint8_t *)bytes.data;
    put_u32(at, length);
    put_u32(at + 4, crc32c(crc32c(0, at, 4), at + 8, length));
}

static void condition_1_a_length_below_25_is_not_valid(void **state)
{
    struct journal_record record;
    (void)state;

    add(1, 0, 0, "abcdef");
    for (uint32_t length = 0; length < 25; length++) {
        mend_checksum(length);
        assert_false(record_read(view(), 0, &record));
    }
    mend_checksum(25);
    assert_true(record_read(view(), 0, &record));
    assert_int_equal(record.command.size, 1);
}

static void condition_1_a_length_above_the_maximum_is_not_valid(void **state)
{
    struct journal_record record;
    (void)state;

    assert_true(buffer_reserve(&bytes, RECORD_MAX + 64));
    zeros(RECORD_MAX + 64);
    mend_checksum(RECORD_MAX);
    assert_true(record_read(view(), 0, &record));
    mend_checksum(RECORD_MAX + 1);
    assert_false(record_read(view(), 0, &record));
}

static void condition_1_a_record_must_end_within_the_file(void **state)
{
    struct journal_record record;
    (void)state;

    add(1, 0, 0, "abcdef");
    for (size_t size = 0; size < bytes.size; size++) {
        /* A copy of exactly that size: reading past it would be seen. */
        char *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, bytes.data, size);
        assert_false(record_read((struct hf_bytes){cut, size}, 0, &record));
        free(cut);
    }
    assert_true(record_read(view(), 0, &record));
    assert_false(record_read(view(), bytes.size, &record));
    assert_false(record_read(view(), bytes.size + 1, &record));
    assert_false(record_read(view(), SIZE_MAX, &record));
}

static void condition_2_every_flipped_bit_breaks_the_checksum(void **state)
{
    struct journal_record record;
    (void)state;

    add(1, 0, 0, "abcdef");
    zeros(64);
    for (size_t bit = 0; bit < (bytes.size - 64) * 8; bit++) {
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        assert_false(record_read(view(), 0, &record));
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
    }
    assert_true(record_read(view(), 0, &record));
}

/* ---- conditions 3 to 7, by opening a journal ------------------------------------------------- */

static uint64_t seen;

static enum journal_taken see_state(void *context, uint64_t sequence, struct reader *state,
                                    char why[256])
{
    (void)context, (void)state, (void)why;
    seen = sequence;
    return JOURNAL_TAKEN;
}

static enum journal_taken see_record(void *context, uint64_t sequence, int64_t time_ms,
                                     struct hf_bytes command, char why[256])
{
    (void)context, (void)time_ms, (void)command, (void)why;
    assert_true(sequence == seen + 1);
    seen = sequence;
    return JOURNAL_TAKEN;
}

/* Opens a directory whose first segment is `bytes`: how many records it has, or -1 if refused. */
static int records(const char *next_segment)
{
    static const struct log log = {.level = LOG_ERROR};
    struct journal_options options = {.segment_bytes = 4096, .read_only = true, .log = &log};
    struct journal_sink sink = {.state = see_state, .record = see_record};
    struct storage *storage;
    char path[64], why[256] = "";

    make_directory(path);
    write_file(path, "journal-00000000000000000001", bytes.data, bytes.size);
    if (next_segment != NULL) {
        struct segment_header header = {.first = 3};
        struct buffer next;
        buffer_init(&next, &memory);
        segment_header_write(&header, &next);
        write_file(path, next_segment, next.data, next.size);
        buffer_free(&next);
    }
    assert_int_equal(storage_posix(path, false, &storage), 0);
    seen = 0;
    struct journal *journal = journal_open(storage, &options, &sink, why);
    bool fine = journal != NULL;
    assert_true(fine || strstr(why, "journal-0000000000000000000") != NULL);
    assert_true(fine || strstr(why, "at byte ") != NULL);
    journal_close(journal);
    remove_directory(path);
    return fine ? (int)seen : -1;
}

static void begin(void)
{
    struct segment_header header = {.first = 1};
    segment_header_write(&header, &bytes);
}

static void condition_3_a_sequence_number_must_follow(void **state)
{
    (void)state;
    begin();
    uint32_t chain = add(1, 0, 0, "one");
    chain = add(2, chain, 1, "two");
    size_t end = bytes.size;
    add(3, chain, 2, "three");
    assert_int_equal(records(NULL), 3);
    bytes.size = end;
    add(4, chain, 2, "not three");
    assert_int_equal(records(NULL), 2);
    bytes.size = end;
    add(2, chain, 2, "two again");
    assert_int_equal(records(NULL), 2);
}

static void condition_4_the_chain_must_be_the_checksum_before(void **state)
{
    (void)state;
    begin();
    uint32_t chain = add(1, 0, 0, "one");
    add(2, chain ^ 1, 1, "of another history");
    assert_int_equal(records(NULL), 1);
}

static void condition_5_zeros_or_the_end_of_the_file_end_the_journal(void **state)
{
    (void)state;
    begin();
    assert_int_equal(records(NULL), 0);
    add(1, 0, 0, "one");
    assert_int_equal(records(NULL), 1);
    zeros(500);
    assert_int_equal(records(NULL), 1);
}

static void condition_6_a_later_record_that_knew_of_it_makes_it_damage(void **state)
{
    (void)state;
    begin();
    uint32_t chain = add(1, 0, 0, "one");
    size_t second = bytes.size;
    chain = add(2, chain, 0, "two");
    add(3, chain, 0, "three"); /* all before it were on disk */
    bytes.data[second + 33] ^= 1;
    assert_int_equal(records(NULL), -1);
}

static void condition_6_another_segment_that_follows_makes_it_damage(void **state)
{
    (void)state;
    begin();
    uint32_t chain = add(1, 0, 0, "one");
    size_t second = bytes.size;
    add(2, chain, 1, "two");
    bytes.data[second + 33] ^= 1;
    assert_int_equal(records(NULL), 1);
    assert_int_equal(records("journal-00000000000000000003"), -1);
}

static void condition_7_otherwise_it_is_a_torn_tail(void **state)
{
    (void)state;
    begin();
    uint32_t chain = add(1, 0, 0, "one");
    size_t second = bytes.size;
    chain = add(2, chain, 0, "two");
    add(3, chain, 1, "three"); /* only one before it, 2, was not known to be on disk */
    assert_int_equal(records(NULL), 3);
    bytes.data[second + 33] ^= 1;
    assert_int_equal(records(NULL), 1);
}

static void the_number_at_offset_20_says_exactly_what_was_on_disk(void **state)
{
    (void)state;
    add(10, 0, 3, "ten"); /* 7, 8 and 9 were not known to be; 6 was */
    assert_false(record_was_durable(view(), 0, 10));
    assert_false(record_was_durable(view(), 0, 9));
    assert_false(record_was_durable(view(), 0, 7));
    assert_true(record_was_durable(view(), 0, 6));
    assert_false(record_was_durable(view(), 1, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_segment_header_is_these_32_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_record_is_these_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_segment_is_named_by_its_first_record_in_20_digits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_written_is_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_header_that_ends_early_or_is_zero_is_short, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(every_flipped_bit_of_a_header_is_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(a_header_of_another_version_is_newer, setup, teardown),
        cmocka_unit_test_setup_teardown(condition_1_a_length_below_25_is_not_valid, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(condition_1_a_length_above_the_maximum_is_not_valid, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(condition_1_a_record_must_end_within_the_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(condition_2_every_flipped_bit_breaks_the_checksum, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(condition_3_a_sequence_number_must_follow, setup, teardown),
        cmocka_unit_test_setup_teardown(condition_4_the_chain_must_be_the_checksum_before, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(condition_5_zeros_or_the_end_of_the_file_end_the_journal,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(condition_6_a_later_record_that_knew_of_it_makes_it_damage,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(condition_6_another_segment_that_follows_makes_it_damage,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(condition_7_otherwise_it_is_a_torn_tail, setup, teardown),
        cmocka_unit_test_setup_teardown(the_number_at_offset_20_says_exactly_what_was_on_disk,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
