/* SPDX-License-Identifier: Apache-2.0
 *
 * The passing of time that anybody was shown is on disk before they are; a start is on disk before
 * anything is answered, takes one batch however many waited, and begins beyond every fence. */
#include "journal_fixture.h"

#include "base/limits.h"
#include "engine/own_record.h"
#include "journal/record.h"

#include <stdio.h>
#include <stdlib.h>

#define MINUTE 60000

/* ---- what the journal holds ------------------------------------------------------------------ */

struct records {
    size_t all, ticks, starts;
    int64_t last_ms;
};

static struct records count_records(struct kept *k)
{
    struct records records = {.all = 0};
    struct image image;
    struct journal_record record;

    image_load(&image, k->path);
    for (size_t i = 0; i < image_count(&image, "journal-"); i++) {
        struct file *file = image_nth(&image, "journal-", i);
        struct hf_bytes bytes = {file->data, file->size};
        for (size_t at = SEGMENT_HEADER; record_read(bytes, at, &record); at += record.size) {
            records.all++;
            records.ticks += record.command.data[0] == OWN_TICK;
            records.starts += record.command.data[0] == OWN_START;
            records.last_ms = record.time_ms;
        }
    }
    image_free(&image);
    return records;
}

static void open_with_booking(struct kept *k)
{
    k->options.segment_bytes = 1 << 20;
    open_engine(k);
    expect_code(k, "SEATS.OPEN gala floor 10", HF_OK);
    expect_code(k, "SEATS.RESERVE gala floor b ann 1 4 TTL 1m", HF_OK);
}

/* Opens what a crash has left, ten minutes before. */
static void crash_and_go_back(struct kept *k)
{
    crash_engine(k);
    k->now_ms -= 10 * MINUTE;
    open_engine(k);
}

/* ---- ticks ----------------------------------------------------------------------------------- */

static void a_read_that_shows_what_fell_due_waits_for_the_disk(void **state)
{
    struct kept *k = *state;

    open_with_booking(k);
    k->now_ms += MINUTE;
    struct answer *read = submit(k, "SEATS.GET gala b");
    assert_int_equal(read->times, 0);
    assert_true(flush_engine(k));
    assert_int_equal(read->times, 1);
    assert_int_equal(read->code, HF_RESERVATION_NOT_FOUND);
    crash_and_go_back(k);
    expect_code(k, "SEATS.CONFIRM gala b", HF_RESERVATION_NOT_FOUND);
}

static void a_refusal_that_shows_what_fell_due_waits_for_the_disk(void **state)
{
    struct kept *k = *state;

    open_with_booking(k);
    k->now_ms += MINUTE;
    struct answer *refused = submit(k, "SEATS.CONFIRM gala b");
    assert_int_equal(refused->times, 0);
    flush_engine(k);
    assert_int_equal(refused->code, HF_RESERVATION_NOT_FOUND);
    crash_and_go_back(k);
    expect_code(k, "SEATS.CONFIRM gala b", HF_RESERVATION_NOT_FOUND);
}

static void a_slot_that_a_heartbeat_handed_on_stays_handed_on(void **state)
{
    struct kept *k = *state;

    k->options.segment_bytes = 1 << 20;
    open_engine(k);
    expect_code(k, "SEM.ACQUIRE gate dead 1 HEARTBEAT 1s", HF_OK);
    struct answer *waiter = submit(k, "SEM.ACQUIRE gate alive 1 WAIT 60000");
    flush_engine(k);
    k->now_ms += 1000;
    engine_turn(k->engine);
    assert_int_equal(waiter->times, 0); /* it has the slot, but not on disk */
    flush_engine(k);
    assert_int_equal(waiter->times, 1);
    assert_int_equal(waiter->code, HF_OK);
    crash_and_go_back(k);
    expect_json(k, "SEM.PING gate dead 1s 1h", "{\"changed_waiting\":0,\"changed_slot\":0}");
    expect_json(k, "SEM.ACQUIRE gate alive 1", waiter->json);
}

