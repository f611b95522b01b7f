/* SPDX-License-Identifier: Apache-2.0
 *
 * The typed calls for seats, quota and stock: each once with its success and once with a refusal.
 */
#include "library_fixture.h"

/* ---- seats ----------------------------------------------------------------------------------- */

static void open_floor(hf_handle *hf)
{
    struct hf_seats_open_args open = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = 10};
    ok(hf_seats_open(hf, &open, NULL));
}

static void reserve(hf_handle *hf, const char *booking, int64_t quantity)
{
    struct hf_seats_reserve_args ask = {HF_TEXT("gala"), HF_TEXT("floor"),     hf_text(booking),
                                        HF_TEXT("ann"),  .quantity = quantity, .max_per_user = 9};
    ok(hf_seats_reserve(hf, &ask, NULL));
}

static void seats_open_answer_and_refuse(void **state)
{
    struct hf_seats_open_args open = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = 10};
    struct hf_seats_open_reply reply;

    ok(hf_seats_open(*state, &open, &reply));
    assert_int_equal(reply.available, 10);
    assert_int_equal(reply.capacity, 10);
    reserve(*state, "b1", 4);
    open.capacity = 3;
    refused(hf_seats_open(*state, &open, &reply), HF_CAPACITY_IN_USE);
    open.capacity = -1;
    refused(hf_seats_open(*state, &open, &reply), HF_INVALID_QUANTITY);
    open.capacity = HF_INTEGER_MAX + 1;
    refused(hf_seats_open(*state, &open, &reply), HF_INVALID_QUANTITY);
}

static void seats_reserve_answer_and_refuse(void **state)
{
    struct hf_seats_reserve_args ask = {HF_TEXT("gala"),
                                        HF_TEXT("floor"),
                                        HF_TEXT("b1"),
                                        HF_TEXT("ann"),
                                        .quantity = 2,
                                        .max_per_user = 4,
                                        .show = HF_TEXT("matinee"),
                                        .unit_price = 250,
                                        .ttl_ms = 30000,
                                        .lifetime = true};
    struct hf_seats_reserve_reply reply;

    refused(hf_seats_reserve(*state, &ask, &reply), HF_ZONE_NOT_FOUND);
    open_floor(*state);
    ok(hf_seats_reserve(*state, &ask, &reply));
    assert_int_equal(reply.remaining, 8);
    assert_int_equal(reply.user_reserved, 2);
    int64_t deadline = reply.expires_at;
    assert_true(deadline > 30000);
    ok(hf_seats_reserve(*state, &ask, &reply)); /* a retry */
    assert_int_equal(reply.remaining, 8);
    assert_int_equal(reply.expires_at, deadline);
    ask.lifetime = false;
    refused(hf_seats_reserve(*state, &ask, &reply), HF_BOOKING_EXISTS);
    ask.booking = hf_text("b2");
    ask.quantity = 3;
    refused(hf_seats_reserve(*state, &ask, &reply), HF_USER_LIMIT_EXCEEDED);
    ask.quantity = 9;
    refused(hf_seats_reserve(*state, &ask, &reply), HF_INSUFFICIENT_STOCK);
    ask.quantity = 0;
    refused(hf_seats_reserve(*state, &ask, &reply), HF_INVALID_QUANTITY);
    ask.quantity = 1;
    ask.ttl_ms = 9;
    refused(hf_seats_reserve(*state, &ask, &reply), HF_INVALID_TTL);
    ask.ttl_ms = 0;
    ask.user = hf_text(NULL);
    refused(hf_seats_reserve(*state, &ask, &reply), HF_INVALID_ID);
}

