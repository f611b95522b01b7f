/* SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks from a ledger on SQLite to a receiver that the test plays, by a clock that the test
 * moves: order, retries, failures, the end of a subscription, replays. */
#include "service_fixture.h"

#include "service/webhooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define HOUR_MS ((int64_t)3600 * 1000)
#define PATIENCE_NS ((uint64_t)60 * 1000000000)
#define HELD_MAX 64
#define HEARD_MAX 512

/* The receiver: what it has been sent and not answered, and what it has accepted, in order. */
struct receiver {
    struct sale_world *world;
    struct http_exchange *held[HELD_MAX];
    size_t held_count, most, sent;
    struct {
        char id[80], body[512];
    } heard[HEARD_MAX];
    size_t heard_count;
};

static struct receiver *receiver;

static void receive(void *context, struct http_exchange *exchange)
{
    (void)context;
    assert_true(receiver->held_count < HELD_MAX);
    receiver->held[receiver->held_count++] = exchange;
    receiver->sent++;
    if (receiver->held_count > receiver->most) {
        receiver->most = receiver->held_count;
    }
}

static struct webhooks *webhooks_of(struct sale_world *world)
{
    return service_self(world->engine)->webhooks;
}

static void open_world(struct sale_world *world)
{
    sale_open(world, SALE_GUARDED);
    webhooks_of(world)->send = receive;
}

static int begin(void **state)
{
    sale_setup(state);
    struct sale_world *world = *state;
    world->simulated = true;
    world->settings.webhook_url = "http://receiver.example/hook";
    world->settings.webhook_secret = SECRET;
    receiver = calloc(1, sizeof *receiver);
    receiver->world = world;
    open_world(world);
    sale_expect(world, "STOCK.LOAD lamp 1000", "1 1000");
    return 0;
}

static int end(void **state)
{
    sale_teardown(state);
    free(receiver);
    return 0;
}

static void turn(struct sale_world *world)
{
    sale_turn(world);
    int64_t idle_ms = engine_idle_ms(world->engine);
    if (idle_ms != 0) {
        engine_wait(world->engine, idle_ms < 0 || idle_ms > 20 ? 20 : idle_ms);
    }
}

/* Turns the service until so many are waiting for the receiver's answer. */
static void await_held(struct sale_world *world, size_t count)
{
    uint64_t end_ns = clock_nanoseconds() + PATIENCE_NS;

    while (receiver->held_count < count) {
        turn(world);
        assert_true(clock_nanoseconds() < end_ns);
    }
}

/* Turns it until all that the receiver has answered is noted. */
static void await_settled(struct sale_world *world)
{
    uint64_t end_ns = clock_nanoseconds() + PATIENCE_NS;
    size_t pending = 1;

    while (pending > 0) {
        turn(world);
        pending = 0;
        for (size_t i = 0; i < WEBHOOKS_PARALLEL; i++) {
            enum delivery_state now = webhooks_of(world)->deliveries[i].state;
            pending += now == DELIVERY_ANSWERED || now == DELIVERY_SETTLING;
        }
        assert_true(clock_nanoseconds() < end_ns);
    }
}

static void note_heard(const struct http_exchange *exchange)
{
    assert_true(receiver->heard_count < HEARD_MAX);
    char *body = receiver->heard[receiver->heard_count].body;
    char *id = receiver->heard[receiver->heard_count].id;

    snprintf(body, 512, "%.*s", (int)exchange->content.size, exchange->content.data);
    snprintf(id, 80, "%s", exchange->headers[1]);
    receiver->heard_count++;
}

/* Answers the first that waits; 0: the connection is refused. */
static void answer(int status)
{
    struct http_exchange *exchange = receiver->held[0];

    assert_true(receiver->held_count > 0);
    receiver->held_count--;
    memmove(receiver->held, receiver->held + 1, receiver->held_count * sizeof *receiver->held);
    exchange->fate = status == 0 ? HTTP_NOT_SENT : HTTP_ANSWERED;
    exchange->status = status;
    if (status >= 200 && status < 300) {
        note_heard(exchange);
    }
    exchange->done(exchange, exchange->context);
}

static void answer_all(int status)
{
    while (receiver->held_count > 0) {
        answer(status);
    }
}

