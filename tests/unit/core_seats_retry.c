/* SPDX-License-Identifier: Apache-2.0
 *
 * Seats commands sent again: the same arguments succeed again and change nothing, others conflict;
 * released bookings are remembered for 300 s. */
#include "core_fixture.h"

#include <stdio.h>

#define RESERVE "SEATS.RESERVE gala floor b1 ann 2 4 SHOW late PRICE 50 TTL 700 LIFETIME"
#define START INT64_C(1000000)

/* b1 as RESERVE makes it, and nothing else but room for more. */
static struct fixture *reserved(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    expect(f, "SEATS.OPEN gala balcony 10", "1 10 10");
    expect(f, RESERVE, "1 8 2 1700000");
    return f;
}

/* Every way of saying something else about b1. */
static void other_arguments_conflict(struct fixture *f)
{
    static const char *const others[] = {
        "SEATS.RESERVE gala balcony b1 ann 2 4 SHOW late PRICE 50 TTL 700 LIFETIME",
        "SEATS.RESERVE gala floor b1 bob 2 4 SHOW late PRICE 50 TTL 700 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 1 4 SHOW late PRICE 50 TTL 700 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 4 SHOW early PRICE 50 TTL 700 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 4 PRICE 50 TTL 700 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 4 SHOW late PRICE 51 TTL 700 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 4 SHOW late TTL 700 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 4 SHOW late PRICE 50 TTL 700001ms LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 4 SHOW late PRICE 50 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 4 SHOW late PRICE 50 TTL 700",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        expect_unchanged(f, others[i], "0 BOOKING_EXISTS");
    }
}

/* ---- reserve --------------------------------------------------------------------------------- */

static void reserve_again_answers_again_with_current_figures(void **state)
{
    struct fixture *f = reserved(state);

    expect_unchanged(f, RESERVE, "1 8 2 1700000");
    run(f, "SEATS.RESERVE gala floor b2 ann 1 4");
    run(f, "SEATS.RESERVE gala floor b3 bob 5 5");
    at(f, START + 1000);
    expect_unchanged(f, RESERVE, "1 2 3 1700000");
}

static void reserve_with_other_arguments_conflicts(void **state)
{
    other_arguments_conflict(reserved(state));
}

static void reserve_again_is_answered_once_confirmed_too(void **state)
{
    struct fixture *f = reserved(state);

    run(f, "SEATS.CONFIRM gala b1");
    expect_unchanged(f, RESERVE, "1 8 2 0");
    other_arguments_conflict(f);
}

static void max_per_user_is_not_compared(void **state)
{
    expect_unchanged(reserved(state),
                     "SEATS.RESERVE gala floor b1 ann 2 1 SHOW late PRICE 50 TTL 700 LIFETIME",
                     "1 8 2 *");
}

static void reserve_again_needs_no_free_seats(void **state)
{
    struct fixture *f = reserved(state);

    run(f, "SEATS.OPEN gala floor 2");
    expect_unchanged(f, RESERVE, "1 0 2 *");
}

static void omitted_and_default_are_the_same(void **state)
{
    struct fixture *f = reserved(state);

    expect(f, "SEATS.RESERVE gala floor b2 bob 1 4", "1 7 1 *");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 bob 1 4 TTL 10m PRICE 0", "1 7 1 *");
    expect(f, "SEATS.RESERVE gala floor b3 bob 1 4 PRICE 0 TTL 600", "1 6 2 *");
    expect_unchanged(f, "SEATS.RESERVE gala floor b3 bob 1 4", "1 6 2 *");
}

static void reserve_compares_the_first_ttl(void **state)
{
    struct fixture *f = reserved(state);

    expect(f, "SEATS.EXTEND gala b1 800", "1 1800000");
    expect_unchanged(f, RESERVE, "1 8 2 1800000");
    other_arguments_conflict(f);
}