static void seats_confirm_answer_and_refuse(void **state)
{
    struct hf_seats_confirm_args confirm = {HF_TEXT("gala"), HF_TEXT("b1"), .user = HF_TEXT("ann"),
                                            .payment = HF_TEXT("p1")};
    struct hf_seats_confirm_reply reply, again;

    open_floor(*state);
    refused(hf_seats_confirm(*state, &confirm, &reply), HF_RESERVATION_NOT_FOUND);
    reserve(*state, "b1", 2);
    confirm.user = hf_text("bob");
    refused(hf_seats_confirm(*state, &confirm, &reply), HF_NOT_OWNER);
    confirm.user = hf_text("ann");
    ok(hf_seats_confirm(*state, &confirm, &reply));
    assert_string_equal(reply.status, "CONFIRMED");
    assert_int_equal(strlen(reply.confirmation_code), 10);
    assert_int_equal(strspn(reply.confirmation_code, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 10);
    ok(hf_seats_confirm(*state, &confirm, &again));
    assert_string_equal(reply.confirmation_code, again.confirmation_code);
    confirm.payment = hf_text("p2");
    refused(hf_seats_confirm(*state, &confirm, &reply), HF_INVALID_STATE);
}

static void seats_release_answer_and_refuse(void **state)
{
    struct hf_seats_release_args release = {HF_TEXT("gala"), HF_TEXT("b1"), .user = HF_TEXT("ann")};
    struct hf_seats_release_reply reply;

    open_floor(*state);
    refused(hf_seats_release(*state, &release, &reply), HF_RESERVATION_NOT_FOUND);
    reserve(*state, "b1", 2);
    ok(hf_seats_release(*state, &release, &reply));
    assert_string_equal(reply.status, "SUCCESS");
    assert_int_equal(reply.available, 10);
    assert_int_equal(reply.user_reserved, 0);
}

static void seats_refund_answers_and_refuses(void **state)
{
    struct hf_seats_confirm_args confirm = {.event = HF_TEXT("gala"), .booking = HF_TEXT("b1")};
    struct hf_seats_refund_args refund = {HF_TEXT("gala"), HF_TEXT("b1"), .user = HF_TEXT("ann")};
    struct hf_seats_refund_reply reply;

    open_floor(*state);
    refused(hf_seats_refund(*state, &refund, &reply), HF_RESERVATION_NOT_FOUND);
    reserve(*state, "b1", 2);
    refused(hf_seats_refund(*state, &refund, &reply), HF_INVALID_STATE);
    ok(hf_seats_confirm(*state, &confirm, NULL));
    refund.user = hf_text("bob");
    refused(hf_seats_refund(*state, &refund, &reply), HF_NOT_OWNER);
    refund.user = hf_text("ann");
    for (int i = 0; i < 2; i++) { /* and again */
        ok(hf_seats_refund(*state, &refund, &reply));
        assert_string_equal(reply.status, "REFUNDED");
        assert_int_equal(reply.available, 10);
    }
}

static void a_zone_has_its_own_limit(void **state)
{
    struct hf_seats_open_args open = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = 10,
                                      .lifetime = true};
    struct hf_seats_zone_args ask = {HF_TEXT("gala"), HF_TEXT("floor")};
    struct hf_seats_zone_reply zone;

    refused(hf_seats_open(*state, &open, NULL), HF_INVALID_ARGUMENT);
    open.max = 3;
    ok(hf_seats_open(*state, &open, NULL));
    ok(hf_seats_zone(*state, &ask, &zone));
    assert_int_equal(zone.max, 3);
    assert_int_equal(zone.lifetime, 1);
    open.max = 0;
    open.lifetime = false;
    ok(hf_seats_open(*state, &open, NULL));
    ok(hf_seats_zone(*state, &ask, &zone));
    assert_int_equal(zone.max, 0);
    assert_int_equal(zone.lifetime, 0);
}

