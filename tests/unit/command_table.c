/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands has what the contract lists, and every row is sound: fronts, files and
 * scripts are made from it without a second look. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "command/command.h"

/* Sections 1 to 7: name, positional arguments, [keywords]. The number in files is the place in this
 * list, counted from 1; it must never change. */
static const char *const contract[] = {
    "SEATS.OPEN event zone capacity",
    "SEATS.RESERVE event zone booking user quantity max_per_user [SHOW] [PRICE] [TTL] [LIFETIME]",
    "SEATS.CONFIRM event booking [USER] [PAYMENT]",
    "SEATS.RELEASE event booking [USER]",
    "SEATS.EXTEND event booking ttl",
    "SEATS.GET event booking",
    "SEATS.ZONE event zone",
    "SEATS.USER event user",
    "QUOTA.LIMIT tenant limit",
    "QUOTA.RESERVE tenant amount [HOLD] [TTL]",
    "QUOTA.REFUND tenant amount",
    "QUOTA.COMMIT tenant hold",
    "QUOTA.CANCEL tenant hold",
    "QUOTA.SYNC tenant actual",
    "QUOTA.GET tenant",
    "SEM.ACQUIRE name id limit [HEARTBEAT] [TTL] [WAIT]",
    "SEM.QUEUE name id heartbeat ttl",
    "SEM.WAKE name limit heartbeat ttl",
    "SEM.CONFIRM name id limit heartbeat ttl",
    "SEM.RELEASE name id",
    "SEM.PING name id heartbeat ttl",
    "SEM.CARD name",
    "SEM.STATS name",
    "LOCK.TRY resource ttl [ID]",
    "LOCK.UNLOCK resource lock_id",
    "LOCK.EXTEND resource lock_id ttl",
    "LOCK.GET resource",
    "STOCK.LOAD product quantity [SHARDS] [WATERMARK] [POLICY]",
    "STOCK.TAKE product order user quantity [TTL]",
    "STOCK.SETTLE product order",
    "STOCK.GIVE product order",
    "STOCK.GET product",
    "STOCK.ADJUST product delta reason",
    "ROOM.JOIN event user [MAX] [TTL]",
    "ROOM.POSITION event user",
    "ROOM.LEAVE event user",
    "ROOM.ADMIT event count [PASS]",
    "ROOM.CHECK event user pass",
    "IDEM.BEGIN key fingerprint [TTL]",
    "IDEM.COMPLETE key response [TTL]",
    "IDEM.ABORT key",
};

#define EACH_ROW(spec)                                                                             \
    const struct command_spec *spec = command_table;                                               \
    spec < command_table + COMMAND_COUNT;                                                          \
    spec++

#define EACH_ARG(spec, arg)                                                                        \
    const struct arg_spec *arg = (spec)->args;                                                     \
    arg < (spec)->args + (spec)->arg_count;                                                        \
    arg++

static void every_command_of_the_contract_is_there_with_its_arguments(void **state)
{
    (void)state;
    assert_int_equal(sizeof contract / sizeof contract[0], COMMAND_COUNT);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        struct hf_bytes name = {contract[i], strcspn(contract[i], " ")};
        const struct command_spec *spec = command_find(name);
        assert_non_null(spec);

        char usage[256];
        int size = snprintf(usage, sizeof usage, "%s", spec->name);
        for (EACH_ARG(spec, arg)) {
            size +=
                snprintf(usage + size, sizeof usage - (size_t)size, arg->keyword ? " [%s]" : " %s",
                         arg->keyword ? arg->keyword : arg->name);
        }
        assert_string_equal(usage, contract[i]);
        assert_int_equal(spec->number, i + 1);
        assert_ptr_equal(command_by_number(i + 1), spec);
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
    assert_null(command_by_number(COMMAND_COUNT + 1));
    assert_null(command_by_number((UINT64_C(1) << 32) + 1));
    for (EACH_ROW(spec)) {
        assert_ptr_equal(&command_table[command_id(spec)], spec);
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
        assert_true(is_upper(spec->name) && strchr(spec->name, '.') != NULL);
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
        assert_true(spec->required >= 1 && spec->required <= spec->arg_count);
        assert_true(spec->arg_count <= COMMAND_ARGS_MAX);
        assert_true(1 + spec->required + 2 * (spec->arg_count - spec->required) <=
                    COMMAND_WORDS_MAX);
        assert_int_equal(spec->args[0].type, ARG_ID);
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
                assert_true(arg->default_value >= arg->min && arg->default_value <= arg->max);
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

static void flags_are_those_of_the_contract(void **state)
{
    static const enum command_id reads[] = {SEATS_GET,     SEATS_ZONE, SEATS_USER, QUOTA_GET,
                                            SEM_CARD,      SEM_STATS,  LOCK_GET,   STOCK_GET,
                                            ROOM_POSITION, ROOM_CHECK};
    unsigned writers = 0;

    (void)state;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        assert_int_equal(command_table[reads[i]].flags, 0);
    }
    for (EACH_ROW(spec)) {
        enum command_id id = command_id(spec);
        writers += (spec->flags & COMMAND_WRITES) != 0;
        assert_int_equal((spec->flags & COMMAND_WAITS) != 0, id == SEM_ACQUIRE);
        assert_int_equal((spec->flags & COMMAND_RANDOM) != 0,
                         id == SEATS_CONFIRM || id == LOCK_TRY || id == ROOM_JOIN ||
                             id == ROOM_ADMIT);
        assert_int_equal(spec->nil_code != HF_OK, id == LOCK_TRY || id == LOCK_GET);
    }
    assert_int_equal(writers, COMMAND_COUNT - sizeof reads / sizeof reads[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_of_the_contract_is_there_with_its_arguments),
        cmocka_unit_test(commands_are_found_in_any_case_and_nothing_else_is),
        cmocka_unit_test(names_numbers_keywords_and_fields_are_unique),
        cmocka_unit_test(help_is_one_line),
        cmocka_unit_test(scope_comes_first_and_required_arguments_before_optional_ones),
        cmocka_unit_test(arguments_have_a_place_of_their_own_in_the_struct),
        cmocka_unit_test(bounds_hold_the_default),
        cmocka_unit_test(reply_fields_lie_within_the_reply_struct),
        cmocka_unit_test(flags_are_those_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
