/* SPDX-License-Identifier: Apache-2.0
 *
 * What a user is kept to: what a line may say, and what follows from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "command_fixture.h"
#include "server/auth.h"

#define HASH "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
#define OTHER "sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
#define SECOND UINT64_C(1000000000)

static struct problem problem;

/* Of the words behind a secret. */
static struct access *read_words(const char *line)
{
    struct access *access = access_new();
    enum hf_error code = HF_OK;

    problem.message[0] = '\0';
    for (const char *at = line; code == HF_OK && *at != '\0';) {
        size_t size = strcspn(at, " ");
        code = access_read(access, (struct hf_bytes){at, size}, &problem);
        at += size + (at[size] == ' ');
    }
    if (code == HF_OK) {
        code = access_complete(access, 0, &problem);
    }
    if (code != HF_OK) {
        access_free(access);
        return NULL;
    }
    return access;
}

static enum access_verdict judge(const struct access *access, const char *line)
{
    struct command command = command_of(line);

    return access_judge(access, &command);
}

/* ---- what a line may say --------------------------------------------------------------------- */

static void bad_words_are_named(void **state)
{
    static const char *const cases[][2] = {
        {"scope=shop:*", "\"scope\" is none of scopes=, families=, rate= and burst="},
        {"scopes=", "\"\" in scopes= is neither a name"},
        {"scopes=shop:*,", "\"\" in scopes= is neither a name"},
        {"scopes=a*b", "\"a*b\" in scopes="},
        {"scopes=a**", "\"a**\" in scopes="},
        {"scopes={a}", "\"{a}\" in scopes="},
        {"scopes=a scopes=b", "scopes= is there twice"},
        {"families=", "\"\" in families= is none"},
        {"families=SEATS,SEAT",
         "\"SEAT\" in families= is none: with commas between them, of SEATS"},
        {"families=SEATS families=QUOTA", "families= is there twice"},
        {"rate=0", "rate=0 is no rate: 1 to 1000000"},
        {"rate=1000001/s", "rate=1000001/s is no rate"},
        {"rate=10/d", "rate=10/d is no rate"},
        {"rate=/s", "rate=/s is no rate"},
        {"rate=", "rate= is no rate"},
        {"rate=-1/s", "rate=-1/s is no rate"},
        {"rate=1 rate=2", "rate= is there twice"},
        {"rate=1 burst=0", "burst=0 is no number of 1 to 1000000"},
        {"rate=1 burst=x", "burst=x is no number"},
        {"burst=5", "burst= makes no sense without rate="},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(read_words(cases[i][0]));
        if (strstr(problem.message, cases[i][1]) == NULL) {
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i][0], cases[i][1], problem.message);
        }
    }
}

static void so_many_scopes_and_no_more(void **state)
{
    char line[2 * ACCESS_SCOPES_MAX + 16] = "scopes=a";

    (void)state;
    for (size_t i = 1; i < ACCESS_SCOPES_MAX; i++) {
        strcat(line, ",a");
    }
    struct access *access = read_words(line);
    assert_non_null(access);
    assert_int_equal(access->scope_count, ACCESS_SCOPES_MAX);
    access_free(access);
    strcat(line, ",a");
    assert_null(read_words(line));
}

static void a_line_of_the_file_has_them_behind_the_secret(void **state)
{
    struct identity who;

    (void)state;
    struct auth *auth =
        auth_parse("users",
                   hf_text("ann read " HASH " rate=5/m scopes=shop:* families=seats,stock\n"
                           "bob admin " OTHER "\n"),
                   &problem);
    assert_non_null(auth);
    assert_true(auth_token(auth, hf_text("secret"), &who));
    assert_non_null(who.access);
    assert_string_equal(who.access->scopes_text, "shop:*");
    assert_true(access_is_limited(who.access));
    assert_int_equal(who.access->burst, 5);
    assert_true(auth_token(auth, hf_text("other"), &who));
    assert_null(who.access);
    auth_free(auth);
}

