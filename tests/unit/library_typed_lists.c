/* SPDX-License-Identifier: Apache-2.0
 *
 * The typed calls for lists: a walk over each, page by page, that meets everything once, ends with
 * an empty cursor, and whose pages are freed; and what a refusal leaves behind. */
#include "library_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THINGS 10
#define PAGE 3

/* What a walk met, by the number at the end of a name. */
struct met {
    unsigned times[THINGS], pages;
};

static void meet(struct met *met, const char *name)
{
    const char *number = strrchr(name, '-');

    assert_non_null(number);
    assert_in_range(atoi(number + 1), 0, THINGS - 1);
    met->times[atoi(number + 1)]++;
}

static void assert_met_all(const struct met *met)
{
    for (size_t i = 0; i < THINGS; i++) {
        assert_int_equal(met->times[i], 1);
    }
    assert_in_range(met->pages, THINGS / PAGE, THINGS);
}

static struct hf_bytes numbered(char text[32], const char *what, int number)
{
    snprintf(text, 32, "%s-%d", what, number);
    return hf_text(text);
}

/* Calls `call` until it ends with an empty cursor, and meets the `name` of all items. */
#define WALK(call, args, reply, name)                                                              \
    do {                                                                                           \
        struct met met = {.pages = 0};                                                             \
        char after[HF_CURSOR_SIZE] = "";                                                           \
        do {                                                                                       \
            (args).after = hf_text(after);                                                         \
            (args).count = PAGE;                                                                   \
            ok(call(*state, &(args), &(reply)));                                                   \
            assert_in_range((reply).count, 0, PAGE);                                               \
            for (size_t at = 0; at < (reply).count; at++) {                                        \
                meet(&met, (reply).items[at].name);                                                \
            }                                                                                      \
            met.pages++;                                                                           \
            memcpy(after, (reply).cursor, sizeof after);                                           \
            hf_free((reply).items);                                                                \
        } while (after[0] != '\0');                                                                \
        assert_met_all(&met);                                                                      \
    } while (0)

/* A cursor that no page ended with is refused, and then there is nothing to free. */
#define REFUSED_AFTER(call, args, reply)                                                           \
    do {                                                                                           \
        (args).after = hf_text("no cursor");                                                       \
        refused(call(*state, &(args), &(reply)), HF_INVALID_ARGUMENT);                             \
        assert_int_equal((reply).count, 0);                                                        \
        assert_null((reply).items);                                                                \
        (args).after = hf_text("");                                                                \
    } while (0)

/* ---- of a scope ------------------------------------------------------------------------------ */

static void fill_seats(void **state)
{
    struct hf_seats_open_args open = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = 100};
    struct hf_seats_open_reply opened;
    char id[32];

    ok(hf_seats_open(*state, &open, &opened));
    for (int i = 0; i < THINGS; i++) {
        struct hf_seats_reserve_args reserve = {.event = HF_TEXT("gala"),
                                                .zone = HF_TEXT("floor"),
                                                .booking = numbered(id, "b", i),
                                                .user = HF_TEXT("ann"),
                                                .quantity = 1,
                                                .max_per_user = THINGS};
        struct hf_seats_reserve_reply reserved;
        ok(hf_seats_reserve(*state, &reserve, &reserved));
    }
}

static void bookings_are_walked(void **state)
{
    struct hf_seats_list_args args = {.event = HF_TEXT("gala")};
    struct hf_seats_list_reply reply;

    ok(hf_seats_list(*state, &args, &reply));
    assert_int_equal(reply.count, 0);
    hf_free(reply.items);
    fill_seats(state);
    WALK(hf_seats_list, args, reply, booking_id);
    args.user = hf_text("ann");
    args.zone = hf_text("floor");
    args.status = hf_text("reserved");
    WALK(hf_seats_list, args, reply, booking_id);
    args.after = hf_text("");
    args.status = hf_text("confirmed");
    ok(hf_seats_list(*state, &args, &reply));
    assert_int_equal(reply.count, 0);
    assert_string_equal(reply.cursor, "");
    hf_free(reply.items);
    REFUSED_AFTER(hf_seats_list, args, reply);
}

static void holds_are_walked(void **state)
{
    struct hf_quota_limit_args limit = {HF_TEXT("acme"), 1000};
    struct hf_quota_list_args args = {.tenant = HF_TEXT("acme")};
    struct hf_quota_list_reply reply;
    struct hf_quota_reply quota;
    char id[32];

    ok(hf_quota_limit(*state, &limit, &quota));
    for (int i = 0; i < THINGS; i++) {
        struct hf_quota_reserve_args reserve = {
            .tenant = HF_TEXT("acme"), .amount = i + 1, .hold = numbered(id, "h", i)};
        ok(hf_quota_reserve(*state, &reserve, &quota));
    }
    WALK(hf_quota_list, args, reply, hold_id);
    REFUSED_AFTER(hf_quota_list, args, reply);
}

