/* SPDX-License-Identifier: Apache-2.0
 *
 * Families and scopes of commands, as their rows have them. */
#include "command/family.h"

#include "base/text.h"

static const char *const names[FAMILY_COUNT] = {[FAMILY_NONE] = "server",
#define X(name) [FAMILY_##name] = #name,
                                                FAMILY_LIST(X)
#undef X
};

const char *family_name(enum family family)
{
    return names[family];
}

enum family family_find(struct hf_bytes name)
{
    for (enum family family = FAMILY_NONE + 1; family < FAMILY_COUNT; family++) {
        if (text_is_word(name, names[family])) {
            return family;
        }
    }
    return FAMILY_NONE;
}

/* Of the kinds of LIST. */
static enum family kind_family(struct hf_bytes kind)
{
    static const struct {
        const char *kind;
        enum family family;
    } kinds[] = {
        {"events", FAMILY_SEATS},   {"zones", FAMILY_SEATS}, {"tenants", FAMILY_QUOTA},
        {"semaphores", FAMILY_SEM}, {"locks", FAMILY_LOCK},  {"products", FAMILY_STOCK},
        {"rooms", FAMILY_ROOM},     {"keys", FAMILY_IDEM},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (text_is_word(kind, kinds[i].kind)) {
            return kinds[i].family;
        }
    }
    return FAMILY_NONE;
}

enum family command_family(const struct command *command)
{
    const char *name = command->spec->name, *point = strchr(name, '.');

    switch (command_id(command->spec)) {
    case LIST:
        return kind_family(command->args.list.kind);
    case RECONCILE:
        return FAMILY_STOCK;
    default:
        return point == NULL ? FAMILY_NONE
                             : family_find((struct hf_bytes){name, (size_t)(point - name)});
    }
}

enum family event_family(enum event_kind kind)
{
    static const enum family families[EVENT_KINDS] = {
        [EVENT_BOOKING_EXPIRED] = FAMILY_SEATS,   [EVENT_QUOTA_HOLD_EXPIRED] = FAMILY_QUOTA,
        [EVENT_SLOT_LOST] = FAMILY_SEM,           [EVENT_WAITER_LOST] = FAMILY_SEM,
        [EVENT_LOCK_EXPIRED] = FAMILY_LOCK,       [EVENT_ORDER_EXPIRED] = FAMILY_STOCK,
        [EVENT_QUEUE_ENTRY_LAPSED] = FAMILY_ROOM, [EVENT_PASS_LAPSED] = FAMILY_ROOM,
        [EVENT_SLOT_GRANTED] = FAMILY_SEM,
    };
    return families[kind];
}

struct hf_bytes command_scope(const struct command *command)
{
    const struct command_spec *spec = command->spec;
    struct hf_bytes scope = {NULL, 0};

    if (spec->scope_arg < spec->arg_count && spec->args[spec->scope_arg].type == ARG_ID) {
        memcpy(&scope, command_arg(command, &spec->args[spec->scope_arg]), sizeof scope);
    }
    return scope;
}

size_t command_scope_field(const struct command_spec *spec)
{
    size_t i = 0;

    while (i < spec->field_count &&
           (spec->scope_field == NULL || strcmp(spec->fields[i].name, spec->scope_field) != 0)) {
        i++;
    }
    return i;
}
