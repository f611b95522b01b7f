/* SPDX-License-Identifier: Apache-2.0
 *
 * Random commands: mostly by templates, which make them meet each other; the others by the rows of
 * the table, so that none is left out. */
#include "generate.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The words of commands, more of what is to happen more often. $ and a letter stand for something
 * random: see expand(). */
static const char *const templates[] = {
    "SEATS.OPEN $e $z $m",
    "SEATS.RESERVE $e $z $i $u $n $m TTL $t",
    "SEATS.RESERVE $e $z $i $u $n 0 SHOW $e PRICE $m",
    "SEATS.RESERVE $e $z $i $u $n $m TTL $t LIFETIME",
    "SEATS.CONFIRM $e $i",
    "SEATS.CONFIRM $e $i USER $u PAYMENT $i",
    "SEATS.RELEASE $e $i",
    "SEATS.RELEASE $e $i USER $u",
    "SEATS.OPEN $e $z $m MAX $n LIFETIME",
    "SEATS.RESERVE $e $z $i $u $n $m PASS $i",
    "SEATS.REFUND $e $i",
    "SEATS.REFUND $e $i USER $u",
    "SEATS.LIST $e USER $u COUNT $n",
    "SEATS.CLOSE $e",
    "SEATS.CLOSE $e FORCE",
    "SEATS.EXTEND $e $i $t",
    "SEATS.GET $e $i",
    "SEATS.ZONE $e $z",
    "SEATS.USER $e $u",
    "QUOTA.LIMIT $e $m",
    "QUOTA.RESERVE $e $n",
    "QUOTA.RESERVE $e $n HOLD $i TTL $t",
    "QUOTA.RESERVE $e $n HOLD $i",
    "QUOTA.REFUND $e $n",
    "QUOTA.COMMIT $e $i",
    "QUOTA.COMMIT $e $i AMOUNT $m",
    "QUOTA.CANCEL $e $i",
    "QUOTA.EXTEND $e $i $t",
    "QUOTA.CLOSE $e",
    "QUOTA.SYNC $e $n",
    "QUOTA.GET $e",
    "SEM.ACQUIRE $e $u $n HEARTBEAT $t TTL $t",
    "SEM.ACQUIRE $e $u $n WAIT $w",
    "SEM.ACQUIRE $e $u 1 HEARTBEAT $t TTL $t WAIT $w",
    "SEM.ACQUIRE $e $i 2 WAIT $w",
    "SEM.ACQUIRE $e $u 4 SLOTS 3 WAIT $w",
    "SEM.ACQUIRE $e $u 4 SLOTS $n",
    "SEM.QUEUE $e $u $t $t",
    "SEM.WAKE $e $n $t $t",
    "SEM.CONFIRM $e $u $n $t $t",
    "SEM.RELEASE $e $u",
    "SEM.RELEASE $e $i",
    "SEM.PING $e $u $t $t",
    "SEM.CARD $e",
    "SEM.STATS $e",
    "LOCK.TRY $e $t",
    "LOCK.TRY $e $t ID $u",
    "LOCK.TRY $z $t ID $u",
    "LOCK.UNLOCK $z $u",
    "LOCK.EXTEND $z $u $t",
    "LOCK.GET $z",
    "STOCK.LOAD $e $m",
    "STOCK.LOAD $e $m SHARDS $n WATERMARK $n POLICY steal",
    "STOCK.TAKE $e $i $u $n",
    "STOCK.TAKE $e $i $u $n TTL $t",
    "STOCK.TAKE $e $i $u $n MAX $n",
    "STOCK.EXTEND $e $i $t USER $u",
    "STOCK.SETTLE $e $i",
    "STOCK.SETTLE $e $i USER $u",
    "STOCK.LIST $e COUNT $n",
    "STOCK.CLOSE $e",
    "STOCK.GIVE $e $i",
    "STOCK.GET $e",
    "STOCK.ADJUST $e $n recount",
    "ROOM.JOIN $e $u MAX $n TTL $t",
    "ROOM.JOIN $e $i",
    "ROOM.POSITION $e $u",
    "ROOM.LEAVE $e $u",
    "ROOM.ADMIT $e $n PASS $t",
    "ROOM.ADMIT $e $n",
    "ROOM.CHECK $e $u $i",
    "ROOM.OPEN $e RATE $n INSIDE $n PASS $t",
    "ROOM.OPEN $e START $m ORDER random",
    "ROOM.OPEN $e START 9007199254740991 ORDER random GATE",
    "ROOM.OPEN $e RATE $n PAUSED",
    "ROOM.OPEN $e",
    "ROOM.TICK $e",
    "ROOM.DONE $e $u",
    "ROOM.STATS $e",
    "IDEM.BEGIN $i $e TTL $t",
    "IDEM.BEGIN $i $e",
    "IDEM.COMPLETE $i $b TTL $t",
    "IDEM.ABORT $i",
    "LIST events COUNT $n",
    "LIST zones COUNT $n",
    "LIST tenants COUNT $n",
    "LIST semaphores COUNT $n",
    "LIST products COUNT $n",
    "LIST rooms COUNT $n",
};

