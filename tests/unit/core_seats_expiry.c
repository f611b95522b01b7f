/* SPDX-License-Identifier: Apache-2.0
 *
 * The deadline of a booking: exact to the millisecond, moved by SEATS.EXTEND, followed by a minute
 * in which the user's count still remembers, and untroubled by a clock that steps back. */
#include "core_fixture.h"

#define START INT64_C(1000000)

/* ann holds 4 of 10 seats for 100 s from START. */
static struct fixture *one_booking(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    expect(f, "SEATS.OPEN gala floor 10", "1 10 10");
    expect(f, "SEATS.RESERVE gala floor b1 ann 4 4 TTL 100", "1 6 4 *");
    return f;
}

/* ---- the deadline ---------------------------------------------------------------------------- */

static void a_booking_lives_to_the_last_millisecond(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 99999);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 6 reserved 4 confirmed 0");
    expect(f, "SEATS.CONFIRM gala b1", "1 CONFIRMED *");
}

static void from_the_deadline_on_no_command_sees_it(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 100000);
    expect_unchanged(f, "SEATS.GET gala b1", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.CONFIRM gala b1", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.RELEASE gala b1", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.EXTEND gala b1 10", "0 RESERVATION_NOT_FOUND");
}

static void expired_seats_come_back_at_the_millisecond(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 99999);
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 bob 7 7", "0 INSUFFICIENT_STOCK");
    at(f, START + 100000);
    expect(f, "SEATS.RESERVE gala floor b2 bob 10 10", "1 0 10 *");
}

static void the_default_deadline_is_600_s(void **state)
{
    struct fixture *f = *state;

    at(f, START);
    run(f, "SEATS.OPEN gala floor 1");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 1");
    at(f, START + 599999);
    expect(f, "SEATS.ZONE gala floor", "capacity 1 available 0 reserved 1 confirmed 0");
    at(f, START + 600000);
    expect(f, "SEATS.ZONE gala floor", "capacity 1 available 1 reserved 0 confirmed 0");
}

static void it_makes_no_difference_how_often_anybody_looks(void **state)
{
    struct fixture *f = one_booking(state);

    run(f, "SEATS.RESERVE gala floor b2 bob 2 2 TTL 50");
    run(f, "SEATS.EXTEND gala b2 70");
    snapshot_and_restore(f);
    at(f, START + 500000);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 10 reserved 0 confirmed 0");
    uint64_t late = core_digest(f->core);

    fixture_teardown(state);
    fixture_setup(state);
    f = one_booking(state);
    run(f, "SEATS.RESERVE gala floor b2 bob 2 2 TTL 50");
    run(f, "SEATS.EXTEND gala b2 70");
    for (int64_t t = 0; t <= 500000; t += 5000) {
        at(f, START + t);
        run(f, "SEATS.ZONE gala floor");
    }
    assert_true(core_digest(f->core) == late);
}

/* ---- the user's count after the deadline ----------------------------------------------------- */

static void users_count_is_kept_60_s_after_expiry(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 100000);
    expect(f, "SEATS.USER gala ann", "4 0");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 1 4", "0 USER_LIMIT_EXCEEDED");
    at(f, START + 100000 + 59999);
    expect(f, "SEATS.USER gala ann", "4 0");
    expect_unchanged(f, "SEATS.RESERVE gala floor b2 ann 1 4", "0 USER_LIMIT_EXCEEDED");
    at(f, START + 100000 + 60000);
    expect(f, "SEATS.USER gala ann", "0 0");
    expect(f, "SEATS.RESERVE gala floor b2 ann 4 4", "1 6 4 *");
}

static void the_60_s_run_from_the_deadline_not_from_who_notices(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 100000 + 60000);
    expect(f, "SEATS.USER gala ann", "0 0");
}

static void release_gives_the_users_count_back_at_once(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 99999);
    expect(f, "SEATS.RELEASE gala b1", "1 SUCCESS 10 0");
    expect(f, "SEATS.RESERVE gala floor b2 ann 4 4", "1 6 4 *");
}

static void a_new_booking_under_an_expired_id_counts_beside_the_old_one(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 100000);
    expect(f, "SEATS.RESERVE gala floor b1 ann 3 9", "1 7 7 *");
    expect(f, "SEATS.RELEASE gala b1", "1 SUCCESS 10 4");
    at(f, START + 160000);
    expect(f, "SEATS.USER gala ann", "0 0");
}

static void each_expired_booking_has_its_own_60_s(void **state)
{
    struct fixture *f = one_booking(state);

    run(f, "SEATS.RESERVE gala floor b2 ann 2 9 TTL 110");
    at(f, START + 160000);
    expect(f, "SEATS.USER gala ann", "2 0");
    at(f, START + 169999);
    expect(f, "SEATS.USER gala ann", "2 0");
    at(f, START + 170000);
    expect(f, "SEATS.USER gala ann", "0 0");
}