static void seats_extend_and_get_answer_and_refuse(void **state)
{
    struct hf_seats_extend_args extend = {HF_TEXT("gala"), HF_TEXT("b1"), .ttl_ms = 900000};
    struct hf_seats_get_args get = {HF_TEXT("gala"), HF_TEXT("b1")};
    struct hf_seats_confirm_args confirm = {HF_TEXT("gala"), HF_TEXT("b1"),
                                            .payment = HF_TEXT("p1")};
    struct hf_seats_extend_reply extended;
    struct hf_seats_get_reply got;

    open_floor(*state);
    refused(hf_seats_extend(*state, &extend, &extended), HF_RESERVATION_NOT_FOUND);
    refused(hf_seats_get(*state, &get, &got), HF_RESERVATION_NOT_FOUND);
    reserve(*state, "b1", 2);
    ok(hf_seats_extend(*state, &extend, &extended));
    ok(hf_seats_get(*state, &get, &got));
    assert_string_equal(got.booking_id, "b1");
    assert_string_equal(got.user_id, "ann");
    assert_string_equal(got.zone_id, "floor");
    assert_string_equal(got.event_id, "gala");
    assert_string_equal(got.show_id, "");
    assert_int_equal(got.quantity, 2);
    assert_int_equal(got.unit_price, 0);
    assert_string_equal(got.status, "reserved");
    assert_int_equal(got.expires_at, extended.expires_at_ms);
    assert_true(got.created_at > 0 && got.created_at < got.expires_at);
    assert_int_equal(got.confirmed_at, 0);
    assert_string_equal(got.payment_id, "");
    assert_string_equal(got.confirmation_code, "");
    ok(hf_seats_confirm(*state, &confirm, NULL));
    refused(hf_seats_extend(*state, &extend, &extended), HF_INVALID_STATE);
    ok(hf_seats_get(*state, &get, &got));
    assert_string_equal(got.status, "confirmed");
    assert_int_equal(got.expires_at, 0);
    assert_true(got.confirmed_at >= got.created_at);
    assert_string_equal(got.payment_id, "p1");
    assert_int_equal(strlen(got.confirmation_code), 10);
}

static void seats_zone_and_user_answer_and_refuse(void **state)
{
    struct hf_seats_zone_args look = {HF_TEXT("gala"), HF_TEXT("floor")};
    struct hf_seats_user_args who = {HF_TEXT("gala"), HF_TEXT("ann")};
    struct hf_seats_confirm_args confirm = {HF_TEXT("gala"), HF_TEXT("b1"), .user = {NULL, 0}};
    struct hf_seats_zone_reply zone;
    struct hf_seats_user_reply user;

    refused(hf_seats_zone(*state, &look, &zone), HF_ZONE_NOT_FOUND);
    open_floor(*state);
    reserve(*state, "b1", 2);
    reserve(*state, "b2", 3);
    ok(hf_seats_confirm(*state, &confirm, NULL));
    ok(hf_seats_zone(*state, &look, &zone));
    assert_int_equal(zone.capacity, 10);
    assert_int_equal(zone.available, 5);
    assert_int_equal(zone.reserved, 3);
    assert_int_equal(zone.confirmed, 2);
    ok(hf_seats_user(*state, &who, &user));
    assert_int_equal(user.held, 3);
    assert_int_equal(user.confirmed, 2);
    who.user = hf_text("a b");
    refused(hf_seats_user(*state, &who, &user), HF_INVALID_ID);
}

/* ---- quota ----------------------------------------------------------------------------------- */

