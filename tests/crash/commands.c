/* SPDX-License-Identifier: Apache-2.0
 *
 * Random commands made from the rows: a seed and a number give the same command every time. */
#include "crash/commands.h"

#include "base/check.h"

#include <stdio.h>

#define START_MS INT64_C(1700000000000)
#define STEP_MS 200 /* from one command to the next, on average */
#define OPENERS 12  /* commands that come first, so that there is something to hand out */
#define NAMES 8

static const char *const names[NAMES] = {
    "a", "b", "c-3", "d.4", "0190a8e2-7c1b-7d3e-9f10-223344556677", "f", "g", "h",
};

/* What a dice shows depends on the seed, the number, and how often it was rolled. */
struct dice {
    uint64_t state;
};

static struct dice dice_for(uint64_t seed, uint64_t number, uint64_t purpose)
{
    return (struct dice){seed * UINT64_C(0x9e3779b97f4a7c15) + number * 4 + purpose};
}

/* Splitmix64. */
static uint64_t roll(struct dice *dice, uint64_t sides)
{
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15) ^ (dice->state << 17);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % sides;
}

/* One of "merge|steal". */
static struct hf_bytes choose(struct dice *dice, const char *choices)
{
    const char *bar = strchr(choices, '|');

    if (bar != NULL && roll(dice, 2) == 0) {
        return choose(dice, bar + 1);
    }
    return (struct hf_bytes){choices, bar != NULL ? (size_t)(bar - choices) : strlen(choices)};
}

/* The things that are handed out are few, so that commands meet each other. */
static struct hf_bytes choose_name(struct dice *dice, const struct arg_spec *arg, bool first)
{
    bool few = first || strcmp(arg->name, "zone") == 0;
    return hf_text(names[few ? roll(dice, 2) : 2 + roll(dice, NAMES - 2)]);
}

static void choose_value(struct dice *dice, const struct arg_spec *arg, bool first,
                         struct command_field *field)
{
    *field = (struct command_field){.name = hf_text(arg->field)};
    switch (arg->type) {
    case ARG_ID:
        field->text = choose_name(dice, arg, first);
        return;
    case ARG_COUNT:
    case ARG_AMOUNT:
        field->number = arg->min < 0 ? (int64_t)roll(dice, 7) - 3 : 1 + (int64_t)roll(dice, 9);
        return;
    case ARG_DURATION: /* seconds */
        field->number = 1 + (int64_t)roll(dice, roll(dice, 4) == 0 ? 600 : 60);
        return;
    case ARG_CHOICE:
        field->text = choose(dice, arg->choices);
        return;
    case ARG_TEXT:
    case ARG_BLOB:
        field->text = hf_text(roll(dice, 2) == 0 ? "so it was" : "because");
        return;
    case ARG_FLAG:
        field->number = (int64_t)roll(dice, 2);
        return;
    case ARG_WAIT:
        break;
    }
    CHECK(false);
}

/* One that an engine carries out. */
static const struct command_spec *draw_spec(struct dice *dice)
{
    const struct command_spec *spec;

    do {
        spec = &command_table[roll(dice, COMMAND_COUNT)];
    } while (spec->flags & COMMAND_SERVICE);
    return spec;
}

static const struct command_spec *choose_spec(struct dice *dice, uint64_t number)
{
    static const enum command_id openers[] = {SEATS_OPEN, QUOTA_LIMIT, STOCK_LOAD};

    if (number <= OPENERS) {
        return &command_table[openers[number % 3]];
    }
    const struct command_spec *spec = draw_spec(dice);
    /* Reads need not come as often. */
    return spec->flags & COMMAND_WRITES ? spec : draw_spec(dice);
}

void make_command(struct command *command, uint64_t seed, uint64_t number)
{
    struct dice dice = dice_for(seed, number, 0);
    const struct command_spec *spec = choose_spec(&dice, number);
    struct command_field fields[COMMAND_ARGS_MAX];
    struct problem problem;
    size_t count = 0;
    bool given = false;

    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        bool allowed = arg->type != ARG_WAIT && (arg->needs == NULL || given);
        given = arg->keyword == NULL || (allowed && roll(&dice, 3) == 0);
        if (given) {
            choose_value(&dice, arg, i == 0, &fields[count++]);
        }
    }
    if (command_from_fields(command, spec, count, fields, &problem) != HF_OK) {
        fprintf(stderr, "%s: %s\n", spec->name, problem.message);
        CHECK(false);
    }
}

int64_t command_time(uint64_t seed, uint64_t number)
{
    struct dice dice = dice_for(seed, number, 1);
    return START_MS + (int64_t)number * STEP_MS + (int64_t)roll(&dice, STEP_MS);
}

uint64_t batch_size(uint64_t seed, uint64_t number, uint64_t most)
{
    struct dice dice = dice_for(seed, number, 2);
    return 1 + roll(&dice, most);
}