static void reserve_again_does_not_move_the_deadline(void **state)
{
    struct fixture *f = reserved(state);

    at(f, START + 699999);
    expect_unchanged(f, RESERVE, "1 8 2 *");
    at(f, START + 700000);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 10 reserved 0 confirmed 0");
}

static void an_expired_booking_is_unknown_at_once(void **state)
{
    struct fixture *f = reserved(state);

    at(f, START + 700000);
    expect(f, "SEATS.RESERVE gala balcony b1 bob 1 1", "1 9 1 *");
}

/* ---- confirm and extend ---------------------------------------------------------------------- */

static void confirm_again_with_the_same_payment_repeats_its_answer(void **state)
{
    struct fixture *f = reserved(state);
    char first[64];

    snprintf(first, sizeof first, "%s", run(f, "SEATS.CONFIRM gala b1 PAYMENT p1"));
    expect_unchanged(f, "SEATS.CONFIRM gala b1 PAYMENT p1", first);
    expect_unchanged(f, "SEATS.CONFIRM gala b1 USER ann PAYMENT p1", first);
    at(f, START + 86400000);
    expect_unchanged(f, "SEATS.CONFIRM gala b1 PAYMENT p1", first);
    snapshot_and_restore(f);
    expect_unchanged(f, "SEATS.CONFIRM gala b1 PAYMENT p1", first);
}

static void confirm_again_without_payment_repeats_its_answer(void **state)
{
    struct fixture *f = reserved(state);
    char first[64];

    snprintf(first, sizeof first, "%s", run(f, "SEATS.CONFIRM gala b1"));
    expect_unchanged(f, "SEATS.CONFIRM gala b1", first);
    expect_unchanged(f, "SEATS.CONFIRM gala b1 PAYMENT p1", "0 INVALID_STATE");
}

static void confirm_with_another_payment_conflicts(void **state)
{
    struct fixture *f = reserved(state);

    run(f, "SEATS.CONFIRM gala b1 PAYMENT p1");
    expect_unchanged(f, "SEATS.CONFIRM gala b1 PAYMENT p2", "0 INVALID_STATE");
    expect_unchanged(f, "SEATS.CONFIRM gala b1", "0 INVALID_STATE");
}

static void extend_again_changes_nothing(void **state)
{
    struct fixture *f = reserved(state);

    expect(f, "SEATS.EXTEND gala b1 800", "1 1800000");
    expect_unchanged(f, "SEATS.EXTEND gala b1 800", "1 1800000");
}

/* ---- release, and the retry window ----------------------------------------------------------- */

static void release_again_answers_again_with_current_figures(void **state)
{
    struct fixture *f = reserved(state);

    expect(f, "SEATS.RELEASE gala b1", "1 SUCCESS 10 0");
    expect_unchanged(f, "SEATS.RELEASE gala b1", "1 SUCCESS 10 0");
    run(f, "SEATS.RESERVE gala floor b2 ann 3 4");
    expect_unchanged(f, "SEATS.RELEASE gala b1", "1 SUCCESS 7 3");
    expect_unchanged(f, "SEATS.RELEASE gala b1 USER ann", "1 SUCCESS 7 3");
}

static void release_again_by_another_user_conflicts(void **state)
{
    struct fixture *f = reserved(state);

    run(f, "SEATS.RELEASE gala b1");
    expect_unchanged(f, "SEATS.RELEASE gala b1 USER bob", "0 NOT_OWNER");
}

static void a_release_is_remembered_for_300_s(void **state)
{
    struct fixture *f = reserved(state);

    at(f, START + 500);
    run(f, "SEATS.RELEASE gala b1");
    at(f, START + 500 + 299999);
    expect_unchanged(f, "SEATS.RELEASE gala b1", "1 SUCCESS 10 0");
    at(f, START + 500 + 300000);
    expect_unchanged(f, "SEATS.RELEASE gala b1", "0 RESERVATION_NOT_FOUND");
}