static void quota_limit_reserve_refund_sync_get_answer_and_refuse(void **state)
{
    struct hf_quota_limit_args limit = {HF_TEXT("acme"), .limit = 100};
    struct hf_quota_reserve_args ask = {HF_TEXT("acme"), .amount = 60};
    struct hf_quota_refund_args refund = {HF_TEXT("acme"), .amount = 20};
    struct hf_quota_sync_args sync = {HF_TEXT("acme"), .actual = 70};
    struct hf_quota_get_args get = {HF_TEXT("acme")};
    struct hf_quota_reply reply;
    struct hf_quota_refund_reply refunded;
    struct hf_quota_get_reply got;

    ok(hf_quota_limit(*state, &limit, &reply));
    assert_int_equal(reply.limit, 100);
    ok(hf_quota_reserve(*state, &ask, &reply));
    assert_int_equal(reply.used, 60);
    refused(hf_quota_reserve(*state, &ask, &reply), HF_QUOTA_EXCEEDED);
    assert_int_equal(reply.used, 60); /* filled on this refusal, too */
    assert_int_equal(reply.limit, 100);
    ok(hf_quota_refund(*state, &refund, &refunded));
    assert_int_equal(refunded.used, 40);
    ok(hf_quota_sync(*state, &sync, &reply));
    assert_int_equal(reply.used, 70);
    ok(hf_quota_get(*state, &get, &got));
    assert_int_equal(got.used, 70);
    assert_int_equal(got.limit, 100);
    assert_int_equal(got.held, 0);
    limit.limit = -1;
    refused(hf_quota_limit(*state, &limit, &reply), HF_INVALID_AMOUNT);
    refund.amount = 0;
    refused(hf_quota_refund(*state, &refund, &refunded), HF_INVALID_AMOUNT);
    sync.actual = -1;
    refused(hf_quota_sync(*state, &sync, &reply), HF_INVALID_AMOUNT);
    get.tenant = hf_text("");
    refused(hf_quota_get(*state, &get, &got), HF_INVALID_ID);
    ask.ttl_ms = 1000;
    refused(hf_quota_reserve(*state, &ask, &reply), HF_INVALID_ARGUMENT); /* TTL without hold */
}

static void quota_commit_and_cancel_answer_and_refuse(void **state)
{
    struct hf_quota_limit_args limit = {HF_TEXT("acme"), .limit = 100};
    struct hf_quota_reserve_args ask = {HF_TEXT("acme"), .amount = 60, .hold = HF_TEXT("h1"),
                                        .ttl_ms = 60000};
    struct hf_quota_commit_args commit = {.tenant = HF_TEXT("acme"), .hold = HF_TEXT("h1")};
    struct hf_quota_cancel_args cancel = {HF_TEXT("acme"), HF_TEXT("h1")};
    struct hf_quota_reply reply;

    refused(hf_quota_commit(*state, &commit, &reply), HF_HOLD_NOT_FOUND);
    refused(hf_quota_cancel(*state, &cancel, &reply), HF_HOLD_NOT_FOUND);
    ok(hf_quota_limit(*state, &limit, NULL));
    ok(hf_quota_reserve(*state, &ask, &reply));
    ok(hf_quota_cancel(*state, &cancel, &reply));
    assert_int_equal(reply.used, 0);
    ok(hf_quota_reserve(*state, &ask, &reply));
    ok(hf_quota_commit(*state, &commit, &reply));
    assert_int_equal(reply.used, 60);
    refused(hf_quota_cancel(*state, &cancel, &reply), HF_INVALID_STATE);
}

static void quota_commit_takes_what_was_really_used(void **state)
{
    struct hf_quota_limit_args limit = {HF_TEXT("acme"), .limit = 100};
    struct hf_quota_reserve_args ask = {HF_TEXT("acme"), .amount = 60, .hold = HF_TEXT("h1")};
    struct hf_quota_commit_args commit = {
        .tenant = HF_TEXT("acme"), .hold = HF_TEXT("h1"), .amount = 101};
    struct hf_quota_reply reply;

    ok(hf_quota_limit(*state, &limit, NULL));
    ok(hf_quota_reserve(*state, &ask, NULL));
    refused(hf_quota_commit(*state, &commit, &reply), HF_QUOTA_EXCEEDED);
    commit.amount = HF_ZERO;
    ok(hf_quota_commit(*state, &commit, &reply));
    assert_int_equal(reply.used, 0);
    commit.amount = 0;
    refused(hf_quota_commit(*state, &commit, &reply), HF_INVALID_STATE);
    ask.hold = hf_text("h2");
    ok(hf_quota_reserve(*state, &ask, NULL));
    commit = (struct hf_quota_commit_args){HF_TEXT("acme"), HF_TEXT("h2"), 99};
    ok(hf_quota_commit(*state, &commit, &reply));
    assert_int_equal(reply.used, 99);
}

