/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of lists: written for each front, read back from RESP2 whatever an item lacks and wherever
 * the bytes are cut, and refused when they are not what a list of this row can answer. */
#include "reply_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct guest {
    char name[HF_ID_SIZE];
    int64_t seats, paid;
    char note[HF_WORD_SIZE];
};

#define MEMBER(member, ...)                                                                        \
    {                                                                                              \
        .name = #member, .offset = offsetof(struct guest, member), __VA_ARGS__                     \
    }

/* A list of three fields and a quiet one, and one of names with quiet fields. */
static const struct command_spec guests = {
    .name = "GUESTS.LIST",
    .shape = REPLY_PAGE,
    .fields =
        (const struct reply_field[]){
            MEMBER(name, .is_text = true, .size = HF_ID_SIZE), MEMBER(seats), MEMBER(paid),
            MEMBER(note, .is_text = true, .quiet = true, .size = HF_WORD_SIZE)},
    .field_count = 4,
    .reply_size = sizeof(struct guest)};
static const struct command_spec names = {
    .name = "LIST",
    .shape = REPLY_PAGE,
    .fields = (const struct reply_field[]){MEMBER(name, .is_text = true, .size = HF_ID_SIZE),
                                           MEMBER(seats, .quiet = true)},
    .field_count = 2,
    .reply_size = sizeof(struct guest)};

static struct reply decoded;

static int setup_both(void **state)
{
    setup(state);
    assert_true(reply_init(&decoded, &memory));
    return 0;
}

static int teardown_both(void **state)
{
    reply_free(&decoded);
    return teardown(state);
}

static void add_guest(const char *name, int64_t seats, int64_t paid)
{
    assert_true(reply_reserve(&reply, 4, 64));
    reply_word(&reply, name);
    reply_number(&reply, seats);
    if (paid < 0) {
        reply_absent(&reply);
    } else {
        reply_number(&reply, paid);
    }
    reply_word(&reply, "quiet");
}

/* Two guests of whom one has not paid, and a cursor. */
static void fill_guests(void)
{
    reply_word(&reply, "");
    add_guest("ann", 2, 40);
    add_guest("bob", 1, -1);
    reply_set_text(&reply, 0, hf_text("17"));
}

static void fill_names(void)
{
    reply_word(&reply, "");
    reply_word(&reply, "gala");
    reply_number(&reply, 3);
    reply_word(&reply, "expo");
    reply_absent(&reply);
}