static void figures_and_events_count_as_shown(void **state)
{
    struct kept *k = *state;
    struct hf_info info;
    struct event event;

    open_with_booking(k);
    expect_code(k, "LOCK.TRY seat 2m ID l", HF_OK);
    engine_collect_events(k->engine, true);
    k->now_ms += MINUTE;
    assert_int_equal(engine_info(k->engine, &info), HF_OK);
    assert_int_equal(info.expired, 1);
    assert_true(flush_engine(k));
    assert_int_equal(count_records(k).ticks, 1);
    assert_true(engine_next_event(k->engine, &event));
    assert_false(flush_engine(k)); /* of what is recorded already */
    k->now_ms += MINUTE;
    engine_turn(k->engine);
    assert_false(flush_engine(k)); /* nobody has seen it yet */
    while (engine_next_event(k->engine, &event)) {}
    assert_true(flush_engine(k));
    assert_int_equal(count_records(k).ticks, 2);
}

static void nothing_is_written_while_nothing_falls_due(void **state)
{
    struct kept *k = *state;
    struct hf_info info;

    open_with_booking(k);
    size_t before = count_records(k).all;
    for (int i = 0; i < 50; i++) {
        k->now_ms += 1000;
        struct answer *read = submit(k, "SEATS.GET gala b");
        assert_int_equal(read->times, 1);
        expect_code(k, "SEATS.CONFIRM gala other", HF_RESERVATION_NOT_FOUND);
        engine_turn(k->engine);
        assert_int_equal(engine_info(k->engine, &info), HF_OK);
        assert_false(flush_engine(k));
    }
    assert_int_equal(count_records(k).all, before);
}

static void one_tick_is_enough_for_all_that_look(void **state)
{
    struct kept *k = *state;

    open_with_booking(k);
    k->now_ms += MINUTE;
    for (int i = 0; i < 20; i++) {
        submit(k, "SEATS.ZONE gala floor");
    }
    flush_engine(k);
    expect_code(k, "SEATS.ZONE gala floor", HF_OK);
    assert_int_equal(count_records(k).ticks, 1);
}

static void a_command_that_is_recorded_needs_no_tick(void **state)
{
    struct kept *k = *state;

    open_with_booking(k);
    k->now_ms += MINUTE;
    expect_code(k, "SEATS.RESERVE gala floor c bob 10 10",
                HF_OK); /* with the seat that came back */
    assert_int_equal(count_records(k).ticks, 0);
    crash_and_go_back(k);
    expect_code(k, "SEATS.GET gala c", HF_OK);
}

/* Commands that come together have one time. What is asked for in between is not one of them. */
static void a_command_is_recorded_at_the_time_it_was_carried_out(void **state)
{
    struct kept *k = *state;
    struct hf_info info;

    open_with_booking(k);
    k->now_ms += MINUTE - 1;
    engine_together(k->engine, true);
    submit(k, "SEATS.ZONE gala floor");
    k->now_ms += 1;
    assert_int_equal(engine_info(k->engine, &info), HF_OK);
    struct answer *taken = submit(k, "SEATS.RESERVE gala floor c bob 10 10");
    engine_together(k->engine, false);
    flush_engine(k);
    assert_int_equal(taken->code, HF_OK);
    crash_engine(k);
    open_engine(k);
    expect_code(k, "SEATS.GET gala c", HF_OK);
}

static void an_orderly_end_records_when_it_was(void **state)
{
    struct kept *k = *state;

    open_with_booking(k);
    k->now_ms += 30000;
    close_engine(k);
    assert_int_equal(count_records(k).last_ms, k->now_ms);
    k->now_ms -= 10 * MINUTE;
    open_engine(k);
    k->now_ms += 10 * MINUTE + 29999;
    expect_code(k, "SEATS.GET gala b", HF_OK);
    k->now_ms += 1;
    expect_code(k, "SEATS.GET gala b", HF_RESERVATION_NOT_FOUND);
}

/* ---- starts ---------------------------------------------------------------------------------- */

#define WAITERS 9000