static void quota_extend_answers_and_refuses(void **state)
{
    struct hf_quota_limit_args limit = {HF_TEXT("acme"), .limit = 100};
    struct hf_quota_reserve_args ask = {HF_TEXT("acme"), .amount = 60, .hold = HF_TEXT("h1"),
                                        .ttl_ms = 60000};
    struct hf_quota_extend_args extend = {HF_TEXT("acme"), HF_TEXT("h1"), .ttl_ms = 120000};
    struct hf_quota_commit_args commit = {.tenant = HF_TEXT("acme"), .hold = HF_TEXT("h1")};
    struct hf_quota_extend_reply first, second;

    refused(hf_quota_extend(*state, &extend, &first), HF_HOLD_NOT_FOUND);
    ok(hf_quota_limit(*state, &limit, NULL));
    ok(hf_quota_reserve(*state, &ask, NULL));
    ok(hf_quota_extend(*state, &extend, &first));
    extend.ttl_ms = 1000;
    ok(hf_quota_extend(*state, &extend, &second));
    assert_int_equal(first.expires_at_ms, second.expires_at_ms);
    extend.ttl_ms = 1;
    refused(hf_quota_extend(*state, &extend, NULL), HF_INVALID_TTL);
    extend.ttl_ms = 1000;
    ok(hf_quota_commit(*state, &commit, NULL));
    refused(hf_quota_extend(*state, &extend, NULL), HF_INVALID_STATE);
}

/* ---- stock ----------------------------------------------------------------------------------- */

static void stock_load_get_adjust_answer_and_refuse(void **state)
{
    struct hf_stock_load_args load = {HF_TEXT("shoe"), .quantity = 10, .shards = 4, .watermark = 2,
                                      .policy = HF_TEXT("steal")};
    struct hf_stock_get_args get = {HF_TEXT("shoe")};
    struct hf_stock_adjust_args adjust = {HF_TEXT("shoe"), .delta = -3,
                                          .reason = HF_TEXT("lost 3")};
    struct hf_stock_load_reply loaded;
    struct hf_stock_get_reply got;
    struct hf_stock_adjust_reply adjusted;

    refused(hf_stock_get(*state, &get, &got), HF_PRODUCT_NOT_FOUND);
    refused(hf_stock_adjust(*state, &adjust, &adjusted), HF_PRODUCT_NOT_FOUND);
    ok(hf_stock_load(*state, &load, &loaded));
    assert_int_equal(loaded.available, 10);
    ok(hf_stock_adjust(*state, &adjust, &adjusted));
    assert_int_equal(adjusted.available, 7);
    ok(hf_stock_get(*state, &get, &got));
    assert_int_equal(got.available, 7);
    assert_int_equal(got.loaded, 7);
    assert_int_equal(got.taken + got.sold, 0);
    assert_int_equal(got.shards, 4);
    assert_string_equal(got.mode, "single");
    adjust.delta = -8;
    refused(hf_stock_adjust(*state, &adjust, &adjusted), HF_CAPACITY_IN_USE);
    adjust.reason = hf_text("");
    refused(hf_stock_adjust(*state, &adjust, &adjusted), HF_INVALID_ARGUMENT);
    load.policy = hf_text("share");
    refused(hf_stock_load(*state, &load, &loaded), HF_INVALID_ARGUMENT);
    load.policy = hf_text(NULL);
    load.shards = 1025;
    refused(hf_stock_load(*state, &load, &loaded), HF_INVALID_QUANTITY);
}