static void the_grace_survives_a_snapshot(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 100000);
    expect(f, "SEATS.USER gala ann", "4 0");
    snapshot_and_restore(f);
    at(f, START + 159999);
    expect(f, "SEATS.USER gala ann", "4 0");
    at(f, START + 160000);
    expect(f, "SEATS.USER gala ann", "0 0");
}

/* ---- extend ---------------------------------------------------------------------------------- */

static void extend_sets_the_deadline_to_now_plus_ttl(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 40000);
    expect(f, "SEATS.EXTEND gala b1 100", "1 1140000");
    at(f, START + 139999);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 6 reserved 4 confirmed 0");
    at(f, START + 140000);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 10 reserved 0 confirmed 0");
}

static void extend_never_shortens(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 40000);
    expect_unchanged(f, "SEATS.EXTEND gala b1 10ms", "1 1100000");
    expect_unchanged(f, "SEATS.EXTEND gala b1 60", "1 1100000");
    expect(f, "SEATS.EXTEND gala b1 60001ms", "1 1100001");
}

static void extend_goes_to_12_first_ttls_and_no_further(void **state)
{
    struct fixture *f = one_booking(state);

    expect(f, "SEATS.EXTEND gala b1 1199999ms", "1 2199999");
    expect(f, "SEATS.EXTEND gala b1 1200", "1 2200000");
    expect(f, "SEATS.EXTEND gala b1 720h", "1 2200000");
    at(f, START + 1199999);
    expect_unchanged(f, "SEATS.EXTEND gala b1 100", "1 2200000");
    at(f, START + 1200000);
    expect_unchanged(f, "SEATS.EXTEND gala b1 100", "0 RESERVATION_NOT_FOUND");
}

static void extend_reports_unknown_then_state(void **state)
{
    struct fixture *f = one_booking(state);

    expect_unchanged(f, "SEATS.EXTEND gala b9 10", "0 RESERVATION_NOT_FOUND");
    expect_unchanged(f, "SEATS.EXTEND other b1 10", "0 RESERVATION_NOT_FOUND");
    run(f, "SEATS.CONFIRM gala b1");
    expect_unchanged(f, "SEATS.EXTEND gala b1 10", "0 INVALID_STATE");
}

/* ---- a clock that steps back ----------------------------------------------------------------- */

static void a_clock_stepping_back_revives_nothing(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START + 100000);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 10 reserved 0 confirmed 0");
    at(f, START);
    expect_unchanged(f, "SEATS.GET gala b1", "0 RESERVATION_NOT_FOUND");
    expect(f, "SEATS.USER gala ann", "4 0");
    expect(f, "SEATS.RESERVE gala floor b2 bob 10 10", "1 0 10 *");
}

static void a_clock_stepping_back_stands_still(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, 1);
    expect(f, "SEATS.RESERVE gala floor b2 bob 1 1 TTL 50", "1 5 1 *");
    expect(f, "SEATS.GET gala b2",
           "booking_id b2 user_id bob zone_id floor event_id gala show_id  quantity 1 "
           "unit_price 0 status reserved created_at 1000000 expires_at 1050000");
    expect(f, "SEATS.EXTEND gala b1 101", "1 1101000");
}

static void a_clock_stepping_back_only_delays_expiry(void **state)
{
    struct fixture *f = one_booking(state);

    at(f, START - 50000);
    run(f, "SEATS.ZONE gala floor");
    at(f, START + 99999);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 6 reserved 4 confirmed 0");
    at(f, START + 100000);
    expect(f, "SEATS.ZONE gala floor", "capacity 10 available 10 reserved 0 confirmed 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(a_booking_lives_to_the_last_millisecond),
        CASE(from_the_deadline_on_no_command_sees_it),
        CASE(expired_seats_come_back_at_the_millisecond),
        CASE(the_default_deadline_is_600_s),
        CASE(it_makes_no_difference_how_often_anybody_looks),
        CASE(users_count_is_kept_60_s_after_expiry),
        CASE(the_60_s_run_from_the_deadline_not_from_who_notices),
        CASE(release_gives_the_users_count_back_at_once),
        CASE(a_new_booking_under_an_expired_id_counts_beside_the_old_one),
        CASE(each_expired_booking_has_its_own_60_s),
        CASE(the_grace_survives_a_snapshot),
        CASE(extend_sets_the_deadline_to_now_plus_ttl),
        CASE(extend_never_shortens),
        CASE(extend_goes_to_12_first_ttls_and_no_further),
        CASE(extend_reports_unknown_then_state),
        CASE(a_clock_stepping_back_revives_nothing),
        CASE(a_clock_stepping_back_stands_still),
        CASE(a_clock_stepping_back_only_delays_expiry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
