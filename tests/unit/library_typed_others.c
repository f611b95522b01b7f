/* SPDX-License-Identifier: Apache-2.0
 *
 * The typed calls for semaphore, lock, waiting room and idempotency: each once with its success and
 * once with a refusal; and who owns what a reply hands over. */
#include "library_fixture.h"

#include <stdlib.h>

/* ---- semaphore ------------------------------------------------------------------------------- */

static void sem_acquire_release_card_stats_answer_and_refuse(void **state)
{
    struct hf_sem_acquire_args ask = {HF_TEXT("gpu"), HF_TEXT("a"), .limit = 1};
    struct hf_sem_release_args leave = {HF_TEXT("gpu"), HF_TEXT("a")};
    struct hf_sem_card_args card = {HF_TEXT("gpu")};
    struct hf_sem_stats_args look = {HF_TEXT("gpu")};
    struct hf_sem_acquire_reply got;
    struct hf_sem_release_reply left;
    struct hf_sem_card_reply used;
    struct hf_sem_stats_reply stats;

    ok(hf_sem_acquire(*state, &ask, &got));
    assert_int_equal(got.in_use, 1);
    int64_t fence = got.fence;
    assert_true(fence > 0);
    ask.id = hf_text("b");
    refused(hf_sem_acquire(*state, &ask, &got), HF_NO_SLOT);
    ask.wait_ms = 10;
    refused(hf_sem_acquire(*state, &ask, &got), HF_TIMEOUT);
    assert_int_equal(got.fence, 0);
    ask.wait_ms = -1;
    refused(hf_sem_acquire(*state, &ask, &got), HF_INVALID_TTL);
    ask.wait_ms = 0;
    ask.limit = 0;
    refused(hf_sem_acquire(*state, &ask, &got), HF_INVALID_QUANTITY);
    ask = (struct hf_sem_acquire_args){HF_TEXT("gpu"), HF_TEXT("a"), .limit = 1, .ttl_ms = 99000};
    refused(hf_sem_acquire(*state, &ask, &got), HF_INVALID_STATE);
    ask.wait_ms = 1000; /* a holder does not wait, whatever it says */
    ask.ttl_ms = 0;
    ok(hf_sem_acquire(*state, &ask, &got));
    assert_int_equal(got.fence, fence);
    ok(hf_sem_card(*state, &card, &used));
    assert_int_equal(used.in_use, 1);
    ok(hf_sem_stats(*state, &look, &stats));
    assert_int_equal(stats.in_use, 1);
    assert_int_equal(stats.max, 1);
    assert_int_equal(stats.waiting, 0);
    ok(hf_sem_release(*state, &leave, &left));
    assert_int_equal(left.released, 1);
    ok(hf_sem_release(*state, &leave, &left));
    assert_int_equal(left.released, 0);
    leave.id = hf_text("{");
    refused(hf_sem_release(*state, &leave, &left), HF_INVALID_ID);
    card.name = look.name = hf_text("");
    refused(hf_sem_card(*state, &card, &used), HF_INVALID_ID);
    refused(hf_sem_stats(*state, &look, &stats), HF_INVALID_ID);
}

static void sem_queue_wake_confirm_ping_answer_and_refuse(void **state)
{
    struct hf_sem_queue_args queue = {HF_TEXT("gpu"), HF_TEXT("a"), 60000, 60000};
    struct hf_sem_wake_args wake = {HF_TEXT("gpu"), 1, 60000, 60000};
    struct hf_sem_confirm_args confirm = {HF_TEXT("gpu"), HF_TEXT("a"), 1, 60000, 60000};
    struct hf_sem_ping_args ping = {HF_TEXT("gpu"), HF_TEXT("a"), 60000, 60000};
    struct hf_sem_queue_reply place;
    struct hf_sem_wake_reply woken;
    struct hf_sem_confirm_reply confirmed;
    struct hf_sem_ping_reply alive;

    ok(hf_sem_queue(*state, &queue, &place));
    assert_int_equal(place.position, 1);
    ok(hf_sem_ping(*state, &ping, &alive));
    assert_int_equal(alive.changed_waiting, 1);
    assert_int_equal(alive.changed_slot, 0);
    ok(hf_sem_confirm(*state, &confirm, &confirmed));
    assert_int_equal(confirmed.changed, 0);
    ok(hf_sem_wake(*state, &wake, &woken));
    assert_int_equal(woken.granted, 1);
    ok(hf_sem_confirm(*state, &confirm, &confirmed));
    assert_int_equal(confirmed.changed, 1);
    assert_int_equal(confirmed.in_use, 1);
    ok(hf_sem_ping(*state, &ping, &alive));
    assert_int_equal(alive.changed_slot, 1);
    ok(hf_sem_queue(*state, &queue, &place));
    assert_int_equal(place.position, 0);
    queue.ttl_ms = 0; /* required here: there is no default */
    refused(hf_sem_queue(*state, &queue, &place), HF_INVALID_TTL);
    wake.limit = 0;
    refused(hf_sem_wake(*state, &wake, &woken), HF_INVALID_QUANTITY);
    confirm.heartbeat_ms = 9;
    refused(hf_sem_confirm(*state, &confirm, &confirmed), HF_INVALID_TTL);
    ping.ttl_ms = HF_TTL_MAX_MS + 1;
    refused(hf_sem_ping(*state, &ping, &alive), HF_INVALID_TTL);
}

