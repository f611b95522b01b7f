/* SPDX-License-Identifier: Apache-2.0
 *
 * Which family a command is of, and where its scope stands: every row has to say, so that a user
 * who is kept to some scopes is not let in by a row that was forgotten. */
#include "base/text.h"
#include "command/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "command_fixture.h"

static void every_row_has_a_family(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        struct command command = {.spec = &command_table[i]};
        command.args.list.kind = hf_text("zones"); /* what only LIST looks at */
        if (command_family(&command) == FAMILY_NONE) {
            fail_msg("%s is of no family", command_table[i].name);
        }
    }
}

static void every_kind_of_list_has_a_family(void **state)
{
    char kind[32];
    size_t size = 0;

    (void)state;
    for (const char *at = command_table[LIST].args[0].choices;; at++) {
        if (*at != '|' && *at != '\0') {
            kind[size++] = *at;
            continue;
        }
        struct command command = {.spec = &command_table[LIST]};
        command.args.list.kind = (struct hf_bytes){kind, size};
        if (command_family(&command) == FAMILY_NONE) {
            fail_msg("%.*s is of no family", (int)size, kind);
        }
        size = 0;
        if (*at == '\0') {
            return;
        }
    }
}

/* The first argument is the scope; a row without such an argument says that it names none. */
static void every_row_says_where_its_scope_is(void **state)
{
    static const char *const scopes[] = {"event", "tenant", "name", "resource", "product", "key"};

    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        bool known = spec->scope_arg == SCOPE_NOWHERE;
        for (size_t j = 0; !known && j < sizeof scopes / sizeof scopes[0]; j++) {
            known = spec->scope_arg < spec->arg_count &&
                    spec->args[spec->scope_arg].type == ARG_ID &&
                    strcmp(spec->args[spec->scope_arg].field, scopes[j]) == 0;
        }
        if (!known) {
            fail_msg("%s: which argument is the scope?", spec->name);
        }
        if (spec->scope_field != NULL && command_scope_field(spec) == spec->field_count) {
            fail_msg("%s has no field %s", spec->name, spec->scope_field);
        }
    }
}

static void families_and_scopes_of_commands(void **state)
{
    static const struct {
        const char *line;
        enum family family;
        const char *scope; /* NULL: none */
    } cases[] = {
        {"SEATS.ZONE gala floor", FAMILY_SEATS, "gala"},
        {"seats.bookings ann", FAMILY_SEATS, NULL},
        {"SEATS.BOOKINGS ann EVENT gala", FAMILY_SEATS, "gala"},
        {"RECONCILE", FAMILY_STOCK, NULL},
        {"RECONCILE PRODUCT sneaker", FAMILY_STOCK, "sneaker"},
        {"LIST tenants MATCH acme", FAMILY_QUOTA, NULL},
        {"SAGA.GET s-1", FAMILY_SAGA, NULL},
        {"WEBHOOKS.REPLAY KEY b-1", FAMILY_WEBHOOKS, NULL},
        {"IDEM.ABORT pay-81", FAMILY_IDEM, "pay-81"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct command command = command_of(cases[i].line);
        struct hf_bytes scope = command_scope(&command);
        assert_int_equal(command_family(&command), cases[i].family);
        if (cases[i].scope == NULL) {
            assert_null(scope.data);
        } else {
            assert_true(text_equal(scope, hf_text(cases[i].scope)));
        }
    }
}

static void names_of_families(void **state)
{
    (void)state;
    assert_int_equal(family_find(hf_text("Seats")), FAMILY_SEATS);
    assert_int_equal(family_find(hf_text("SEAT")), FAMILY_NONE);
    assert_int_equal(family_find(hf_text("server")), FAMILY_NONE);
    assert_string_equal(family_name(FAMILY_WEBHOOKS), "WEBHOOKS");
    for (enum event_kind kind = 0; kind < EVENT_KINDS; kind++) {
        assert_int_not_equal(event_family(kind), FAMILY_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_family),
        cmocka_unit_test(every_kind_of_list_has_a_family),
        cmocka_unit_test(every_row_says_where_its_scope_is),
        cmocka_unit_test(families_and_scopes_of_commands),
        cmocka_unit_test(names_of_families),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