static void buy(struct sale_world *world, int order)
{
    char words[64];

    snprintf(words, sizeof words, "STOCK.BUY lamp o-%d ann 1", order);
    assert_int_equal(sale_run(world, words)->code, HF_OK);
}

static void give_back(struct sale_world *world, int order)
{
    char words[64];

    snprintf(words, sizeof words, "STOCK.RETURN lamp o-%d", order);
    assert_int_equal(sale_run(world, words)->code, HF_OK);
}

static bool heard_is(size_t at, const char *type, const char *subject)
{
    return at < receiver->heard_count && strstr(receiver->heard[at].body, type) != NULL &&
           strstr(receiver->heard[at].body, subject) != NULL;
}

/* Accepts everything until so much was heard, while time goes by. */
static void accept_until(struct sale_world *world, size_t count)
{
    uint64_t end_ns = clock_nanoseconds() + PATIENCE_NS;

    while (receiver->heard_count < count) {
        turn(world);
        answer_all(200);
        assert_true(clock_nanoseconds() < end_ns);
    }
    await_settled(world);
}

/* Time goes by, and the outbox is looked at. */
static void pass(struct sale_world *world, int64_t ms)
{
    const struct webhooks *webhooks = webhooks_of(world);
    uint64_t end_ns = clock_nanoseconds() + PATIENCE_NS;

    world->ahead_ms += ms;
    while (webhooks->busy || webhooks->due_ms <= service_now(service_self(world->engine))) {
        turn(world);
        assert_true(clock_nanoseconds() < end_ns);
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_sale_is_told_with_a_signature(void **state)
{
    struct sale_world *world = *state;

    buy(world, 1);
    await_held(world, 1);
    const struct http_exchange *exchange = receiver->held[0];
    assert_string_equal(exchange->url, "http://receiver.example/hook");
    assert_string_equal(exchange->headers[0], "content-type: application/json");
    const char *id = exchange->headers[1] + strlen("webhook-id: ");
    const char *timestamp = exchange->headers[2] + strlen("webhook-timestamp: ");
    const char *signature = exchange->headers[3] + strlen("webhook-signature: ");
    assert_int_equal(webhook_verify(&webhooks_of(world)->keys, hf_text(id), hf_text(timestamp),
                                    hf_text(signature), exchange->content, atoll(timestamp)),
                     WEBHOOK_VALID);
    answer(204);
    await_settled(world);
    assert_true(heard_is(0, "{\"type\":\"order.sold\",\"timestamp\":\"20", "\"o-1\""));
    assert_int_equal(sale_sql(world, "SELECT count(*) FROM outbox WHERE state = 1"), 1);
}

/* Accepts what comes until something of this type and with this text was heard; tells where. */
static size_t await_type(struct sale_world *world, const char *type, const char *text)
{
    uint64_t end_ns = clock_nanoseconds() + PATIENCE_NS;

    for (;;) {
        for (size_t i = 0; i < receiver->heard_count; i++) {
            if (heard_is(i, type, text)) {
                return i;
            }
        }
        turn(world);
        answer_all(200);
        assert_true(clock_nanoseconds() < end_ns);
    }
}

static void seats_are_told_too(void **state)
{
    struct sale_world *world = *state;

    sale_run(world, "SEATS.OPEN gala hall 10");
    sale_run(world, "SEATS.RESERVE gala hall b-1 ann 2 4 PRICE 500");
    size_t reserved = await_type(world, "booking.reserved", "\"status\":\"reserved\"");
    assert_int_equal(sale_run(world, "SEATS.CONFIRM gala b-1 PAYMENT p-1")->code, HF_OK);
    assert_int_equal(sale_run(world, "SEATS.REFUND gala b-1")->code, HF_OK);
    size_t cancelled = await_type(world, "booking.cancelled", "\"status\":\"refunded\"");
    size_t confirmed = await_type(world, "booking.confirmed", "\"status\":\"confirmed\"");
    assert_true(reserved < confirmed && confirmed < cancelled);
    assert_true(heard_is(confirmed, "\"payment_id\":\"p-1\"", "\"zone_id\":\"hall\""));
    await_settled(world);
}

static void one_of_a_subject_is_in_flight_and_others_go_on(void **state)
{
    struct sale_world *world = *state;

    buy(world, 1);
    give_back(world, 1);
    buy(world, 2);
    await_held(world, 2);
    for (int i = 0; i < 20; i++) {
        turn(world);
    }
    assert_int_equal(receiver->held_count, 2);
    answer_all(200);
    accept_until(world, 3);
    assert_true(heard_is(0, "order.sold", "o-1"));
    assert_true(heard_is(1, "order.sold", "o-2"));
    assert_true(heard_is(2, "order.returned", "o-1"));
}

static void a_failing_one_holds_back_only_its_own_subject(void **state)
{
    struct sale_world *world = *state;

    buy(world, 1);
    await_held(world, 1);
    answer(500);
    give_back(world, 1);
    buy(world, 2);
    buy(world, 3);
    accept_until(world, 2);
    assert_true(heard_is(0, "order.sold", "o-2") && heard_is(1, "order.sold", "o-3"));
    world->ahead_ms += 10 * 1000;
    accept_until(world, 4);
    assert_true(heard_is(2, "order.sold", "o-1"));
    assert_true(heard_is(3, "order.returned", "o-1"));
}

static void every_attempt_has_the_same_id_and_body(void **state)
{
    struct sale_world *world = *state;
    char id[80], body[512];

    buy(world, 1);
    await_held(world, 1);
    snprintf(id, sizeof id, "%s", receiver->held[0]->headers[1]);
    snprintf(body, sizeof body, "%.*s", (int)receiver->held[0]->content.size,
             receiver->held[0]->content.data);
    answer(0);
    await_settled(world);
    world->ahead_ms += 10 * 1000;
    accept_until(world, 1);
    assert_string_equal(receiver->heard[0].id, id);
    assert_string_equal(receiver->heard[0].body, body);
}

/* Everything that happens while the receiver is down for an hour arrives, in order. */
static void a_receiver_that_is_down_for_an_hour_gets_everything_in_order(void **state)
{
    struct sale_world *world = *state;

    for (int minute = 0; minute < 60; minute++) {
        buy(world, minute);
        if (minute % 2 == 1) {
            give_back(world, minute);
        }
        answer_all(0);
        pass(world, (int64_t)60 * 1000);
    }
    answer_all(0);
    assert_int_equal(receiver->heard_count, 0);
    await_settled(world);
    world->ahead_ms += HOUR_MS; /* the longest wait that any of them has by now */
    accept_until(world, 90);
    for (int order = 0; order < 60; order++) {
        char subject[16];
        size_t sold = HEARD_MAX, returned = HEARD_MAX;
        snprintf(subject, sizeof subject, "\"o-%d\"", order);
        for (size_t i = 0; i < receiver->heard_count; i++) {
            sold = heard_is(i, "order.sold", subject) ? i : sold;
            returned = heard_is(i, "order.returned", subject) ? i : returned;
        }
        assert_true(sold < HEARD_MAX);
        assert_true(order % 2 == 0 ? returned == HEARD_MAX : returned > sold);
    }
    assert_int_equal(receiver->heard_count, 90);
    assert_int_equal(sale_sql(world, "SELECT count(*) FROM outbox WHERE state <> 1"), 0);
}

static void after_three_days_it_is_given_up_and_kept_for_a_replay(void **state)
{
    struct sale_world *world = *state;
    uint64_t end_ns = clock_nanoseconds() + PATIENCE_NS;

    buy(world, 1);
    await_held(world, 1);
    while (webhooks_of(world)->given_up == 0) {
        if (receiver->held_count > 0) {
            answer(503);
            await_settled(world);
        }
        pass(world, HOUR_MS / 2);
        assert_true(clock_nanoseconds() < end_ns);
    }
    assert_true(receiver->sent >= 10 && receiver->sent <= 25);
    assert_int_equal(sale_sql(world, "SELECT count(*) FROM outbox WHERE state = 2"), 1);
    sale_expect(world, "WEBHOOKS.REPLAY TYPE order.returned", "1 0");
    sale_expect(world, "WEBHOOKS.REPLAY", "1 1");
    accept_until(world, 1);
    sale_expect(world, "WEBHOOKS.REPLAY", "1 0");
    sale_expect(world, "WEBHOOKS.REPLAY KEY o-1", "1 1");
    accept_until(world, 2);
    assert_string_equal(receiver->heard[0].id, receiver->heard[1].id);
}

static void gone_ends_the_subscription_until_a_replay(void **state)
{
    struct sale_world *world = *state;

    buy(world, 1);
    await_held(world, 1);
    answer(410);
    await_settled(world);
    buy(world, 2);
    world->ahead_ms += HOUR_MS;
    for (int i = 0; i < 10; i++) {
        turn(world);
    }
    assert_int_equal(receiver->sent, 1);
    assert_true(webhooks_of(world)->ended);
    sale_expect(world, "WEBHOOKS.REPLAY", "1 0");
    accept_until(world, 2);
}

static void a_slow_receiver_has_a_bounded_number_in_flight(void **state)
{
    struct sale_world *world = *state;

    for (int i = 0; i < 100; i++) {
        buy(world, i); /* nothing is answered meanwhile, and nobody waits for it */
    }
    await_held(world, WEBHOOKS_PARALLEL);
    for (int i = 0; i < 20; i++) {
        turn(world);
    }
    assert_int_equal(receiver->most, WEBHOOKS_PARALLEL);
    accept_until(world, 100);
    assert_int_equal(receiver->most, WEBHOOKS_PARALLEL);
    assert_int_equal(receiver->heard_count, 100);
}

static void what_was_not_delivered_is_after_a_restart(void **state)
{
    struct sale_world *world = *state;

    buy(world, 1);
    await_held(world, 1);
    sale_close(world);
    receiver->held_count = 0;
    open_world(world);
    world->ahead_ms += 10 * 1000;
    sale_sql(world, "UPDATE leases SET expires_at = 0"); /* that of the former process */
    accept_until(world, 1);
    assert_true(heard_is(0, "order.sold", "o-1"));
}

static void the_delays_grow_and_are_bounded(void **state)
{
    struct sale_world *world = *state;
    struct service *service = service_self(world->engine);
    int64_t before = 0;

    for (int64_t i = 1; i < 10; i++) {
        int64_t delay = delivery_delay_ms(service, i);
        assert_true(delay > before);
        before = delay;
    }
    for (int i = 0; i < 100; i++) {
        int64_t delay = delivery_delay_ms(service, 1000);
        assert_true(delay >= 7 * HOUR_MS && delay <= 9 * HOUR_MS);
        assert_in_range(delivery_delay_ms(service, 1), 900, 1100);
    }
}

static void settings_are_checked(void **state)
{
    static const struct {
        const char *url, *secret, *old, *allow, *says;
    } cases[] = {
        {"ftp://x/", SECRET, NULL, NULL, "webhook-url"},
        {"http://u:geheim@x/", SECRET, NULL, NULL, "webhook-url"},
        {"http://x/", NULL, NULL, NULL, "webhook-secret"},
        {"http://x/", "geheim", NULL, NULL, "webhook-secret"},
        {"http://x/", SECRET, "whsec_geheim!", NULL, "webhook-secret-old"},
        {"http://x/", SECRET, NULL, "10.0.0.0/40", "outgoing-allow"},
    };
    struct sale_world *world = *state;
    struct problem problem;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct service_options settings = world->settings;
        settings.webhook_url = cases[i].url;
        settings.webhook_secret = cases[i].secret;
        settings.webhook_secret_old = cases[i].old;
        settings.outgoing_allow = cases[i].allow;
        assert_int_equal(service_check(&settings, &problem), HF_INVALID_ARGUMENT);
        assert_non_null(strstr(problem.message, cases[i].says));
        assert_null(strstr(problem.message, "geheim"));
    }
    struct service_options alone = world->settings;
    alone.ledger_url = NULL;
    assert_int_equal(service_check(&alone, &problem), HF_INVALID_ARGUMENT);
    assert_non_null(strstr(problem.message, "--ledger"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_sale_is_told_with_a_signature),
        CASE(seats_are_told_too),
        CASE(one_of_a_subject_is_in_flight_and_others_go_on),
        CASE(a_failing_one_holds_back_only_its_own_subject),
        CASE(every_attempt_has_the_same_id_and_body),
        CASE(a_receiver_that_is_down_for_an_hour_gets_everything_in_order),
        CASE(after_three_days_it_is_given_up_and_kept_for_a_replay),
        CASE(gone_ends_the_subscription_until_a_replay),
        CASE(a_slow_receiver_has_a_bounded_number_in_flight),
        CASE(what_was_not_delivered_is_after_a_restart),
        CASE(the_delays_grow_and_are_bounded),
        CASE(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
