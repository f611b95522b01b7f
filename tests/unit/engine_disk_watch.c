/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine whose disk is nearly full says so before the first write fails: once in the log, and to
 * whoever asks whether it is ready. And what it counts of its disk and its snapshots. */
#include "journal_fixture.h"

#include <errno.h>

#define MIB ((int64_t)1 << 20)

static void set_room(struct kept *k, int64_t free_bytes, int64_t total)
{
    k->faults.space = (struct storage_space){.free = free_bytes, .total = total};
    k->now_ms += 1000; /* it is looked at once a second */
}

/* How many lines the log gets while the engine takes a turn. */
static size_t turn(struct kept *k, char *said, size_t size)
{
    capture_begin();
    engine_turn(k->engine);
    return capture_end(said, size);
}

static void a_nearly_full_disk_is_told_once_and_not_ready(void **state)
{
    struct kept *k = *state;
    char said[1024];

    k->options.min_free_bytes = 64 * MIB;
    k->faults.allocate_most = 1; /* no room in advance, which would count */
    set_room(k, 64 * MIB, 1000 * MIB);
    open_engine(k);
    assert_int_equal(turn(k, said, sizeof said), 0);
    assert_null(engine_unready(k->engine));

    set_room(k, 63 * MIB, 1000 * MIB);
    assert_int_equal(turn(k, said, sizeof said), 1);
    assert_non_null(strstr(said, "warning: 66060288 bytes are left on the file system"));
    assert_non_null(strstr(said, "fewer than 67108864; make room"));
    assert_non_null(strstr(engine_unready(k->engine), "66060288 bytes are left"));
    set_room(k, 10 * MIB, 1000 * MIB);
    assert_int_equal(turn(k, said, sizeof said), 0); /* once */
    assert_non_null(strstr(engine_unready(k->engine), "10485760 bytes are left"));
    set_room(k, 65 * MIB, 1000 * MIB); /* not to and fro at the edge */
    assert_int_equal(turn(k, said, sizeof said), 0);
    assert_non_null(engine_unready(k->engine));

    set_room(k, 72 * MIB, 1000 * MIB);
    assert_int_equal(turn(k, said, sizeof said), 1);
    assert_non_null(strstr(said, "enough again"));
    assert_null(engine_unready(k->engine));
    set_room(k, 63 * MIB, 1000 * MIB);
    assert_int_equal(turn(k, said, sizeof said), 1); /* once for each time */
    expect_code(k, "QUOTA.LIMIT acme 5", HF_OK);     /* it works all the same */
}

static void a_small_disk_needs_a_quarter_free(void **state)
{
    struct kept *k = *state;

    k->options.min_free_bytes = 64 * MIB;
    k->options.log.level = LOG_ERROR;
    set_room(k, 5 * MIB, 20 * MIB);
    open_engine(k);
    assert_null(engine_unready(k->engine));
    set_room(k, 4 * MIB, 20 * MIB);
    assert_non_null(engine_unready(k->engine));
}

static void room_made_in_advance_counts(void **state)
{
    struct kept *k = *state;

    k->options.min_free_bytes = 64 * MIB;
    k->options.log.level = LOG_ERROR;
    k->options.segment_bytes = 64 * 4096;
    set_room(k, 64 * MIB - 4000, 1000 * MIB);
    open_engine(k); /* which has made 4 KiB of room */
    assert_null(engine_unready(k->engine));
    set_room(k, 64 * MIB - 5000, 1000 * MIB);
    assert_non_null(engine_unready(k->engine));
}

static void the_disk_is_looked_at_once_a_second_at_most(void **state)
{
    struct kept *k = *state;

    k->options.min_free_bytes = 64 * MIB;
    open_engine(k);
    engine_turn(k->engine);
    unsigned asked = k->faults.spaces;
    for (int i = 0; i < 10; i++) {
        engine_turn(k->engine);
        engine_unready(k->engine);
    }
    assert_int_equal(k->faults.spaces, asked);
    k->now_ms += 1000;
    engine_unready(k->engine);
    assert_int_equal(k->faults.spaces, asked + 1);
}

static void without_a_bound_or_a_directory_it_is_ready(void **state)
{
    struct kept *k = *state;

    set_room(k, 0, 20 * MIB);
    open_engine(k);
    assert_null(engine_unready(k->engine));
    close_engine(k);
    k->options.min_free_bytes = 64 * MIB;
    k->options.storage = NULL;
    assert_int_equal(embedded_open_with(&k->options, &k->engine, &k->problem), HF_OK);
    assert_null(engine_unready(k->engine));
}

/* ---- figures --------------------------------------------------------------------------------- */

struct wanted {
    const char *name;
    double value;
    bool found;
};

static void find_figure(void *context, const char *name, const char *help, bool grows, double value)
{
    struct wanted *wanted = context;
    (void)help;
    (void)grows;

    if (strcmp(name, wanted->name) == 0) {
        assert_false(wanted->found);
        wanted->found = true;
        wanted->value = value;
    }
}

/* -1: there is none. */
static int64_t figure(struct kept *k, const char *name)
{
    struct wanted wanted = {.name = name};

    engine_figures(k->engine, find_figure, &wanted);
    return wanted.found ? (int64_t)wanted.value : -1;
}