static void a_bad_line_of_the_file_has_its_number(void **state)
{
    static const char *const cases[][2] = {
        {"bob admin " OTHER "\nann read " HASH " scopes=shop:* color=red",
         "users:2: ann: \"color\" is none of scopes="},
        {"ann read " HASH " shop:* SEATS", "users:1: a line is: NAME ROLE SECRET [scopes="},
        {"ann read " HASH " rate=5 more", "users:1: ann: \"more\" is none of"},
        {"ann read hunter2 scopes=hunter2", "users:1: the secret of ann is neither"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(auth_parse("users", hf_text(cases[i][0]), &problem));
        if (strstr(problem.message, cases[i][1]) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", cases[i][1], problem.message);
        }
        assert_null(strstr(problem.message, "hunter2"));
    }
}

/* ---- what follows ---------------------------------------------------------------------------- */

static void scopes_are_names_or_beginnings(void **state)
{
    struct access *access = read_words("scopes=shop:*,gala");

    (void)state;
    assert_int_equal(judge(access, "SEATS.ZONE shop:1 floor"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "LOCK.GET shop:"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "SEATS.ZONE gala floor"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "SEATS.ZONE gala2 floor"), ACCESS_OTHER_SCOPE);
    assert_int_equal(judge(access, "SEATS.ZONE gal floor"), ACCESS_OTHER_SCOPE);
    assert_int_equal(judge(access, "SEATS.ZONE shop floor"), ACCESS_OTHER_SCOPE);
    assert_int_equal(judge(access, "SEATS.ZONE tour shop:1"), ACCESS_OTHER_SCOPE);
    assert_int_equal(judge(access, "RECONCILE"), ACCESS_ALL_SCOPES);
    assert_int_equal(judge(access, "RECONCILE PRODUCT gala"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "RECONCILE PRODUCT tour"), ACCESS_OTHER_SCOPE);
    assert_int_equal(judge(access, "SEATS.BOOKINGS gala"), ACCESS_ALL_SCOPES);
    assert_int_equal(judge(access, "SAGA.REFUND gala"), ACCESS_ALL_SCOPES);
    assert_int_equal(judge(access, "WEBHOOKS.REPLAY KEY gala"), ACCESS_ALL_SCOPES);
    assert_int_equal(judge(access, "SAGA.GET s-1"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "LIST events"), ACCESS_GRANTED);
    access_free(access);
}

static void all_scopes_are_no_limit(void **state)
{
    struct access *access = read_words("scopes=gala,*,shop:*");

    (void)state;
    assert_false(access_is_limited(access));
    assert_int_equal(judge(access, "RECONCILE"), ACCESS_GRANTED);
    access_free(access);
}

static void families_are_those_of_the_table(void **state)
{
    struct access *access = read_words("families=STOCK,LOCK");

    (void)state;
    assert_int_equal(judge(access, "STOCK.GET sneaker"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "RECONCILE"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "LIST products"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "LIST locks"), ACCESS_GRANTED);
    assert_int_equal(judge(access, "LIST zones"), ACCESS_OTHER_FAMILY);
    assert_int_equal(judge(access, "SEATS.ZONE gala floor"), ACCESS_OTHER_FAMILY);
    assert_int_equal(judge(access, "SAGA.GET s-1"), ACCESS_OTHER_FAMILY);
    access_free(access);
}

/* What is kept under an Idempotency-Key belongs to the server, whose user has no IDEM. */
static void the_servers_own_keys_are_no_scopes(void **state)
{
    struct access *access = read_words("families=STOCK scopes=shop:*");
    struct hf_idem_abort_args args = {.key = HF_TEXT("http ann:k")};
    struct command command;

    (void)state;
    assert_int_equal(command_from_own(&command, &command_table[IDEM_ABORT], &args, NULL), HF_OK);
    assert_int_equal(access_judge(access, &command), ACCESS_GRANTED);
    access_free(access);
}

static bool covers(const char *now, const char *before)
{
    struct access *a = now != NULL ? read_words(now) : NULL;
    struct access *b = before != NULL ? read_words(before) : NULL;
    bool covered = access_covers(a, b);

    access_free(a);
    access_free(b);
    return covered;
}

static void less_than_before_is_noticed(void **state)
{
    (void)state;
    assert_true(covers(NULL, NULL));
    assert_true(covers(NULL, "scopes=a families=SEATS"));
    assert_true(covers("rate=1", NULL));
    assert_true(covers("scopes=*", NULL));
    assert_true(covers("scopes=sh*", "scopes=shop:*,shed"));
    assert_true(covers("scopes=a,b", "scopes=b"));
    assert_true(covers("families=SEATS,LOCK", "families=LOCK"));
    assert_false(covers("scopes=a", NULL));
    assert_false(covers("families=SEATS", NULL));
    assert_false(covers("scopes=shop:*", "scopes=sh*"));
    assert_false(covers("scopes=shop:", "scopes=shop:*"));
    assert_false(covers("scopes=a", "scopes=a,b"));
    assert_false(covers("families=SEATS", "families=SEATS,LOCK"));
    assert_false(covers("families=SEATS", "scopes=a"));
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void a_page_shows_the_users_scopes(void **state)
{
    static const char *const names[] = {"shop:1 floor", "tour:1 floor", "shop:2 floor", "shop"};
    const struct command_spec *spec = &command_table[LIST];
    struct access *access = read_words("scopes=shop:*");
    struct memory memory;
    struct reply reply;

    (void)state;
    memory_init(&memory);
    assert_true(reply_init(&reply, &memory));
    assert_true(reply_reserve(&reply, 4 * spec->field_count + 1, 256));
    reply_word(&reply, "7.9");
    for (size_t i = 0; i < 4; i++) {
        reply_word(&reply, names[i]);
        for (size_t j = 1; j < spec->field_count; j++) {
            reply_number(&reply, (int64_t)i);
        }
    }
    assert_true(access_filters(access, spec));
    access_filter(access, &reply, spec);
    assert_int_equal(reply_items(&reply, spec), 2);
    assert_true(text_equal(reply_bytes(&reply, 0), hf_text("7.9")));
    assert_true(text_equal(reply_bytes(&reply, reply_item(spec, 1)), hf_text("shop:2 floor")));
    assert_int_equal(reply.values[reply_item(spec, 1) + 1].number, 2);
    reply_free(&reply);
    access_free(access);
}

/* ---- rate ------------------------------------------------------------------------------------ */

static void a_rate_is_in_a_second_a_minute_or_an_hour(void **state)
{
    static const struct {
        const char *words;
        uint64_t period_ns, burst;
    } cases[] = {
        {"rate=5", SECOND, 5},
        {"rate=5/s burst=9", SECOND, 9},
        {"burst=1 rate=5/m", 60 * SECOND, 1},
        {"rate=1000000/h burst=1000000", 3600 * SECOND, 1000000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct access *access = read_words(cases[i].words);
        assert_non_null(access);
        assert_false(access_is_limited(access));
        assert_true(access->bucket.period == cases[i].period_ns);
        assert_true(access->bucket.capacity == cases[i].burst * cases[i].period_ns);
        access_free(access);
    }
}

static void a_reload_gives_nobody_new_tokens(void **state)
{
    struct access *before = read_words("rate=5/h"), *now = read_words("rate=10/m burst=3");

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(bucket_take(&before->bucket, 0));
    }
    access_inherit(now, before);
    assert_true(bucket_take(&now->bucket, 0));
    assert_false(bucket_take(&now->bucket, 0));
    assert_true(bucket_take(&now->bucket, 6 * SECOND));
    access_free(before);
    access_free(now);
}

static void a_list_is_asked_for_no_more_than_the_users_names(void **state)
{
    static const char *const cases[][3] = {
        /* scopes, MATCH, what is asked for; NULL: nothing */
        {"shop:*", "", "shop:"},        {"shop:*", "s", "shop:"},
        {"shop:*", "shop:", "shop:"},   {"shop:*", "shop:1 f", "shop:1 f"},
        {"shop:*", "tour", NULL},       {"shop:*", "shoe", NULL},
        {"gala", "", "gala"},           {"gala", "gal", "gala"},
        {"gala", "gala fl", "gala fl"}, {"gala", "galax", NULL},
        {"shop:*,shoe", "", "sho"},     {"shop:*,shoe", "shop", "shop:"},
        {"shop:*,gala", "", ""},        {"shop:*,gala", "g", "gala"},
        {"shop:*,gala", "x", NULL},     {"shop:1,shop:*", "shop:1", "shop:1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char words[64];
        snprintf(words, sizeof words, "scopes=%s", cases[i][0]);
        struct access *access = read_words(words);
        struct hf_bytes narrowed = access_narrow(access, hf_text(cases[i][1]));
        assert_int_equal(narrowed.data == NULL, cases[i][2] == NULL);
        if (cases[i][2] != NULL) {
            assert_true(text_equal(narrowed, hf_text(cases[i][2])));
        }
        access_free(access);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_words_are_named),
        cmocka_unit_test(so_many_scopes_and_no_more),
        cmocka_unit_test(a_line_of_the_file_has_them_behind_the_secret),
        cmocka_unit_test(a_bad_line_of_the_file_has_its_number),
        cmocka_unit_test(scopes_are_names_or_beginnings),
        cmocka_unit_test(all_scopes_are_no_limit),
        cmocka_unit_test(families_are_those_of_the_table),
        cmocka_unit_test(the_servers_own_keys_are_no_scopes),
        cmocka_unit_test(less_than_before_is_noticed),
        cmocka_unit_test(a_page_shows_the_users_scopes),
        cmocka_unit_test(a_list_is_asked_for_no_more_than_the_users_names),
        cmocka_unit_test(a_rate_is_in_a_second_a_minute_or_an_hour),
        cmocka_unit_test(a_reload_gives_nobody_new_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