static void a_start_lets_all_who_waited_go_in_one_batch(void **state)
{
    struct kept *k = *state;
    char words[100];

    k->options.segment_bytes = 1 << 22;
    open_engine(k);
    expect_code(k, "SEM.ACQUIRE gate holder 1", HF_OK);
    for (int i = 0; i < WAITERS; i++) {
        snprintf(words, sizeof words, "SEM.ACQUIRE gate w-%d 1 WAIT 100000", i);
        submit(k, words);
    }
    flush_engine(k);
    crash_engine(k);
    k->faults = (struct faults){.at = 0};
    open_engine(k);
    assert_int_equal(k->faults.count[CALL_SYNC], 2); /* of what is there, and of the start */
    expect_json(k, "SEM.STATS gate", "{\"in_use\":1,\"max\":1,\"waiting\":0}");
}

static void a_start_is_synced_whatever_the_policy_is(void **state)
{
    struct kept *k = *state;

    k->options.policy = JOURNAL_NO;
    open_engine(k);
    assert_int_equal(k->faults.count[CALL_SYNC], 2); /* the header, and the start */
    expect_code(k, "SEATS.OPEN gala floor 10", HF_OK);
    assert_int_equal(k->faults.count[CALL_SYNC], 2);
    assert_int_equal(count_records(k).starts, 1);
}

static void a_start_that_cannot_be_synced_is_refused(void **state)
{
    struct kept *k = *state;

    k->faults = (struct faults){.call = CALL_SYNC, .at = 2, .code = -5};
    assert_int_equal(try_open(k), HF_IOERR);
    assert_non_null(strstr(k->problem.message, "cannot be synced"));
}

static int64_t fence_of(struct kept *k, const char *words)
{
    const char *json = ask(k, words)->json, *fence = strstr(json, "\"fence\":");

    assert_non_null(fence);
    return strtoll(fence + 8, NULL, 10);
}

/* Neither time nor memory of what was granted helps: the clock stands, and the journal is an old
 * one. */
static void fences_grow_after_an_old_copy_is_put_back(void **state)
{
    struct kept *k = *state;
    struct image old;

    k->options.steady_fences = false;
    k->options.segment_bytes = 1 << 20;
    open_engine(k);
    int64_t first = fence_of(k, "LOCK.TRY a 1m ID x");
    image_load(&old, k->path);
    int64_t second = fence_of(k, "LOCK.TRY b 1m ID x");
    assert_int_equal(second, first + 1);
    close_engine(k);
    image_store(&old, k->path);
    image_free(&old);
    open_engine(k);
    assert_true(fence_of(k, "LOCK.TRY c 1m ID x") > second);
    assert_int_equal(fence_of(k, "LOCK.TRY a 1m ID x"), first); /* who holds keeps what it has */
}

static void fences_begin_beyond_the_time_and_stay_within_bounds(void **state)
{
    struct kept *k = *state;

    k->options.steady_fences = false;
    k->now_ms = 1700000000000;
    open_engine(k);
    assert_true(fence_of(k, "LOCK.TRY a 1m ID x") > 1700000000000 * 1000);
    close_engine(k);
    k->now_ms = CLOCK_MAX_MS - MINUTE;
    for (int i = 0; i < 20; i++) {
        char words[40];
        snprintf(words, sizeof words, "LOCK.TRY b%d 1m ID x", i);
        open_engine(k);
        assert_true(fence_of(k, words) < HF_INTEGER_MAX - (HF_INTEGER_MAX >> 4));
        close_engine(k);
    }
}

static void a_time_that_cannot_be_is_refused(void **state)
{
    static const int64_t wrong[] = {-1, CLOCK_MAX_MS + 1};
    struct kept *k = *state;

    for (size_t i = 0; i < 2; i++) {
        k->now_ms = wrong[i];
        assert_int_equal(try_open(k), HF_INVALID_STATE);
        assert_non_null(strstr(k->problem.message, "the clock cannot be right"));
    }
    k->now_ms = 1000;
    open_engine(k);
}

/* ---- the records themselves ------------------------------------------------------------------ */

static bool decodes(const char *bytes, size_t size)
{
    struct own_record record;
    return own_record_decode(&record, (struct hf_bytes){bytes, size});
}