static void the_retry_window_survives_a_snapshot(void **state)
{
    struct fixture *f = reserved(state);

    run(f, "SEATS.RELEASE gala b1");
    snapshot_and_restore(f);
    at(f, START + 299999);
    expect_unchanged(f, "SEATS.RELEASE gala b1", "1 SUCCESS 10 0");
    at(f, START + 300000);
    expect_unchanged(f, "SEATS.RELEASE gala b1", "0 RESERVATION_NOT_FOUND");
}

static void a_released_id_can_be_reserved_anew(void **state)
{
    struct fixture *f = reserved(state);

    run(f, "SEATS.RELEASE gala b1");
    expect(f, "SEATS.RESERVE gala balcony b1 bob 1 1 TTL 400", "1 9 1 *");
    at(f, START + 300000);
    expect(f, "SEATS.ZONE gala balcony", "capacity 10 available 9 reserved 1 confirmed 0");
    expect(f, "SEATS.RELEASE gala b1 USER bob", "1 SUCCESS 10 0");
}

static void a_booking_made_anew_and_expired_is_unknown_at_once(void **state)
{
    struct fixture *f = reserved(state);

    run(f, "SEATS.RELEASE gala b1");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 4 TTL 1");
    at(f, START + 1000);
    expect_unchanged(f, "SEATS.RELEASE gala b1", "0 RESERVATION_NOT_FOUND");
}

/* Without the audit after each, so that many can be sent. */
static void apply(struct fixture *f, size_t count, const struct hf_bytes *words)
{
    struct command command;

    assert_int_equal(command_from_words(&command, count, words, NULL), HF_OK);
    core_apply(f->core, &command, f->now_ms, &f->reply);
    assert_int_equal(f->reply.code, HF_OK);
}

static void every_release_is_remembered_for_the_whole_window(void **state)
{
    struct fixture *f = *state;
    char id[24];

    run(f, "SEATS.OPEN gala floor 1");
    for (int i = 0; i < 70000; i++) {
        snprintf(id, sizeof id, "booking-number-%05d", i);
        struct hf_bytes reserve[] = {
            hf_text("SEATS.RESERVE"), hf_text("gala"), hf_text("floor"), hf_text(id),
            hf_text("ann"),           hf_text("1"),    hf_text("1")};
        struct hf_bytes release[] = {hf_text("SEATS.RELEASE"), hf_text("gala"), hf_text(id)};
        apply(f, 7, reserve);
        apply(f, 3, release);
    }
    f->now_ms += RETRY_WINDOW_MS - 1;
    expect(f, "SEATS.RELEASE gala booking-number-00000", "1 SUCCESS 1 0");
    expect(f, "SEATS.RELEASE gala booking-number-69999", "1 SUCCESS 1 0");
    f->now_ms++;
    expect(f, "SEATS.RELEASE gala booking-number-00000", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.RELEASE gala booking-number-69999", "0 RESERVATION_NOT_FOUND");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(reserve_again_answers_again_with_current_figures),
        CASE(reserve_with_other_arguments_conflicts),
        CASE(reserve_again_is_answered_once_confirmed_too),
        CASE(max_per_user_is_not_compared),
        CASE(reserve_again_needs_no_free_seats),
        CASE(omitted_and_default_are_the_same),
        CASE(reserve_compares_the_first_ttl),
        CASE(reserve_again_does_not_move_the_deadline),
        CASE(an_expired_booking_is_unknown_at_once),
        CASE(confirm_again_with_the_same_payment_repeats_its_answer),
        CASE(confirm_again_without_payment_repeats_its_answer),
        CASE(confirm_with_another_payment_conflicts),
        CASE(extend_again_changes_nothing),
        CASE(release_again_answers_again_with_current_figures),
        CASE(release_again_by_another_user_conflicts),
        CASE(a_release_is_remembered_for_300_s),
        CASE(the_retry_window_survives_a_snapshot),
        CASE(a_released_id_can_be_reserved_anew),
        CASE(a_booking_made_anew_and_expired_is_unknown_at_once),
        CASE(every_release_is_remembered_for_the_whole_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