static enum resp_state decode(const struct command_spec *spec, struct hf_bytes bytes, size_t *size)
{
    char *copy = malloc(bytes.size + 1); /* of its own, so that reading past it is seen */

    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    enum resp_state state =
        reply_from_resp(&decoded, spec, (struct hf_bytes){copy, bytes.size}, size);
    free(copy);
    return state;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void an_item_is_a_list_or_a_map_of_what_it_has(void **state)
{
    (void)state;
    fill_guests();
    reply_to_resp(&reply, &guests, 2, &out);
    expect_written("*3\r\n$2\r\n17\r\n"
                   "*6\r\n$4\r\nname\r\n$3\r\nann\r\n$5\r\nseats\r\n:2\r\n$4\r\npaid\r\n:40\r\n"
                   "*4\r\n$4\r\nname\r\n$3\r\nbob\r\n$5\r\nseats\r\n:1\r\n");
    reply_to_resp(&reply, &guests, 3, &out);
    expect_written("*3\r\n$2\r\n17\r\n"
                   "%3\r\n$4\r\nname\r\n$3\r\nann\r\n$5\r\nseats\r\n:2\r\n$4\r\npaid\r\n:40\r\n"
                   "%2\r\n$4\r\nname\r\n$3\r\nbob\r\n$5\r\nseats\r\n:1\r\n");
}

static void an_item_of_one_shown_field_is_that_value(void **state)
{
    (void)state;
    fill_names();
    for (int version = 2; version <= 3; version++) {
        reply_to_resp(&reply, &names, version, &out);
        expect_written("*3\r\n$0\r\n\r\n$4\r\ngala\r\n$4\r\nexpo\r\n");
    }
}

static void json_has_the_cursor_and_the_items(void **state)
{
    (void)state;
    fill_guests();
    reply_to_json(&reply, &guests, &out);
    expect_written("{\"cursor\":\"17\",\"items\":[{\"name\":\"ann\",\"seats\":2,\"paid\":40},"
                   "{\"name\":\"bob\",\"seats\":1}]}");
    reply_clear(&reply);
    fill_names();
    reply_to_json_all(&reply, &names, &out);
    expect_written("{\"cursor\":\"\",\"items\":[{\"name\":\"gala\",\"seats\":3},"
                   "{\"name\":\"expo\"}]}");
}

static void an_empty_page_has_a_cursor_and_no_items(void **state)
{
    (void)state;
    reply_word(&reply, "9");
    reply_to_resp(&reply, &guests, 2, &out);
    expect_written("*1\r\n$1\r\n9\r\n");
    reply_to_json(&reply, &guests, &out);
    expect_written("{\"cursor\":\"9\",\"items\":[]}");
}

static void what_an_item_lacks_is_zero_in_its_struct(void **state)
{
    struct guest guest;

    (void)state;
    fill_guests();
    assert_int_equal(reply_items(&reply, &guests), 2);
    reply_item_to_struct(&reply, &guests, 0, &guest);
    assert_string_equal(guest.name, "ann");
    assert_int_equal(guest.paid, 40);
    reply_item_to_struct(&reply, &guests, 1, &guest);
    assert_string_equal(guest.name, "bob");
    assert_int_equal(guest.paid, 0);
    assert_string_equal(guest.note, "quiet");
}

/* ---- reading --------------------------------------------------------------------------------- */

static void expect_round_trip(const struct command_spec *spec)
{
    size_t size = 0;

    reply_to_resp(&reply, spec, 2, &out);
    struct hf_bytes whole = {out.data, out.size};
    size_t step = whole.size > 4096 ? whole.size / 512 : 1;
    for (size_t cut = 0; cut < whole.size; cut += step) {
        assert_int_equal(decode(spec, (struct hf_bytes){whole.data, cut}, &size), RESP_MORE);
        assert_true(size > cut && size <= whole.size);
    }
    assert_int_equal(decode(spec, whole, &size), RESP_DONE);
    assert_int_equal(size, whole.size);
    assert_int_equal(decoded.count, reply.count); /* what is quiet is there, and absent */
    size_t start = out.size;
    reply_to_resp(&decoded, spec, 2, &out);
    assert_int_equal(out.size, 2 * start);
    assert_memory_equal(out.data, out.data + start, start);
    buffer_clear(&out);
    reply_clear(&reply);
}

static void what_was_written_is_what_is_read(void **state)
{
    (void)state;
    fill_guests();
    expect_round_trip(&guests);
    fill_names();
    expect_round_trip(&names);
    reply_word(&reply, "");
    expect_round_trip(&guests);
    reply_word(&reply, "cursor");
    for (size_t i = 0; i < HF_PAGE_MAX; i++) {
        add_guest(i % 2 ? "some" : "else", (int64_t)i, i % 3 ? (int64_t)i : -1);
    }
    expect_round_trip(&guests);
}

static void what_no_page_has_is_refused(void **state)
{
    static const char *const cases[] = {
        "*0\r\n",                                           /* no cursor */
        "*1\r\n:7\r\n",                                     /* a number as cursor */
        "*1\r\n$-1\r\n",                                    /* nil as cursor */
        "*2\r\n$0\r\n\r\n$1\r\na\r\n",                      /* a name for an item */
        "*2\r\n$0\r\n\r\n*-1\r\n",                          /* nil for an item */
        "*2\r\n$0\r\n\r\n*0\r\n",                           /* an item of nothing */
        "*2\r\n$0\r\n\r\n*1\r\n$4\r\nname\r\n",             /* a name without a value */
        "*2\r\n$0\r\n\r\n*2\r\n$4\r\nnote\r\n$1\r\nx\r\n",  /* a quiet field */
        "*2\r\n$0\r\n\r\n*2\r\n$5\r\nother\r\n$1\r\nx\r\n", /* an unknown one */
        "*2\r\n$0\r\n\r\n*2\r\n$5\r\nseats\r\n$1\r\n2\r\n", /* text for a number */
        "*2\r\n$0\r\n\r\n*2\r\n$4\r\nname\r\n*0\r\n",       /* a list for a value */
        "*2\r\n$0\r\n\r\n*4\r\n$4\r\npaid\r\n:1\r\n$5\r\nseats\r\n:2\r\n",  /* out of order */
        "*2\r\n$0\r\n\r\n*4\r\n$5\r\nseats\r\n:1\r\n$5\r\nseats\r\n:2\r\n", /* one twice */
        "*1002\r\n$0\r\n\r\n",                                              /* more than a page */
        "*1000000\r\n$0\r\n\r\n",
    };
    size_t size;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(&guests, hf_text(cases[i]), &size), RESP_BROKEN);
        assert_int_equal(decoded.count, 0);
    }
    assert_int_equal(decode(&names, hf_text("*2\r\n$0\r\n\r\n:1\r\n"), &size), RESP_BROKEN);
    assert_int_equal(decode(&names, hf_text("*2\r\n$0\r\n\r\n*0\r\n"), &size), RESP_BROKEN);
}

static void a_cursor_is_bounded(void **state)
{
    char page[HF_PAIR_CURSOR_SIZE + 32] = "*1\r\n$258\r\n";
    size_t size, start = strlen(page);

    (void)state;
    memset(page + start, 'c', HF_PAIR_CURSOR_SIZE);
    memcpy(page + start + HF_PAIR_CURSOR_SIZE, "\r\n", 3);
    assert_int_equal(decode(&guests, hf_text(page), &size), RESP_BROKEN);
}

static void a_refusal_is_read_as_one(void **state)
{
    size_t size;

    (void)state;
    assert_int_equal(
        decode(&guests, hf_text("*3\r\n:0\r\n$16\r\nINVALID_ARGUMENT\r\n$1\r\nx\r\n"), &size),
        RESP_DONE);
    assert_int_equal(decoded.code, HF_INVALID_ARGUMENT);
    assert_int_equal(decoded.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_both, teardown_both)
        T(an_item_is_a_list_or_a_map_of_what_it_has),
        T(an_item_of_one_shown_field_is_that_value),
        T(json_has_the_cursor_and_the_items),
        T(an_empty_page_has_a_cursor_and_no_items),
        T(what_an_item_lacks_is_zero_in_its_struct),
        T(what_was_written_is_what_is_read),
        T(what_no_page_has_is_refused),
        T(a_cursor_is_bounded),
        T(a_refusal_is_read_as_one),
#undef T
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
