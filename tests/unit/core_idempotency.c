/* SPDX-License-Identifier: Apache-2.0
 *
 * IDEM: a key is new, being processed, or completed with a response for whoever asks again. */
#include "core_fixture.h"

#include "base/limits.h"

#include <stdlib.h>

static void a_new_key_may_go_ahead(void **state)
{
    struct fixture *f = *state;

    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
    expect(f, "IDEM.BEGIN k2 f1", "1 NEW");
}

static void a_key_being_processed_says_so(void **state)
{
    struct fixture *f = *state;

    run(f, "IDEM.BEGIN k1 f1");
    expect(f, "IDEM.BEGIN k1 f1", "0 PROCESSING");
    assert_int_equal(f->reply.code, HF_IN_PROGRESS);
}

static void a_completed_key_answers_its_response(void **state)
{
    struct fixture *f = *state;

    run(f, "IDEM.BEGIN k1 f1");
    expect(f, "IDEM.COMPLETE k1 created", "1");
    expect(f, "IDEM.BEGIN k1 f1", "2 COMPLETED created");
    expect(f, "IDEM.BEGIN k1 f1", "2 COMPLETED created");
}

static void another_fingerprint_is_key_reused_in_every_state(void **state)
{
    struct fixture *f = *state;

    run(f, "IDEM.BEGIN k1 f1");
    expect(f, "IDEM.BEGIN k1 f2", "0 KEY_REUSED");
    run(f, "IDEM.COMPLETE k1 created");
    expect(f, "IDEM.BEGIN k1 f2", "0 KEY_REUSED");
    expect(f, "IDEM.BEGIN k1 f1", "2 COMPLETED created");
}

static void processing_lasts_60_s_to_the_millisecond(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "IDEM.BEGIN k1 f1");
    at(f, 60999);
    expect(f, "IDEM.BEGIN k1 f1", "0 PROCESSING");
    at(f, 61000);
    expect(f, "IDEM.BEGIN k1 f2", "1 NEW");
}

static void a_begin_that_finds_it_processing_does_not_extend_it(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "IDEM.BEGIN k1 f1");
    at(f, 50000);
    expect(f, "IDEM.BEGIN k1 f1 TTL 900", "0 PROCESSING");
    at(f, 61000);
    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
}

static void completed_lasts_24_h_to_the_millisecond(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "IDEM.BEGIN k1 f1");
    at(f, 2000);
    run(f, "IDEM.COMPLETE k1 created");
    at(f, 2000 + 86400000 - 1);
    expect(f, "IDEM.BEGIN k1 f1", "2 COMPLETED created");
    at(f, 2000 + 86400000);
    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
}

static void begin_and_complete_take_their_own_ttls(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "IDEM.BEGIN k1 f1 TTL 10ms");
    run(f, "IDEM.BEGIN k2 f1 TTL 2h");
    at(f, 1009);
    expect(f, "IDEM.BEGIN k1 f1", "0 PROCESSING");
    at(f, 1010);
    expect(f, "IDEM.COMPLETE k1 late", "0");
    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
    at(f, 7000000);
    expect(f, "IDEM.COMPLETE k2 created TTL 10ms", "1");
    at(f, 7000009);
    expect(f, "IDEM.BEGIN k2 f1", "2 COMPLETED created");
    at(f, 7000010);
    expect(f, "IDEM.BEGIN k2 f1", "1 NEW");
}

static void complete_of_an_unknown_key_is_0(void **state)
{
    struct fixture *f = *state;

    expect(f, "IDEM.COMPLETE k1 created", "0");
    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
}

static void complete_again_with_the_same_response_changes_nothing(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "IDEM.BEGIN k1 f1");
    run(f, "IDEM.COMPLETE k1 created TTL 100");
    at(f, 2000);
    expect(f, "IDEM.COMPLETE k1 created TTL 900", "1");
    expect(f, "IDEM.COMPLETE k1 other", "0");
    expect(f, "IDEM.BEGIN k1 f1", "2 COMPLETED created");
    at(f, 101000);
    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
}

static void abort_lets_the_next_begin_be_new(void **state)
{
    struct fixture *f = *state;

    run(f, "IDEM.BEGIN k1 f1");
    expect(f, "IDEM.ABORT k1", "1");
    expect(f, "IDEM.ABORT k1", "0");
    expect(f, "IDEM.COMPLETE k1 created", "0");
    expect(f, "IDEM.BEGIN k1 f2", "1 NEW");
}

static void abort_works_only_while_it_is_processed(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    expect(f, "IDEM.ABORT k1", "0");
    run(f, "IDEM.BEGIN k1 f1");
    run(f, "IDEM.COMPLETE k1 created");
    expect(f, "IDEM.ABORT k1", "0");
    expect(f, "IDEM.BEGIN k1 f1", "2 COMPLETED created");
    run(f, "IDEM.BEGIN k2 f1 TTL 10ms");
    at(f, 1010);
    expect(f, "IDEM.ABORT k2", "0");
}

/* ---- responses ------------------------------------------------------------------------------- */