static void stock_take_settle_give_answer_and_refuse(void **state)
{
    struct hf_stock_load_args load = {HF_TEXT("shoe"), .quantity = 10};
    struct hf_stock_take_args take = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("ann"),
                                      .quantity = 4};
    struct hf_stock_settle_args settle = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("bob")};
    struct hf_stock_give_args give = {HF_TEXT("shoe"), HF_TEXT("o2"), HF_TEXT("ann")};
    struct hf_stock_take_reply taken;
    struct hf_stock_settle_reply settled;
    struct hf_stock_give_reply given;

    refused(hf_stock_take(*state, &take, &taken), HF_PRODUCT_NOT_FOUND);
    ok(hf_stock_load(*state, &load, NULL));
    ok(hf_stock_take(*state, &take, &taken));
    assert_int_equal(taken.remaining, 6);
    refused(hf_stock_settle(*state, &settle, &settled), HF_NOT_OWNER);
    settle.user = hf_text(NULL);
    ok(hf_stock_settle(*state, &settle, &settled));
    assert_int_equal(settled.remaining, 6);
    settle.order = hf_text("o2");
    refused(hf_stock_settle(*state, &settle, &settled), HF_NOT_FOUND);
    refused(hf_stock_give(*state, &give, &given), HF_NOT_FOUND);
    take.order = hf_text("o2");
    take.quantity = 7;
    refused(hf_stock_take(*state, &take, &taken), HF_SOLD_OUT);
    take.quantity = 6;
    ok(hf_stock_take(*state, &take, &taken));
    ok(hf_stock_give(*state, &give, &given));
    assert_int_equal(given.remaining, 6);
    give.order = hf_text("o1");
    refused(hf_stock_give(*state, &give, &given), HF_INVALID_STATE);
}

static void stock_extend_answers_and_refuses(void **state)
{
    struct hf_stock_load_args load = {HF_TEXT("shoe"), .quantity = 10};
    struct hf_stock_take_args take = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("ann"), .quantity = 4,
                                      .ttl_ms = 60000};
    struct hf_stock_extend_args extend = {HF_TEXT("shoe"), HF_TEXT("o1"), .ttl_ms = 120000};
    struct hf_stock_settle_args settle = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("ann")};
    struct hf_stock_extend_reply first, second;

    refused(hf_stock_extend(*state, &extend, &first), HF_PRODUCT_NOT_FOUND);
    ok(hf_stock_load(*state, &load, NULL));
    refused(hf_stock_extend(*state, &extend, &first), HF_NOT_FOUND);
    ok(hf_stock_take(*state, &take, NULL));
    ok(hf_stock_extend(*state, &extend, &first));
    extend.ttl_ms = 1000;
    extend.user = hf_text("ann");
    ok(hf_stock_extend(*state, &extend, &second));
    assert_int_equal(first.expires_at_ms, second.expires_at_ms);
    extend.user = hf_text("bob");
    refused(hf_stock_extend(*state, &extend, NULL), HF_NOT_OWNER);
    extend.user = hf_text("ann");
    extend.ttl_ms = 1;
    refused(hf_stock_extend(*state, &extend, NULL), HF_INVALID_TTL);
    extend.ttl_ms = 1000;
    ok(hf_stock_settle(*state, &settle, NULL));
    refused(hf_stock_extend(*state, &extend, NULL), HF_INVALID_STATE);
}

