/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands has what was released and what the list has, and every row is sound:
 * fronts, files and scripts are made from it without a second look. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "command/command.h"

/* The commands of version 0.1: number in files, name, positional arguments, [keywords]. None of
 * that may change, for there are files and programs with them; keywords may come behind them. */
static const struct {
    unsigned number;
    const char *usage;
} released[] = {
    {1, "SEATS.OPEN event zone capacity"},
    {2,
     "SEATS.RESERVE event zone booking user quantity max_per_user [SHOW] [PRICE] [TTL] [LIFETIME] "
     "[PASS]"},
    {3, "SEATS.CONFIRM event booking [USER] [PAYMENT]"},
    {4, "SEATS.RELEASE event booking [USER]"},
    {5, "SEATS.EXTEND event booking ttl"},
    {6, "SEATS.GET event booking"},
    {7, "SEATS.ZONE event zone"},
    {8, "SEATS.USER event user"},
    {9, "QUOTA.LIMIT tenant limit"},
    {10, "QUOTA.RESERVE tenant amount [HOLD] [TTL]"},
    {11, "QUOTA.REFUND tenant amount"},
    {12, "QUOTA.COMMIT tenant hold"},
    {13, "QUOTA.CANCEL tenant hold"},
    {14, "QUOTA.SYNC tenant actual"},
    {15, "QUOTA.GET tenant"},
    {16, "SEM.ACQUIRE name id limit [HEARTBEAT] [TTL] [WAIT]"},
    {17, "SEM.QUEUE name id heartbeat ttl"},
    {18, "SEM.WAKE name limit heartbeat ttl"},
    {19, "SEM.CONFIRM name id limit heartbeat ttl"},
    {20, "SEM.RELEASE name id"},
    {21, "SEM.PING name id heartbeat ttl"},
    {22, "SEM.CARD name"},
    {23, "SEM.STATS name"},
    {24, "LOCK.TRY resource ttl [ID]"},
    {25, "LOCK.UNLOCK resource lock_id"},
    {26, "LOCK.EXTEND resource lock_id ttl"},
    {27, "LOCK.GET resource"},
    {28, "STOCK.LOAD product quantity [SHARDS] [WATERMARK] [POLICY]"},
    {29, "STOCK.TAKE product order user quantity [TTL]"},
    {30, "STOCK.SETTLE product order"},
    {31, "STOCK.GIVE product order"},
    {32, "STOCK.GET product"},
    {33, "STOCK.ADJUST product delta reason"},
    {34, "ROOM.JOIN event user [MAX] [TTL]"},
    {35, "ROOM.POSITION event user [TOKEN]"},
    {36, "ROOM.LEAVE event user"},
    {37, "ROOM.ADMIT event count [PASS] [ID]"},
    {38, "ROOM.CHECK event user pass [RENEW]"},
    {39, "IDEM.BEGIN key fingerprint [TTL]"},
    {40, "IDEM.COMPLETE key response [TTL]"},
    {41, "IDEM.ABORT key"},
    {52, "ROOM.OPEN event [RATE] [INSIDE] [START] [ORDER] [PASS] [PAUSED] [GATE]"},
    {53, "ROOM.TICK event"},
    {54, "ROOM.DONE event user"},
    {55, "ROOM.STATS event"},
};

#define RELEASED (sizeof released / sizeof released[0])

#define EACH_ROW(spec)                                                                             \
    const struct command_spec *spec = command_table;                                               \
    spec < command_table + COMMAND_COUNT;                                                          \
    spec++

#define EACH_ARG(spec, arg)                                                                        \
    const struct arg_spec *arg = (spec)->args;                                                     \
    arg < (spec)->args + (spec)->arg_count;                                                        \
    arg++

static void every_command_that_was_released_is_there_with_its_arguments(void **state)
{
    (void)state;
    for (size_t i = 0; i < RELEASED; i++) {
        const char *expected = released[i].usage;
        struct hf_bytes name = {expected, strcspn(expected, " ")};
        const struct command_spec *spec = command_find(name);
        assert_non_null(spec);
        assert_int_equal(spec->number, released[i].number);

        char usage[256];
        int size = snprintf(usage, sizeof usage, "%s", spec->name);
        for (EACH_ARG(spec, arg)) {
            size +=
                snprintf(usage + size, sizeof usage - (size_t)size, arg->keyword ? " [%s]" : " %s",
                         arg->keyword ? arg->keyword : arg->name);
        }
        assert_memory_equal(usage, expected, strlen(expected));
        const char *more = usage + strlen(expected);
        assert_true(*more == '\0' || strncmp(more, " [", 2) == 0);
    }
}