#define TEMPLATES (sizeof templates / sizeof templates[0])

static const char *const durations[] = {"10ms", "50ms", "700ms", "2", "10", "1m", "10m", "24h"};

/* Mostly short, now and then larger than a sector, a few times a page. */
static size_t draw_response(struct dice *dice, char *out)
{
    static const size_t limits[] = {16, 64, 600, 5000};
    size_t size = dice_below(dice, limits[dice_below(dice, sizeof limits / sizeof limits[0])]);

    for (size_t i = 0; i < size; i++) {
        out[i] = (char)dice_roll(dice);
    }
    return size;
}

/* What a letter stands for; returns how many bytes were written. */
static size_t expand(struct dice *dice, char letter, char *out)
{
    int size = 0;

    switch (letter) {
    case 'e': /* a scope */
        size = sprintf(out, "scope%zu", dice_below(dice, 2));
        break;
    case 'z':
        size = sprintf(out, "z%zu", dice_below(dice, 3));
        break;
    case 'u': /* a person */
        size = sprintf(out, "user-%zu", dice_below(dice, 5));
        break;
    case 'i': /* a hold: every other one a UUID, which are kept in another way */
        size = dice_chance(dice, 500)
                   ? sprintf(out, "hold-%zu", dice_below(dice, 12))
                   : sprintf(out, "0b9d4a6e-7c11-4f5e-8a52-0000000000%02zx", dice_below(dice, 12));
        break;
    case 'n':
        size = sprintf(out, "%" PRId64, dice_between(dice, 1, 4));
        break;
    case 'm':
        size = sprintf(out, "%" PRId64, dice_between(dice, 0, 60));
        break;
    case 'w': /* a wait */
        size = sprintf(out, "%" PRId64, dice_between(dice, 0, 5000));
        break;
    case 't':
        size =
            sprintf(out, "%s", durations[dice_below(dice, sizeof durations / sizeof durations[0])]);
        break;
    case 'b':
        return draw_response(dice, out);
    default:
        CHECK(false);
    }
    return (size_t)size;
}

/* What stands for an argument in a template. */
static const char *letter_for(const struct arg_spec *arg, bool scope)
{
    switch (arg->type) {
    case ARG_ID:
        return scope                            ? "$e"
               : strcmp(arg->name, "zone") == 0 ? "$z"
               : strcmp(arg->name, "user") == 0 ? "$u"
                                                : "$i";
    case ARG_DURATION:
        return "$t";
    case ARG_COUNT:
    case ARG_AMOUNT:
        return "$n";
    default:
        return "$b";
    }
}

/* A template of a row's required arguments. */
static void template_of(const struct command_spec *spec, char *out, size_t room)
{
    size_t size = (size_t)snprintf(out, room, "%s", spec->name);

    for (size_t i = 0; i < spec->required; i++) {
        const struct arg_spec *arg = &spec->args[i];
        const char *word = arg->type == ARG_TEXT     ? "recount"
                           : arg->type == ARG_CHOICE ? arg->choices
                                                     : letter_for(arg, i == 0);
        size += (size_t)snprintf(out + size, room - size, " %.*s", (int)strcspn(word, "|"), word);
        CHECK(size < room);
    }
}

/* A row that an engine carries out. */
static const struct command_spec *draw_spec(struct dice *dice)
{
    const struct command_spec *spec;

    do {
        spec = &command_table[dice_below(dice, COMMAND_COUNT)];
    } while (spec->flags & COMMAND_SERVICE);
    return spec;
}

void generate(struct dice *dice, struct generated *out)
{
    char made[128];
    size_t which = dice_below(dice, TEMPLATES + COMMAND_COUNT / 4);
    const char *at = which < TEMPLATES ? templates[which] : made;
    struct hf_bytes words[COMMAND_WORDS_MAX];
    struct problem problem;
    size_t count = 0, used = 0;

    if (at == made) {
        template_of(draw_spec(dice), made, sizeof made);
    }
    while (*at != '\0') {
        size_t size = strcspn(at, " ");
        char *word = out->text + used;
        if (*at == '$') {
            used += expand(dice, at[1], word);
        } else {
            memcpy(word, at, size);
            used += size;
        }
        words[count++] = (struct hf_bytes){word, (size_t)(out->text + used - word)};
        at += size + (at[size] == ' ');
    }
    enum hf_error code = command_from_words(&out->command, count, words, &problem);
    if (code != HF_OK) {
        fprintf(stderr, "# %.*s: %s\n", (int)words[0].size, words[0].data, problem.message);
    }
    CHECK(code == HF_OK);
}
