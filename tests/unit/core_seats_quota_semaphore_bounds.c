/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounds of every argument of SEATS.*, QUOTA.* and SEM.*: within them the argument is not what
 * a command is refused for, outside them it is, with the code of its kind, and nothing has changed.
 * A table says where the arguments stand: @ is the one that is tried. */
#include "core_fixture.h"

#include <string.h>

#define WORDS 20
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *run_with(struct fixture *f, const char *words, struct hf_bytes value)
{
    struct hf_bytes list[WORDS];
    size_t count = 0;

    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        bool tried = size == 1 && *at == '@';
        assert_true(count < WORDS);
        list[count++] = tried ? value : (struct hf_bytes){at, size};
        at += size;
    }
    return run_words(f, count, list);
}

static void refuses(struct fixture *f, const char *words, struct hf_bytes value, const char *reply)
{
    uint64_t before = core_digest(f->core);
    const char *got = run_with(f, words, value);

    if (strcmp(got, reply) != 0) {
        fail_msg("%s with \"%.*s\": expected %s, got %s", words, (int)value.size, value.data, reply,
                 got);
    }
    assert_true(core_digest(f->core) == before);
}

/* Whatever the command answers on an empty core, it has nothing against this argument. */
static void accepts(void **state, const char *words, struct hf_bytes value)
{
    fixture_teardown(state);
    fixture_setup(state);
    const char *got = run_with(*state, words, value);
    if (strncmp(got, "0 INVALID_", 10) == 0 || strncmp(got, "-ERR", 4) == 0) {
        fail_msg("%s with \"%.*s\": got %s", words, (int)value.size, value.data, got);
    }
}

/* ---- ids ------------------------------------------------------------------------------------- */

static const char *const ids[] = {
    "SEATS.OPEN @ zone 5",
    "SEATS.OPEN event @ 5",
    "SEATS.RESERVE @ zone booking user 1 9",
    "SEATS.RESERVE event @ booking user 1 9",
    "SEATS.RESERVE event zone @ user 1 9",
    "SEATS.RESERVE event zone booking @ 1 9",
    "SEATS.RESERVE event zone booking user 1 9 SHOW @",
    "SEATS.CONFIRM @ booking",
    "SEATS.CONFIRM event @",
    "SEATS.CONFIRM event booking USER @",
    "SEATS.CONFIRM event booking PAYMENT @",
    "SEATS.RELEASE @ booking",
    "SEATS.RELEASE event @",
    "SEATS.RELEASE event booking USER @",
    "SEATS.EXTEND @ booking 10",
    "SEATS.EXTEND event @ 10",
    "SEATS.GET @ booking",
    "SEATS.GET event @",
    "SEATS.ZONE @ zone",
    "SEATS.ZONE event @",
    "SEATS.USER @ user",
    "SEATS.USER event @",
    "QUOTA.LIMIT @ 5",
    "QUOTA.RESERVE @ 1",
    "QUOTA.RESERVE tenant 1 HOLD @",
    "QUOTA.REFUND @ 1",
    "QUOTA.COMMIT @ hold",
    "QUOTA.COMMIT tenant @",
    "QUOTA.CANCEL @ hold",
    "QUOTA.CANCEL tenant @",
    "QUOTA.SYNC @ 1",
    "QUOTA.GET @",
    "SEM.ACQUIRE @ id 1",
    "SEM.ACQUIRE name @ 1",
    "SEM.QUEUE @ id 10 10",
    "SEM.QUEUE name @ 10 10",
    "SEM.WAKE @ 1 10 10",
    "SEM.CONFIRM @ id 1 10 10",
    "SEM.CONFIRM name @ 1 10 10",
    "SEM.RELEASE @ id",
    "SEM.RELEASE name @",
    "SEM.PING @ id 10 10",
    "SEM.PING name @ 10 10",
    "SEM.CARD @",
    "SEM.STATS @",
};

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void an_id_is_1_to_128_bytes_of_utf_8(void **state)
{
    static const struct hf_bytes good[] = {
        HF_TEXT("a"),
        HF_TEXT("-"),
        HF_TEXT("b:1/2|[x]\"'\\~"),
        HF_TEXT("S\u00e3o"),
        HF_TEXT("\U0001f3ab"),
        HF_TEXT(HUNDRED TEN TEN "12345678"),
        HF_TEXT("550e8400-e29b-41d4-a716-446655440000"),
    };
    for (size_t i = 0; i < COUNT(ids); i++) {
        for (size_t k = 0; k < COUNT(good); k++) {
            accepts(state, ids[i], good[k]);
        }
    }
}