static void clients_are_walked(void **state)
{
    struct hf_sem_list_args args = {.name = HF_TEXT("gpu")};
    struct hf_sem_list_reply reply;
    struct hf_sem_acquire_reply got;
    struct hf_sem_queue_reply place;
    char id[32];

    for (int i = 0; i < THINGS; i++) {
        struct hf_sem_acquire_args ask = {HF_TEXT("gpu"), numbered(id, "c", i), .limit = 4};
        struct hf_sem_queue_args queue = {HF_TEXT("gpu"), ask.id, 60000, 60000};
        if (i < 4) {
            ok(hf_sem_acquire(*state, &ask, &got));
        } else {
            ok(hf_sem_queue(*state, &queue, &place));
        }
    }
    WALK(hf_sem_list, args, reply, id);
    REFUSED_AFTER(hf_sem_list, args, reply);
}

/* ---- of all there is ------------------------------------------------------------------------- */

/* Makes one of each kind. */
static void make_all(void **state, int number)
{
    char id[32];
    struct hf_bytes name = numbered(id, "n", number);
    struct hf_seats_open_args open = {.event = name, .zone = name, .capacity = 5};
    struct hf_seats_open_reply opened;
    struct hf_quota_limit_args limit = {name, 7};
    struct hf_quota_reply quota;
    struct hf_sem_acquire_args acquire = {name, HF_TEXT("me"), .limit = 2};
    struct hf_sem_acquire_reply acquired;
    struct hf_lock_try_args lock = {name, 60000, HF_TEXT("me")};
    struct hf_lock_try_reply locked;
    struct hf_stock_load_args load = {.product = name, .quantity = 9};
    struct hf_stock_load_reply loaded;
    struct hf_room_open_args room = {.event = name, .inside = 3};
    struct hf_room_open_reply room_opened;
    struct hf_idem_begin_args begin = {.key = name, .fingerprint = HF_TEXT("print")};
    struct hf_idem_begin_reply begun;

    ok(hf_seats_open(*state, &open, &opened));
    ok(hf_quota_limit(*state, &limit, &quota));
    ok(hf_sem_acquire(*state, &acquire, &acquired));
    ok(hf_lock_try(*state, &lock, &locked));
    ok(hf_stock_load(*state, &load, &loaded));
    ok(hf_room_open(*state, &room, &room_opened));
    ok(hf_idem_begin(*state, &begin, &begun));
    hf_free(begun.response);
}

static void all_kinds_are_walked(void **state)
{
    static const char *const kinds[] = {"events", "zones",    "tenants", "semaphores",
                                        "locks",  "products", "rooms",   "keys"};
    struct hf_list_args args = {.kind = HF_TEXT("events")};
    struct hf_list_reply reply;

    for (int i = 0; i < THINGS; i++) {
        make_all(state, i);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        args.kind = hf_text(kinds[i]);
        WALK(hf_list, args, reply, name);
        REFUSED_AFTER(hf_list, args, reply);
    }
    args.kind = hf_text("seats");
    refused(hf_list(*state, &args, &reply), HF_INVALID_ARGUMENT);
}

static void an_item_has_the_totals_of_its_kind(void **state)
{
    struct hf_list_args args = {.kind = HF_TEXT("zones"), .match = HF_TEXT("n-4")};
    struct hf_list_reply reply;

    for (int i = 0; i < THINGS; i++) {
        make_all(state, i);
    }
    ok(hf_list(*state, &args, &reply));
    assert_int_equal(reply.count, 1);
    assert_string_equal(reply.items[0].name, "n-4 n-4");
    assert_string_equal(reply.items[0].event_id, "n-4");
    assert_int_equal(reply.items[0].capacity, 5);
    assert_int_equal(reply.items[0].limit, 0);
    hf_free(reply.items);
    args.kind = hf_text("tenants");
    ok(hf_list(*state, &args, &reply));
    assert_int_equal(reply.count, 1);
    assert_int_equal(reply.items[0].limit, 7);
    assert_string_equal(reply.items[0].event_id, "");
    hf_free(reply.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_handle, close_handle)
        T(bookings_are_walked),
        T(holds_are_walked),
        T(clients_are_walked),
        T(all_kinds_are_walked),
        T(an_item_has_the_totals_of_its_kind),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