/* "QUOTA.GET" is the row of QUOTA_GET. */
static void expect_name(const struct command_spec *spec, const char *id)
{
    assert_non_null(spec->name);
    assert_int_equal(strlen(spec->name), strlen(id));
    for (size_t i = 0; id[i] != '\0'; i++) {
        assert_int_equal(spec->name[i], id[i] == '_' ? '.' : id[i]);
    }
}

static void every_line_of_the_list_has_its_row(void **state)
{
    (void)state;
#define CHECK_REPLY_PLAIN(id, answer)                                                              \
    assert_int_equal(command_table[id].reply_size, sizeof(struct hf_##answer))
#define CHECK_REPLY_OWNED(id, answer) /* the library fills it, not the row */
#define CHECK_REPLY_PAGE(id, answer)                                                               \
    assert_int_equal(command_table[id].shape, REPLY_PAGE);                                         \
    assert_int_equal(command_table[id].reply_size, sizeof *((struct hf_##answer *)NULL)->items);   \
    assert_int_equal(offsetof(struct hf_##answer, cursor), 0);                                     \
    assert_true(sizeof((struct hf_##answer *)NULL)->cursor >= HF_CURSOR_SIZE);                     \
    assert_true(sizeof((struct hf_##answer *)NULL)->cursor <= HF_PAIR_CURSOR_SIZE);                \
    assert_int_equal(offsetof(struct hf_##answer, count),                                          \
                     sizeof(struct hf_##answer) - sizeof(size_t) - sizeof(void *));                \
    assert_int_equal(offsetof(struct hf_##answer, items),                                          \
                     sizeof(struct hf_##answer) - sizeof(void *))
#define X(id, name, answer, memory, scope)                                                         \
    expect_name(&command_table[id], #id);                                                          \
    assert_int_equal(command_table[id].args_size, sizeof(struct hf_##name##_args));                \
    CHECK_REPLY_##memory(id, answer);
    COMMAND_LIST(X)
#undef X
}

static void every_number_leads_to_its_row(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        assert_true(spec->number > 0);
        assert_ptr_equal(command_by_number(spec->number), spec);
    }
}

static void commands_are_found_in_any_case_and_nothing_else_is(void **state)
{
    (void)state;
    assert_ptr_equal(command_find(hf_text("seats.open")), &command_table[SEATS_OPEN]);
    assert_ptr_equal(command_find(hf_text("Idem.Abort")), &command_table[IDEM_ABORT]);
    assert_null(command_find(hf_text("")));
    assert_null(command_find(hf_text("SEATS")));
    assert_null(command_find(hf_text("SEATS.OPENS")));
    assert_null(command_find(hf_text("SEATS OPEN")));
    assert_null(command_by_number(0));
    assert_null(command_by_number(100000));
    assert_null(command_by_number((UINT64_C(1) << 32) + 1));
    for (EACH_ROW(spec)) {
        assert_ptr_equal(&command_table[command_id(spec)], spec);
    }
}

/* Names are compared many letters at a time, whatever their case: no other byte passes for one. */
static void a_name_with_another_byte_in_it_is_not_found(void **state)
{
    char name[64];
    (void)state;

    for (EACH_ROW(spec)) {
        struct hf_bytes text = {name, strlen(spec->name)};
        assert_in_range(text.size, 1, sizeof name - 2);
        for (size_t at = 0; at < text.size; at++) {
            for (int byte = 0; byte < 256; byte++) {
                memcpy(name, spec->name, text.size + 1);
                name[at] = (char)byte;
                bool same =
                    byte == spec->name[at] || (isupper((unsigned char)spec->name[at]) &&
                                               byte == tolower((unsigned char)spec->name[at]));
                const struct command_spec *found = command_find(text);
                assert_true(same ? found == spec : found != spec);
            }
        }
        memcpy(name, spec->name, text.size + 1);
        text.size++; /* with the NUL behind it */
        assert_null(command_find(text));
    }
}

static bool is_upper(const char *word)
{
    for (; *word != '\0'; word++) {
        if (!isupper((unsigned char)*word) && *word != '.') {
            return false;
        }
    }
    return true;
}

static void names_numbers_keywords_and_fields_are_unique(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        assert_true(is_upper(spec->name));
        assert_true(strchr(spec->name, '.') != NULL || spec == &command_table[LIST] ||
                    spec == &command_table[RECONCILE]);
        for (const struct command_spec *other = command_table; other < spec; other++) {
            assert_string_not_equal(spec->name, other->name);
            assert_int_not_equal(spec->number, other->number);
        }
        for (EACH_ARG(spec, arg)) {
            assert_true(arg->keyword == NULL || is_upper(arg->keyword));
            for (const struct arg_spec *other = spec->args; other < arg; other++) {
                assert_string_not_equal(arg->field, other->field);
                assert_true(arg->keyword == NULL || other->keyword == NULL ||
                            strcmp(arg->keyword, other->keyword) != 0);
            }
        }
    }
}

/* From that follows the role that a client needs. */
static void every_row_says_whether_it_reads_or_writes(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        unsigned kinds = spec->flags & (COMMAND_READS | COMMAND_WRITES);
        assert_true(kinds == COMMAND_READS || kinds == COMMAND_WRITES);
    }
}

static void help_is_one_line(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        assert_non_null(spec->help);
        assert_true(strlen(spec->help) > 0 && strlen(spec->help) <= 100);
        assert_null(strchr(spec->help, '\n'));
    }
}

static void scope_comes_first_and_required_arguments_before_optional_ones(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        assert_int_equal(spec->required == 0, spec == &command_table[RECONCILE] ||
                                                  spec == &command_table[QUOTA_SYNCALL] ||
                                                  spec == &command_table[QUOTA_SYNCED] ||
                                                  spec == &command_table[SAGA_LIST] ||
                                                  spec == &command_table[WEBHOOKS_REPLAY]);
        assert_true(spec->arg_count >= 1 && spec->required <= spec->arg_count);
        assert_true(spec->arg_count <= COMMAND_ARGS_MAX);
        assert_true(1 + spec->required + 2 * (spec->arg_count - spec->required) <=
                    COMMAND_WORDS_MAX);
        bool chooses = spec == &command_table[LIST] || spec == &command_table[SAGA_LIST];
        assert_int_equal(spec->args[0].type, chooses                                ? ARG_CHOICE
                                             : spec == &command_table[QUOTA_SYNCED] ? ARG_TEXT
                                                                                    : ARG_ID);
        for (size_t i = 0; i < spec->arg_count; i++) {
            assert_int_equal(spec->args[i].keyword == NULL, i < spec->required);
        }
    }
}

static size_t member_size(const struct arg_spec *arg)
{
    switch (arg->type) {
    case ARG_FLAG:
        return sizeof(bool);
    case ARG_COUNT:
    case ARG_AMOUNT:
    case ARG_DURATION:
    case ARG_WAIT:
        return sizeof(int64_t);
    default:
        return sizeof(struct hf_bytes);
    }
}

static void arguments_have_a_place_of_their_own_in_the_struct(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        char taken[sizeof(union command_args)] = {0};
        assert_true(spec->args_size <= sizeof(union command_args));
        for (EACH_ARG(spec, arg)) {
            size_t size = member_size(arg);
            assert_true(arg->offset + size <= spec->args_size);
            assert_true(arg->type == ARG_FLAG || arg->offset % sizeof(int64_t) == 0);
            for (size_t i = 0; i < size; i++) {
                assert_int_equal(taken[arg->offset + i]++, 0);
            }
        }
    }
}

static void bounds_hold_the_default(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        for (EACH_ARG(spec, arg)) {
            assert_true(arg->min <= arg->max);
            assert_true(arg->max <= HF_INTEGER_MAX && arg->min >= -HF_INTEGER_MAX);
            assert_int_equal(arg->type == ARG_CHOICE, arg->choices != NULL);
            if (arg->keyword != NULL && member_size(arg) == sizeof(int64_t)) {
                /* 0 below the bounds: what the scope is set to. */
                assert_true(arg->default_value == 0 ||
                            (arg->default_value >= arg->min && arg->default_value <= arg->max));
            }
            if (arg->type == ARG_DURATION) {
                assert_int_equal(arg->min, HF_TTL_MIN_MS);
                assert_int_equal(arg->max, HF_TTL_MAX_MS);
            }
            bool found = arg->needs == NULL;
            for (EACH_ARG(spec, other)) {
                found |= arg->needs && other->keyword && !strcmp(arg->needs, other->keyword);
            }
            assert_true(found);
        }
    }
}

static void reply_fields_lie_within_the_reply_struct(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        assert_true(spec->field_count >= 1);
        assert_true(spec->shape != REPLY_NUMBER || spec->field_count == 1);
        assert_true(spec->shape != REPLY_PAIRS || spec->field_count == 2);
        for (size_t i = 0; i < spec->field_count; i++) {
            const struct reply_field *field = &spec->fields[i];
            size_t size = field->is_text ? field->size : sizeof(int64_t);
            assert_true(field->offset + size <= spec->reply_size);
            assert_true(field->is_text || field->offset % sizeof(int64_t) == 0);
            for (size_t j = 0; j < i; j++) {
                assert_string_not_equal(field->name, spec->fields[j].name);
            }
        }
    }
}

static bool has_argument(const struct command_spec *spec, enum arg_type type)
{
    for (EACH_ARG(spec, arg)) {
        if (arg->type == type) {
            return true;
        }
    }
    return false;
}

/* What HTTP gets with GET only reads; who says how long to wait may wait; what the engine makes for
 * a script is random. */
static void flags_follow_from_the_rest_of_the_row(void **state)
{
    (void)state;
    for (EACH_ROW(spec)) {
        bool writes = spec->flags & COMMAND_WRITES;
        assert_true(spec->method == NULL || writes == (strcmp(spec->method, "GET") != 0));
        assert_int_equal((spec->flags & COMMAND_WAITS) != 0, has_argument(spec, ARG_WAIT));
        assert_int_equal((spec->flags & COMMAND_RANDOM) != 0,
                         strchr(spec->script_args, '@') != NULL);
        unsigned other = spec->flags & ~(unsigned)(COMMAND_SERVICE | COMMAND_WAITS);
        assert_true(writes || other == COMMAND_READS);
    }
}

/* What the service carries out has neither a function of the core nor a script. */
static void rows_of_the_service_are_those_that_the_list_says(void **state)
{
    (void)state;
#define X(id, name, answer, memory, scope)                                                         \
    assert_int_equal((command_table[id].flags & COMMAND_SERVICE) != 0,                             \
                     strcmp(#scope, "SERVICE") == 0);
    COMMAND_LIST(X)
#undef X
    for (EACH_ROW(spec)) {
        if (spec->flags & COMMAND_SERVICE) {
            assert_null(spec->script);
            assert_string_equal(spec->script_args, "");
            assert_int_equal(spec->keys[0], KEY_NONE);
        }
    }
}

static void flags_are_those_of_the_contract(void **state)
{
    static const enum command_id reads[] = {SEATS_GET,     SEATS_ZONE, SEATS_USER, QUOTA_GET,
                                            SEM_CARD,      SEM_STATS,  LOCK_GET,   STOCK_GET,
                                            ROOM_POSITION, ROOM_STATS};
    static const enum command_id writes[] = {SEATS_OPEN, QUOTA_COMMIT, SEM_WAKE,  LOCK_UNLOCK,
                                             STOCK_TAKE, ROOM_CHECK,   IDEM_BEGIN};

    (void)state;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        assert_int_equal(command_table[reads[i]].flags, COMMAND_READS);
    }
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        assert_true(command_table[writes[i]].flags & COMMAND_WRITES);
    }
    assert_int_equal(command_table[LOCK_TRY].nil_code, HF_LOCKED);
    assert_int_equal(command_table[LOCK_GET].nil_code, HF_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_that_was_released_is_there_with_its_arguments),
        cmocka_unit_test(every_line_of_the_list_has_its_row),
        cmocka_unit_test(every_number_leads_to_its_row),
        cmocka_unit_test(commands_are_found_in_any_case_and_nothing_else_is),
        cmocka_unit_test(a_name_with_another_byte_in_it_is_not_found),
        cmocka_unit_test(names_numbers_keywords_and_fields_are_unique),
        cmocka_unit_test(every_row_says_whether_it_reads_or_writes),
        cmocka_unit_test(help_is_one_line),
        cmocka_unit_test(scope_comes_first_and_required_arguments_before_optional_ones),
        cmocka_unit_test(arguments_have_a_place_of_their_own_in_the_struct),
        cmocka_unit_test(bounds_hold_the_default),
        cmocka_unit_test(reply_fields_lie_within_the_reply_struct),
        cmocka_unit_test(flags_follow_from_the_rest_of_the_row),
        cmocka_unit_test(rows_of_the_service_are_those_that_the_list_says),
        cmocka_unit_test(flags_are_those_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