static void anything_else_is_no_id(void **state)
{
    static const struct hf_bytes bad[] = {
        HF_TEXT(""),
        HF_TEXT(HUNDRED TEN TEN "123456789"),
        HF_TEXT("a b"),
        HF_TEXT(" "),
        HF_TEXT("a\tb"),
        HF_TEXT("line\n"),
        HF_TEXT("a\0b"),
        HF_TEXT("\x7f"),
        HF_TEXT("{tag}"),
        HF_TEXT("a{"),
        HF_TEXT("longer than eight}"),
        HF_TEXT("\xc2\x85"),         /* next line, a control character */
        HF_TEXT("a\xc2\xa0"),        /* no-break space */
        HF_TEXT("\xe2\x80\x83"),     /* em space */
        HF_TEXT("\xe3\x80\x80"),     /* ideographic space */
        HF_TEXT("\x80"),             /* not UTF-8: a continuation on its own */
        HF_TEXT("abc\xc3"),          /* cut short */
        HF_TEXT("\xc0\xaf"),         /* too long a form */
        HF_TEXT("\xed\xa0\x80"),     /* half a pair */
        HF_TEXT("\xf4\x90\x80\x80"), /* past the last character */
    };
    for (size_t i = 0; i < COUNT(ids); i++) {
        for (size_t k = 0; k < COUNT(bad); k++) {
            refuses(*state, ids[i], bad[k], "0 INVALID_ID");
        }
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const struct {
    const char *words;
    const char *lowest; /* allowed; the highest is 2^53 - 1 everywhere */
    const char *below;
    const char *code;
} numbers[] = {
    {"SEATS.OPEN event zone @", "0", "-1", "0 INVALID_QUANTITY"},
    {"SEATS.RESERVE event zone booking user @ 9", "1", "0", "0 INVALID_QUANTITY"},
    {"SEATS.RESERVE event zone booking user 1 @", "0", "-1", "0 INVALID_QUANTITY"},
    {"SEATS.RESERVE event zone booking user 1 9 PRICE @", "0", "-1", "0 INVALID_AMOUNT"},
    {"QUOTA.LIMIT tenant @", "0", "-1", "0 INVALID_AMOUNT"},
    {"QUOTA.RESERVE tenant @", "1", "0", "0 INVALID_AMOUNT"},
    {"QUOTA.RESERVE tenant @ HOLD hold", "1", "0", "0 INVALID_AMOUNT"},
    {"QUOTA.REFUND tenant @", "1", "0", "0 INVALID_AMOUNT"},
    {"QUOTA.SYNC tenant @", "0", "-1", "0 INVALID_AMOUNT"},
    {"SEM.ACQUIRE name id @", "1", "0", "0 INVALID_QUANTITY"},
    {"SEM.WAKE name @ 10 10", "1", "0", "0 INVALID_QUANTITY"},
    {"SEM.CONFIRM name id @ 10 10", "1", "0", "0 INVALID_QUANTITY"},
};

static void numbers_go_up_to_2_53_minus_1(void **state)
{
    for (size_t i = 0; i < COUNT(numbers); i++) {
        accepts(state, numbers[i].words, hf_text(numbers[i].lowest));
        accepts(state, numbers[i].words, hf_text("000000000000000000000000000000007"));
        accepts(state, numbers[i].words, hf_text("9007199254740991"));
    }
}

static void numbers_out_of_bounds_are_refused_by_their_kind(void **state)
{
    static const char *const outside[] = {
        "9007199254740992",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551617",
        "-1",
        "-9223372036854775808",
        "-9223372036854775809",
        "-" HUNDRED,
        HUNDRED,
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        refuses(*state, numbers[i].words, hf_text(numbers[i].below), numbers[i].code);
        for (size_t k = 0; k < COUNT(outside); k++) {
            refuses(*state, numbers[i].words, hf_text(outside[k]), numbers[i].code);
        }
    }
}

static void what_is_no_number_is_malformed(void **state)
{
    static const char *const malformed[] = {"",    "-",   "+1", "1.0", "1e3", "0x10",
                                            "one", "1 2", " 1", "1 ",  "--1", "1s"};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        for (size_t k = 0; k < COUNT(malformed); k++) {
            refuses(*state, numbers[i].words, hf_text(malformed[k]), "-ERR");
        }
    }
}

/* ---- durations ------------------------------------------------------------------------------- */

static const char *const durations[] = {
    "SEATS.RESERVE event zone booking user 1 9 TTL @",
    "SEATS.EXTEND event booking @",
    "QUOTA.RESERVE tenant 1 HOLD hold TTL @",
    "SEM.ACQUIRE name id 1 HEARTBEAT @",
    "SEM.ACQUIRE name id 1 TTL @",
    "SEM.QUEUE name id @ 10",
    "SEM.QUEUE name id 10 @",
    "SEM.WAKE name 1 @ 10",
    "SEM.WAKE name 1 10 @",
    "SEM.CONFIRM name id 1 @ 10",
    "SEM.CONFIRM name id 1 10 @",
    "SEM.PING name id @ 10",
    "SEM.PING name id 10 @",
};

static const char *const no_durations[] = {"",   "-",   "s",   "ms",  "1.5s", "+1", "1 s",
                                           "1d", "1ss", "10x", " 10", "10 ",  "s1"};

static void a_duration_is_10_ms_to_30_days(void **state)
{
    static const char *const good[] = {"10ms",    "1",       "1s",  "1m",   "1h",
                                       "1500ms",  "43200m",  "30s", "720h", "2592000000ms",
                                       "2592000", "2592000s"};
    for (size_t i = 0; i < COUNT(durations); i++) {
        for (size_t k = 0; k < COUNT(good); k++) {
            accepts(state, durations[i], hf_text(good[k]));
        }
    }
}

static void durations_out_of_bounds_are_refused(void **state)
{
    static const char *const outside[] = {
        "9ms",     "0",        "0ms",    "0h",   "-1",    "-10ms",   "2592000001ms",
        "2592001", "2592001s", "43201m", "721h", HUNDRED, ("-" TEN), "9223372036854775807h",
    };
    for (size_t i = 0; i < COUNT(durations); i++) {
        for (size_t k = 0; k < COUNT(outside); k++) {
            refuses(*state, durations[i], hf_text(outside[k]), "0 INVALID_TTL");
        }
    }
}

static void what_is_no_duration_is_malformed(void **state)
{
    for (size_t i = 0; i < COUNT(durations); i++) {
        for (size_t k = 0; k < COUNT(no_durations); k++) {
            refuses(*state, durations[i], hf_text(no_durations[k]), "-ERR");
        }
    }
}

static void a_wait_is_0_to_30_days_in_milliseconds(void **state)
{
    static const char *const good[] = {"0", "0s", "1", "9ms", "2592000000", "720h"};
    static const char *const outside[] = {"-1", "-1ms", "2592000001", "2592001s", HUNDRED};
    const char *words = "SEM.ACQUIRE name id 1 WAIT @";

    for (size_t k = 0; k < COUNT(outside); k++) {
        refuses(*state, words, hf_text(outside[k]), "0 INVALID_TTL");
    }
    for (size_t k = 0; k < COUNT(no_durations); k++) {
        refuses(*state, words, hf_text(no_durations[k]), "-ERR");
    }
    for (size_t k = 0; k < COUNT(good); k++) {
        accepts(state, words, hf_text(good[k]));
    }
}

/* ---- the command as a whole ------------------------------------------------------------------ */

static void the_wrong_shape_is_malformed(void **state)
{
    static const char *const malformed[] = {
        "SEATS.OPEN event zone",                             /* too few */
        "SEATS.OPEN event zone 5 6",                         /* too many */
        "SEATS.RESERVE event zone booking user 1",           /* too few */
        "SEATS.RESERVE event zone booking user 1 9 PAYMENT", /* unknown keyword */
        "SEATS.RESERVE event zone booking user 1 9 TTL",     /* missing value */
        "SEATS.RESERVE event zone booking user 1 9 TTL 10 ttl 10",
        "SEATS.RESERVE event zone booking user 1 9 LIFETIME LIFETIME",
        "SEATS.RESERVE event zone booking user 1 9 LIFETIME 1",
        "SEATS.CONFIRM event",
        "SEATS.CONFIRM event booking USER",
        "SEATS.CONFIRM event booking USER ann USER ann",
        "SEATS.RELEASE event",
        "SEATS.RELEASE event booking PAYMENT p",
        "SEATS.EXTEND event booking",
        "SEATS.EXTEND event booking TTL 10",
        "SEATS.GET event",
        "SEATS.GET event booking now",
        "SEATS.ZONE event",
        "SEATS.USER event user zone",
        "SEATS.CLOSE event zone",
        "QUOTA.LIMIT tenant",
        "QUOTA.RESERVE tenant",
        "QUOTA.RESERVE tenant 1 HOLD",
        "QUOTA.RESERVE tenant 1 HOLD a HOLD b",
        "QUOTA.REFUND tenant 1 HOLD a",
        "QUOTA.COMMIT tenant",
        "QUOTA.CANCEL tenant a b",
        "QUOTA.SYNC tenant",
        "QUOTA.GET",
        "SEM.ACQUIRE name id",
        "SEM.ACQUIRE name id 1 WAIT",
        "SEM.ACQUIRE name id 1 WAIT 1 WAIT 1",
        "SEM.QUEUE name id 10",
        "SEM.WAKE name 1 10",
        "SEM.CONFIRM name id 1 10",
        "SEM.RELEASE name",
        "SEM.PING name id 10",
        "SEM.CARD name id",
        "SEM.STATS",
    };
    for (size_t i = 0; i < COUNT(malformed); i++) {
        refuses(*state, malformed[i], hf_text(""), "-ERR");
    }
}

static void arguments_are_checked_in_the_order_given(void **state)
{
    static const struct {
        const char *words, *reply;
    } cases[] = {
        {"SEATS.RESERVE e} zone booking user 0 -1", "0 INVALID_ID"},
        {"SEATS.RESERVE event zone booking u} 0 -1", "0 INVALID_ID"},
        {"SEATS.RESERVE event zone booking user 0 nine", "0 INVALID_QUANTITY"},
        {"SEATS.RESERVE event zone booking user none 0", "-ERR"},
        {"SEATS.RESERVE event zone booking user 1 9 TTL 0 PRICE -1", "0 INVALID_TTL"},
        {"SEATS.RESERVE event zone booking user 1 9 PRICE -1 TTL 0", "0 INVALID_AMOUNT"},
        {"SEATS.RESERVE event zone booking user 1 9 SHOW } SHOW a", "0 INVALID_ID"},
        {"QUOTA.RESERVE t} 0", "0 INVALID_ID"},
        {"QUOTA.RESERVE tenant 0 TTL 0", "0 INVALID_AMOUNT"},
        {"QUOTA.RESERVE tenant 1 TTL 0 HOLD }", "0 INVALID_TTL"},
        {"QUOTA.RESERVE tenant 1 HOLD } TTL 0", "0 INVALID_ID"},
        {"SEM.ACQUIRE name id 0 TTL 0", "0 INVALID_QUANTITY"},
        {"SEM.ACQUIRE name id 1 WAIT -1 TTL x", "0 INVALID_TTL"},
        {"SEM.CONFIRM name id 0 0 0", "0 INVALID_QUANTITY"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        refuses(*state, cases[i].words, hf_text(""), cases[i].reply);
    }
}

static void arguments_are_checked_before_the_state_is_looked_at(void **state)
{
    struct fixture *f = *state;

    refuses(f, "SEATS.EXTEND event nobody 0", hf_text(""), "0 INVALID_TTL");
    refuses(f, "SEATS.CONFIRM event nobody USER }", hf_text(""), "0 INVALID_ID");
    refuses(f, "QUOTA.RESERVE tenant 1 TTL 10", hf_text(""), "0 INVALID_ARGUMENT");
    run(f, "SEM.ACQUIRE name a 1");
    refuses(f, "SEM.ACQUIRE name b 1 TTL 9ms", hf_text(""), "0 INVALID_TTL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        CASE(an_id_is_1_to_128_bytes_of_utf_8),
        CASE(anything_else_is_no_id),
        CASE(numbers_go_up_to_2_53_minus_1),
        CASE(numbers_out_of_bounds_are_refused_by_their_kind),
        CASE(what_is_no_number_is_malformed),
        CASE(a_duration_is_10_ms_to_30_days),
        CASE(durations_out_of_bounds_are_refused),
        CASE(what_is_no_duration_is_malformed),
        CASE(a_wait_is_0_to_30_days_in_milliseconds),
        CASE(the_wrong_shape_is_malformed),
        CASE(arguments_are_checked_in_the_order_given),
        CASE(arguments_are_checked_before_the_state_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