static void records_of_the_engine_come_back_as_they_were(void **state)
{
    struct own_record start = {
        .kind = OWN_START, .run = {{1, 2, 3, 255}, -CLOCK_MAX_MS}, .fence = HF_INTEGER_MAX};
    struct own_record back;
    struct memory memory;
    struct buffer bytes;

    (void)state;
    memory_init(&memory);
    buffer_init(&bytes, &memory);
    own_record_encode(&start, &bytes);
    assert_true(bytes.size <= OWN_RECORD_MAX);
    assert_true(own_record_decode(&back, (struct hf_bytes){bytes.data, bytes.size}));
    assert_int_equal(back.kind, OWN_START);
    assert_memory_equal(back.run.boot, start.run.boot, sizeof start.run.boot);
    assert_int_equal(back.run.offset_ms, start.run.offset_ms);
    assert_int_equal(back.fence, start.fence);
    for (size_t size = 0; size < bytes.size; size++) {
        assert_false(decodes(bytes.data, size));
    }
    buffer_byte(&bytes, 0);
    assert_false(decodes(bytes.data, bytes.size));
    buffer_free(&bytes);
    assert_true(decodes("T", 1));
    assert_false(decodes("TT", 2));
    assert_false(decodes("\1", 1)); /* a command */
}

static enum journal_taken no_state(void *context, uint64_t sequence, struct reader *state,
                                   char why[256])
{
    (void)context;
    (void)sequence;
    (void)state;
    (void)why;
    return JOURNAL_REFUSED;
}

static enum journal_taken any_record(void *context, uint64_t sequence, int64_t time_ms,
                                     struct hf_bytes command, char why[256])
{
    (void)context;
    (void)sequence;
    (void)time_ms;
    (void)command;
    (void)why;
    return JOURNAL_TAKEN;
}

/* A journal with one record more. */
static void add_record(struct kept *k, int64_t time_ms, struct hf_bytes bytes)
{
    static const struct log log = {.level = LOG_ERROR};
    struct journal_options options = {.segment_bytes = 1 << 20, .log = &log};
    struct journal_sink sink = {.state = no_state, .record = any_record};
    char why[256] = "";
    struct journal *journal =
        journal_open(faulty_storage(k->path, &k->faults, false), &options, &sink, why);

    assert_non_null(journal);
    assert_true(journal_reserve(journal, bytes.size));
    journal_append(journal, time_ms, bytes);
    assert_true(journal_take(journal) && journal_flush(journal));
    journal_close(journal);
}

static void a_record_that_no_engine_wrote_is_refused(void **state)
{
    static const struct {
        int64_t time_ms;
        struct hf_bytes bytes;
        const char *says;
    } wrong[] = {{1000000, {"S", 1}, "malformed record"},
                 {1000000, {"T?", 2}, "malformed record"},
                 {-1, {"T", 1}, "time of the record"},
                 {CLOCK_MAX_MS + 1, {"T", 1}, "time of the record"},
                 {INT64_MAX, {"T", 1}, "time of the record"}};
    struct kept *k = *state;

    k->options.segment_bytes = 1 << 20;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        image_store(&(struct image){.count = 0}, k->path);
        open_engine(k);
        close_engine(k);
        add_record(k, wrong[i].time_ms, wrong[i].bytes);
        assert_int_equal(try_open(k), HF_IOERR);
        assert_non_null(strstr(k->problem.message, wrong[i].says));
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, kept_setup, kept_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_read_that_shows_what_fell_due_waits_for_the_disk),
        CASE(a_refusal_that_shows_what_fell_due_waits_for_the_disk),
        CASE(a_slot_that_a_heartbeat_handed_on_stays_handed_on),
        CASE(figures_and_events_count_as_shown),
        CASE(nothing_is_written_while_nothing_falls_due),
        CASE(one_tick_is_enough_for_all_that_look),
        CASE(a_command_that_is_recorded_needs_no_tick),
        CASE(a_command_is_recorded_at_the_time_it_was_carried_out),
        CASE(an_orderly_end_records_when_it_was),
        CASE(a_start_lets_all_who_waited_go_in_one_batch),
        CASE(a_start_is_synced_whatever_the_policy_is),
        CASE(a_start_that_cannot_be_synced_is_refused),
        CASE(fences_grow_after_an_old_copy_is_put_back),
        CASE(fences_begin_beyond_the_time_and_stay_within_bounds),
        CASE(a_time_that_cannot_be_is_refused),
        CASE(records_of_the_engine_come_back_as_they_were),
        CASE(a_record_that_no_engine_wrote_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