/* ---- lock ------------------------------------------------------------------------------------ */

static void lock_try_get_extend_unlock_answer_and_refuse(void **state)
{
    struct hf_lock_try_args ask = {HF_TEXT("seat-1"), .ttl_ms = 60000};
    struct hf_lock_get_args get = {HF_TEXT("seat-1")};
    struct hf_lock_try_reply got;
    struct hf_lock_get_reply held;
    struct hf_lock_extend_reply extended;
    struct hf_lock_unlock_reply unlocked;

    refused(hf_lock_get(*state, &get, &held), HF_NOT_FOUND);
    ok(hf_lock_try(*state, &ask, &got));
    assert_int_equal(strlen(got.lock_id), 36);
    assert_true(got.fence > 0);
    ask.id = hf_text("k2");
    struct hf_lock_try_reply other;
    refused(hf_lock_try(*state, &ask, &other), HF_LOCKED);
    assert_string_equal(other.lock_id, "");
    ok(hf_lock_get(*state, &get, &held));
    assert_string_equal(held.lock_id, got.lock_id);
    assert_int_equal(held.fence, got.fence);
    assert_true(held.ttl_ms > 0 && held.ttl_ms <= 60000);
    struct hf_lock_extend_args extend = {HF_TEXT("seat-1"), hf_text(got.lock_id), .ttl_ms = 90000};
    ok(hf_lock_extend(*state, &extend, &extended));
    assert_int_equal(extended.extended, 1);
    extend.lock_id = hf_text("k2");
    ok(hf_lock_extend(*state, &extend, &extended));
    assert_int_equal(extended.extended, 0);
    extend.ttl_ms = 0;
    refused(hf_lock_extend(*state, &extend, &extended), HF_INVALID_TTL);
    struct hf_lock_unlock_args unlock = {HF_TEXT("seat-1"), hf_text("k2")};
    ok(hf_lock_unlock(*state, &unlock, &unlocked));
    assert_int_equal(unlocked.unlocked, 0);
    unlock.lock_id = hf_text(got.lock_id);
    ok(hf_lock_unlock(*state, &unlock, &unlocked));
    assert_int_equal(unlocked.unlocked, 1);
    unlock.lock_id = hf_text("");
    refused(hf_lock_unlock(*state, &unlock, &unlocked), HF_INVALID_ID);
}

static void an_id_of_128_bytes_fits_a_reply(void **state)
{
    char id[HF_ID_SIZE] = "";
    struct hf_lock_try_args ask = {HF_TEXT("seat-1"), .ttl_ms = 60000, .id = {id, HF_ID_MAX}};
    struct hf_lock_try_reply got;

    memset(id, 'k', HF_ID_MAX);
    ok(hf_lock_try(*state, &ask, &got));
    assert_string_equal(got.lock_id, id);
}

/* ---- waiting room ---------------------------------------------------------------------------- */

static void room_join_position_leave_answer_and_refuse(void **state)
{
    struct hf_room_join_args join = {HF_TEXT("gala"), HF_TEXT("ann"), .max = 1, .ttl_ms = 60000};
    struct hf_room_position_args look = {.event = HF_TEXT("gala"), .user = HF_TEXT("ann")};
    struct hf_room_leave_args leave = {HF_TEXT("gala"), HF_TEXT("ann")};
    struct hf_room_join_reply joined;
    struct hf_room_position_reply position;
    struct hf_room_leave_reply left;

    refused(hf_room_position(*state, &look, &position), HF_NOT_IN_QUEUE);
    ok(hf_room_join(*state, &join, &joined));
    assert_int_equal(joined.position, 1);
    assert_int_equal(joined.total, 1);
    assert_int_equal(strlen(joined.token), 32);
    refused(hf_room_join(*state, &join, &joined), HF_ALREADY_IN_QUEUE);
    join.user = hf_text("bob");
    refused(hf_room_join(*state, &join, &joined), HF_QUEUE_FULL);
    ok(hf_room_position(*state, &look, &position));
    assert_int_equal(position.position, 1);
    assert_int_equal(position.total, 1);
    ok(hf_room_leave(*state, &leave, &left));
    assert_int_equal(left.left, 1);
    ok(hf_room_leave(*state, &leave, &left));
    assert_int_equal(left.left, 0);
    leave.user = hf_text("");
    refused(hf_room_leave(*state, &leave, &left), HF_INVALID_ID);
}