static void stock_list_answers_and_refuses(void **state)
{
    struct hf_stock_load_args load = {HF_TEXT("shoe"), .quantity = 10};
    struct hf_stock_take_args take = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("ann"), .quantity = 4,
                                      .ttl_ms = 60000};
    struct hf_stock_list_args list = {HF_TEXT("shoe"), .count = 1};
    struct hf_stock_list_reply first, second;

    refused(hf_stock_list(*state, &list, &first), HF_PRODUCT_NOT_FOUND);
    ok(hf_stock_load(*state, &load, NULL));
    ok(hf_stock_take(*state, &take, NULL));
    take.order = hf_text("o2");
    take.user = hf_text("bob");
    ok(hf_stock_take(*state, &take, NULL));
    ok(hf_stock_list(*state, &list, &first));
    assert_int_equal(first.count, 1);
    assert_string_equal(first.items[0].order_id, "o1");
    assert_string_equal(first.items[0].user_id, "ann");
    assert_string_equal(first.items[0].status, "taken");
    assert_int_equal(first.items[0].quantity, 4);
    assert_int_equal(first.items[0].expires_at - first.items[0].created_at, 60000);
    hf_free(first.items);
    list.after = hf_text(first.cursor);
    ok(hf_stock_list(*state, &list, &second));
    assert_int_equal(second.count, 1);
    assert_string_equal(second.items[0].order_id, "o2");
    assert_string_equal(second.cursor, "");
    hf_free(second.items);
    list.after = hf_text("!");
    refused(hf_stock_list(*state, &list, NULL), HF_INVALID_ARGUMENT);
    list.count = 1001;
    refused(hf_stock_list(*state, &list, NULL), HF_INVALID_QUANTITY);
}

static void stock_close_answers_and_refuses(void **state)
{
    struct hf_stock_load_args load = {HF_TEXT("shoe"), .quantity = 10};
    struct hf_stock_take_args take = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("ann"),
                                      .quantity = 4};
    struct hf_stock_settle_args settle = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("ann")};
    struct hf_stock_close_args close = {HF_TEXT("shoe")};
    struct hf_stock_close_reply closed;

    ok(hf_stock_close(*state, &close, &closed));
    assert_int_equal(closed.sold + closed.available, 0);
    ok(hf_stock_load(*state, &load, NULL));
    ok(hf_stock_take(*state, &take, NULL));
    refused(hf_stock_close(*state, &close, &closed), HF_INVALID_STATE);
    ok(hf_stock_settle(*state, &settle, NULL));
    ok(hf_stock_close(*state, &close, &closed));
    assert_int_equal(closed.sold, 4);
    assert_int_equal(closed.available, 6);
}

static void stock_take_limits_a_user(void **state)
{
    struct hf_stock_load_args load = {HF_TEXT("shoe"), .quantity = 10};
    struct hf_stock_take_args take = {HF_TEXT("shoe"), HF_TEXT("o1"), HF_TEXT("ann"), .quantity = 2,
                                      .max = 2};

    ok(hf_stock_load(*state, &load, NULL));
    ok(hf_stock_take(*state, &take, NULL));
    take.order = hf_text("o2");
    refused(hf_stock_take(*state, &take, NULL), HF_USER_LIMIT_EXCEEDED);
    take.max = 0;
    ok(hf_stock_take(*state, &take, NULL));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_handle, close_handle)
    const struct CMUnitTest tests[] = {
        CASE(seats_open_answer_and_refuse),
        CASE(seats_reserve_answer_and_refuse),
        CASE(seats_confirm_answer_and_refuse),
        CASE(seats_release_answer_and_refuse),
        CASE(seats_refund_answers_and_refuses),
        CASE(a_zone_has_its_own_limit),
        CASE(seats_extend_and_get_answer_and_refuse),
        CASE(seats_zone_and_user_answer_and_refuse),
        CASE(quota_limit_reserve_refund_sync_get_answer_and_refuse),
        CASE(quota_commit_and_cancel_answer_and_refuse),
        CASE(quota_commit_takes_what_was_really_used),
        CASE(quota_extend_answers_and_refuses),
        CASE(stock_load_get_adjust_answer_and_refuse),
        CASE(stock_take_settle_give_answer_and_refuse),
        CASE(stock_extend_answers_and_refuses),
        CASE(stock_list_answers_and_refuses),
        CASE(stock_close_answers_and_refuses),
        CASE(stock_take_limits_a_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