/* Of all files whose names begin so. */
static int64_t bytes_of(struct kept *k, const char *prefix)
{
    struct image image;
    int64_t bytes = 0;

    image_load(&image, k->path);
    for (size_t i = 0; image_nth(&image, prefix, i) != NULL; i++) {
        bytes += (int64_t)image_nth(&image, prefix, i)->size;
    }
    image_free(&image);
    return bytes;
}

static void snapshots_are_counted(void **state)
{
    struct kept *k = *state;

    k->options.log.level = LOG_ERROR;
    k->options.segment_bytes = 1 << 20; /* so large that no snapshot cuts it */
    open_engine(k);
    assert_int_equal(figure(k, "snapshots_total"), 0);
    assert_int_equal(figure(k, "snapshot_failures_total"), 0);
    assert_int_equal(figure(k, "snapshot_age_seconds"), -1);
    assert_int_equal(figure(k, "snapshot_bytes"), -1);
    run_history(k, 0, 9);
    k->faults = (struct faults){.call = CALL_WRITE, .at = 1, .code = -EIO};
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    assert_int_equal(figure(k, "snapshots_total"), 0);
    assert_int_equal(figure(k, "snapshot_failures_total"), 1);
    assert_int_equal(figure(k, "snapshot_age_seconds"), -1);
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    assert_int_equal(figure(k, "snapshots_total"), 1);
    assert_int_equal(figure(k, "snapshot_failures_total"), 1);
    assert_int_equal(figure(k, "snapshot_age_seconds"), 0);
    assert_int_equal(figure(k, "snapshot_bytes"), bytes_of(k, "snapshot-"));
    k->now_ms += 7000;
    assert_int_equal(figure(k, "snapshot_age_seconds"), 7);
    close_engine(k);

    open_engine(k); /* the last run's is known */
    assert_int_equal(figure(k, "snapshots_total"), 0);
    assert_true(figure(k, "snapshot_age_seconds") >= 0);
    assert_true(figure(k, "snapshot_age_seconds") < 600);
    assert_int_equal(figure(k, "snapshot_bytes"), bytes_of(k, "snapshot-"));
}

static void the_journal_is_measured(void **state)
{
    struct kept *k = *state;

    open_engine(k);
    int64_t start = figure(k, "journal_growth_bytes"); /* what a start writes by itself */
    assert_in_range(start, 0, 100);
    for (size_t i = 0; i < HISTORY; i++) {
        run_history(k, i, i + 1);
        assert_int_equal(figure(k, "journal_bytes"), bytes_of(k, "journal-"));
    }
    int64_t growth = figure(k, "journal_growth_bytes");
    assert_true(growth > HISTORY * 40 && growth < bytes_of(k, "journal-"));
    close_engine(k);
    open_engine(k); /* as much as before, to the byte */
    assert_int_equal(figure(k, "journal_growth_bytes"), growth + start);
    assert_int_equal(figure(k, "journal_bytes"), bytes_of(k, "journal-"));
    assert_int_equal(engine_snapshot(k->engine, NULL), HF_OK);
    assert_int_equal(figure(k, "journal_growth_bytes"), 0);
    assert_int_equal(figure(k, "journal_bytes"), bytes_of(k, "journal-"));
    expect_code(k, "QUOTA.LIMIT other 5", HF_OK);
    growth = figure(k, "journal_growth_bytes");
    assert_true(growth > 32 && growth < 100);
    close_engine(k);
    open_engine(k); /* records that the snapshot has do not count, whatever file they are in */
    assert_int_equal(figure(k, "journal_growth_bytes"), growth + start);
    assert_int_equal(figure(k, "journal_bytes"), bytes_of(k, "journal-"));
}

static void a_torn_tail_that_was_cut_is_not_counted(void **state)
{
    struct kept *k = *state;
    struct image image;

    k->options.log.level = LOG_ERROR;
    open_engine(k);
    expect_code(k, "QUOTA.LIMIT other 5", HF_OK);
    close_engine(k);
    image_load(&image, k->path);
    struct file *file = image_nth(&image, "journal-", 0);
    file->data[file->size - 1] = 'x';
    image_store(&image, k->path);
    image_free(&image);
    open_engine(k);
    assert_int_equal(figure(k, "journal_bytes"), bytes_of(k, "journal-"));
}

static void free_room_is_shown_where_it_is_known(void **state)
{
    struct kept *k = *state;

    set_room(k, 12345, 1000 * MIB);
    open_engine(k);
    assert_int_equal(figure(k, "disk_free_bytes"), 12345);
    close_engine(k);
    k->options.storage = NULL;
    assert_int_equal(embedded_open_with(&k->options, &k->engine, &k->problem), HF_OK);
    assert_int_equal(figure(k, "disk_free_bytes"), -1);
    assert_int_equal(figure(k, "snapshots_total"), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kept_setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_nearly_full_disk_is_told_once_and_not_ready),
        TEST(a_small_disk_needs_a_quarter_free),
        TEST(room_made_in_advance_counts),
        TEST(the_disk_is_looked_at_once_a_second_at_most),
        TEST(without_a_bound_or_a_directory_it_is_ready),
        TEST(snapshots_are_counted),
        TEST(the_journal_is_measured),
        TEST(a_torn_tail_that_was_cut_is_not_counted),
        TEST(free_room_is_shown_where_it_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