static void room_admit_hands_over_a_list(void **state)
{
    struct hf_room_admit_args admit = {HF_TEXT("gala"), .count = 5};
    struct hf_room_admit_reply reply;
    static const char *const users[] = {"ann", "bob", "cat"};

    ok(hf_room_admit(*state, &admit, &reply)); /* nobody: no list to free */
    assert_null(reply.admitted);
    assert_int_equal(reply.count, 0);
    for (size_t i = 0; i < 3; i++) {
        struct hf_room_join_args join = {HF_TEXT("gala"), hf_text(users[i]), .max = 0};
        ok(hf_room_join(*state, &join, NULL));
    }
    admit.count = 2;
    ok(hf_room_admit(*state, &admit, &reply));
    assert_int_equal(reply.count, 2);
    for (size_t i = 0; i < 2; i++) {
        struct hf_room_check_args check = {.event = HF_TEXT("gala"),
                                           .user = hf_text(users[i]),
                                           .pass = hf_text(reply.admitted[i].pass)};
        struct hf_room_check_reply checked;
        assert_string_equal(reply.admitted[i].user, users[i]);
        assert_int_equal(strlen(reply.admitted[i].pass), 32);
        ok(hf_room_check(*state, &check, &checked));
        assert_int_equal(checked.valid, 1);
        check.user = hf_text("cat");
        ok(hf_room_check(*state, &check, &checked));
        assert_int_equal(checked.valid, 0);
        check.pass = hf_text("");
        refused(hf_room_check(*state, &check, &checked), HF_INVALID_ID);
    }
    hf_free(reply.admitted);
    ok(hf_room_admit(*state, &admit, NULL)); /* nobody wants it: nothing to free */
    admit.count = 0;
    refused(hf_room_admit(*state, &admit, &reply), HF_INVALID_QUANTITY);
    assert_null(reply.admitted);
    assert_int_equal(reply.count, 0);
}

static void a_room_is_opened_ticked_and_left(void **state)
{
    struct hf_room_open_args open = {
        .event = HF_TEXT("gala"), .rate = 9, .inside = 1, .gate = true};
    struct hf_room_join_args join = {HF_TEXT("gala"), HF_TEXT("ann"), .max = 0};
    struct hf_room_tick_args tick = {.event = HF_TEXT("gala")};
    struct hf_room_done_args done = {HF_TEXT("gala"), HF_TEXT("ann")};
    struct hf_room_stats_args ask = {HF_TEXT("gala")};
    struct hf_seats_open_args zone = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = 5};
    struct hf_seats_reserve_args reserve = {.event = HF_TEXT("gala"),
                                            .zone = HF_TEXT("floor"),
                                            .booking = HF_TEXT("b"),
                                            .user = HF_TEXT("ann"),
                                            .quantity = 1,
                                            .max_per_user = 1};
    struct hf_room_open_reply opened;
    struct hf_room_admit_reply admitted;
    struct hf_room_done_reply left;
    struct hf_room_stats_reply stats;

    ok(hf_room_join(*state, &join, NULL));
    ok(hf_room_open(*state, &open, &opened));
    assert_int_equal(opened.waiting, 1);
    assert_int_equal(opened.inside, 0);
    ok(hf_seats_open(*state, &zone, NULL));
    refused(hf_seats_reserve(*state, &reserve, NULL), HF_NOT_ADMITTED);
    ok(hf_room_tick(*state, &tick, &admitted));
    assert_int_equal(admitted.count, 1);
    reserve.pass = hf_text(admitted.admitted[0].pass);
    ok(hf_seats_reserve(*state, &reserve, NULL));
    hf_free(admitted.admitted);
    ok(hf_room_stats(*state, &ask, &stats));
    assert_int_equal(stats.inside, 1);
    assert_int_equal(stats.admitted, 1);
    assert_int_equal(stats.estimated_wait_s, 0);
    ok(hf_room_done(*state, &done, &left));
    assert_int_equal(left.done, 1);
    open.order = hf_text("last");
    refused(hf_room_open(*state, &open, NULL), HF_INVALID_ARGUMENT);
}