/* Completes k1 with any bytes and looks at what BEGIN then answers. */
static void complete(struct fixture *f, const char *data, size_t size, const char *reply)
{
    struct hf_bytes words[] = {HF_TEXT("IDEM.COMPLETE"), HF_TEXT("k1"), {data, size}};

    assert_string_equal(run_words(f, 3, words), reply);
}

static void expect_response(struct fixture *f, const char *data, size_t size)
{
    run(f, "IDEM.BEGIN k1 f1");
    assert_int_equal(f->reply.lead, 2);
    assert_int_equal(f->reply.count, 2);
    assert_int_equal(reply_bytes(&f->reply, 1).size, size);
    assert_memory_equal(reply_bytes(&f->reply, 1).data, data, size);
}

static void a_response_may_be_any_bytes(void **state)
{
    struct fixture *f = *state;
    char bytes[256];

    for (int i = 0; i < 256; i++) {
        bytes[i] = (char)i;
    }
    run(f, "IDEM.BEGIN k1 f1");
    complete(f, bytes, sizeof bytes, "1");
    expect_response(f, bytes, sizeof bytes);
    complete(f, bytes, sizeof bytes, "1");
    complete(f, bytes, sizeof bytes - 1, "0");
    snapshot_and_restore(f);
    expect_response(f, bytes, sizeof bytes);
}

static void a_response_may_be_empty(void **state)
{
    struct fixture *f = *state;

    run(f, "IDEM.BEGIN k1 f1");
    complete(f, "", 0, "1");
    expect_response(f, "", 0);
    complete(f, "", 0, "1");
    complete(f, "x", 1, "0");
    snapshot_and_restore(f);
    expect_response(f, "", 0);
}

static void a_response_may_be_1_mib_and_no_more(void **state)
{
    struct fixture *f = *state;
    char *bytes = malloc(RESPONSE_MAX + 1);

    memset(bytes, 'r', RESPONSE_MAX + 1);
    run(f, "IDEM.BEGIN k1 f1");
    complete(f, bytes, RESPONSE_MAX + 1, "0 PAYLOAD_TOO_LARGE");
    expect(f, "IDEM.BEGIN k1 f1", "0 PROCESSING");
    complete(f, bytes, RESPONSE_MAX, "1");
    expect_response(f, bytes, RESPONSE_MAX);
    snapshot_and_restore(f);
    expect_response(f, bytes, RESPONSE_MAX);
    free(bytes);
}

static void arguments_out_of_bounds_are_refused(void **state)
{
    struct fixture *f = *state;

    expect(f, "IDEM.BEGIN k{1 f1", "0 INVALID_ID");
    expect(f, "IDEM.BEGIN k1 ", "0 INVALID_ID");
    expect(f, "IDEM.BEGIN k1 f1 TTL 9ms", "0 INVALID_TTL");
    expect(f, "IDEM.BEGIN k1 f1 TTL 2592001", "0 INVALID_TTL");
    expect(f, "IDEM.BEGIN k1", "-ERR");
    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
    expect(f, "IDEM.COMPLETE k1 created TTL 0", "0 INVALID_TTL");
    expect(f, "IDEM.COMPLETE k1", "-ERR");
    expect(f, "IDEM.BEGIN k1 f1", "0 PROCESSING");
}

static void keys_and_fingerprints_survive_a_restore(void **state)
{
    struct fixture *f = *state;

    at(f, 1000);
    run(f, "IDEM.BEGIN k1 a-fingerprint-longer-than-sixteen-bytes");
    run(f, "IDEM.BEGIN k2 f2");
    run(f, "IDEM.COMPLETE k2 created");
    snapshot_and_restore(f);
    expect(f, "IDEM.BEGIN k1 a-fingerprint-longer-than-sixteen-byteS", "0 KEY_REUSED");
    expect(f, "IDEM.BEGIN k1 a-fingerprint-longer-than-sixteen-bytes", "0 PROCESSING");
    expect(f, "IDEM.BEGIN k2 f2", "2 COMPLETED created");
    at(f, 61000);
    expect(f, "IDEM.BEGIN k1 f1", "1 NEW");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_new_key_may_go_ahead),
        CASE(a_key_being_processed_says_so),
        CASE(a_completed_key_answers_its_response),
        CASE(another_fingerprint_is_key_reused_in_every_state),
        CASE(processing_lasts_60_s_to_the_millisecond),
        CASE(a_begin_that_finds_it_processing_does_not_extend_it),
        CASE(completed_lasts_24_h_to_the_millisecond),
        CASE(begin_and_complete_take_their_own_ttls),
        CASE(complete_of_an_unknown_key_is_0),
        CASE(complete_again_with_the_same_response_changes_nothing),
        CASE(abort_lets_the_next_begin_be_new),
        CASE(abort_works_only_while_it_is_processed),
        CASE(a_response_may_be_any_bytes),
        CASE(a_response_may_be_empty),
        CASE(a_response_may_be_1_mib_and_no_more),
        CASE(arguments_out_of_bounds_are_refused),
        CASE(keys_and_fingerprints_survive_a_restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