/* ---- idempotency ----------------------------------------------------------------------------- */

static void idem_begin_hands_over_the_response(void **state)
{
    struct hf_idem_begin_args begin = {HF_TEXT("k1"), HF_TEXT("f1"), .ttl_ms = 0};
    struct hf_idem_complete_args complete = {HF_TEXT("k1"), HF_TEXT("a\0b"), .ttl_ms = 0};
    struct hf_idem_begin_reply begun;
    struct hf_idem_complete_reply completed;

    ok(hf_idem_begin(*state, &begin, &begun));
    assert_string_equal(begun.state, "NEW");
    assert_null(begun.response);
    refused(hf_idem_begin(*state, &begin, &begun), HF_IN_PROGRESS);
    assert_string_equal(begun.state, "PROCESSING");
    assert_null(begun.response);
    ok(hf_idem_complete(*state, &complete, &completed));
    assert_int_equal(completed.completed, 1);
    ok(hf_idem_begin(*state, &begin, &begun));
    assert_string_equal(begun.state, "COMPLETED");
    assert_int_equal(begun.response_size, 3);
    assert_memory_equal(begun.response, "a\0b", 4); /* with a NUL behind it */
    hf_free(begun.response);
    ok(hf_idem_begin(*state, &begin, NULL)); /* nobody wants it: nothing to free */
    begin.fingerprint = hf_text("f2");
    refused(hf_idem_begin(*state, &begin, &begun), HF_KEY_REUSED);
    assert_null(begun.response);
    begin.ttl_ms = 9;
    refused(hf_idem_begin(*state, &begin, &begun), HF_INVALID_TTL);
    assert_null(begun.response);
}

static void an_empty_response_is_handed_over_too(void **state)
{
    struct hf_idem_begin_args begin = {HF_TEXT("k1"), HF_TEXT("f1"), .ttl_ms = 0};
    struct hf_idem_complete_args complete = {HF_TEXT("k1"), {NULL, 0}, .ttl_ms = 60000};
    struct hf_idem_begin_reply begun;

    ok(hf_idem_begin(*state, &begin, NULL));
    ok(hf_idem_complete(*state, &complete, NULL));
    ok(hf_idem_begin(*state, &begin, &begun));
    assert_string_equal(begun.state, "COMPLETED");
    assert_int_equal(begun.response_size, 0);
    assert_non_null(begun.response);
    assert_string_equal(begun.response, "");
    hf_free(begun.response);
}

static void idem_complete_and_abort_answer_and_refuse(void **state)
{
    struct hf_idem_begin_args begin = {HF_TEXT("k1"), HF_TEXT("f1"), .ttl_ms = 60000};
    struct hf_idem_complete_args complete = {HF_TEXT("k1"), HF_TEXT("done"), .ttl_ms = 0};
    struct hf_idem_abort_args abandon = {HF_TEXT("k1")};
    struct hf_idem_complete_reply completed;
    struct hf_idem_abort_reply aborted;
    char *large = calloc(1, (1 << 20) + 1);

    ok(hf_idem_complete(*state, &complete, &completed));
    assert_int_equal(completed.completed, 0);
    ok(hf_idem_begin(*state, &begin, NULL));
    ok(hf_idem_abort(*state, &abandon, &aborted));
    assert_int_equal(aborted.aborted, 1);
    ok(hf_idem_abort(*state, &abandon, &aborted));
    assert_int_equal(aborted.aborted, 0);
    abandon.key = hf_text(" ");
    refused(hf_idem_abort(*state, &abandon, &aborted), HF_INVALID_ID);
    complete.response = (struct hf_bytes){large, (1 << 20) + 1};
    refused(hf_idem_complete(*state, &complete, &completed), HF_PAYLOAD_TOO_LARGE);
    free(large);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_handle, close_handle)
    const struct CMUnitTest tests[] = {
        CASE(sem_acquire_release_card_stats_answer_and_refuse),
        CASE(sem_queue_wake_confirm_ping_answer_and_refuse),
        CASE(lock_try_get_extend_unlock_answer_and_refuse),
        CASE(an_id_of_128_bytes_fits_a_reply),
        CASE(room_join_position_leave_answer_and_refuse),
        CASE(room_admit_hands_over_a_list),
        CASE(a_room_is_opened_ticked_and_left),
        CASE(idem_begin_hands_over_the_response),
        CASE(an_empty_response_is_handed_over_too),
        CASE(idem_complete_and_abort_answer_and_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
