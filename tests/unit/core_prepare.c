/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at commands ahead changes nothing: neither the state nor any answer, whatever the
 * commands do to each other in between. */
#include "core_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_MAX 40
#define WORDS_MAX 16

/* Commands that came together, and the text that they borrow. */
struct group {
    struct command commands[GROUP_MAX];
    char texts[GROUP_MAX][200];
    size_t count;
};

static void add(struct group *group, const char *line)
{
    struct command *command = &group->commands[group->count];
    char *text = group->texts[group->count++], *rest = NULL;
    struct hf_bytes words[WORDS_MAX];
    size_t count = 0;

    assert_true(group->count <= GROUP_MAX);
    snprintf(text, sizeof group->texts[0], "%s", line);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        words[count++] = hf_text(word);
    }
    assert_int_equal(command_from_words(command, count, words, NULL), HF_OK);
    memset(command->entropy, 7, sizeof command->entropy);
}

/* ---- the state ------------------------------------------------------------------------------- */

static const char *const lines[] = {
    "SEATS.RESERVE gala floor b1 ann 1 9",
    "SEATS.RESERVE gala floor new 0b9ad4fc-58f3-4ee5-95a5-5a4a6d7a8f11 1 9",
    "SEATS.RESERVE never floor b1 ann 1 9",
    "SEATS.CONFIRM gala b1",
    "SEATS.RELEASE gala b1",
    "SEATS.REFUND gala b1",
    "SEATS.EXTEND gala b1 60",
    "SEATS.GET gala a-booking-whose-name-is-too-long-for-its-record",
    "SEATS.GET never b1",
    "SEATS.USER gala ann",
    "SEATS.ZONE gala floor",
    "SEATS.CLOSE gala FORCE",
    "QUOTA.RESERVE acme 1",
    "QUOTA.RESERVE acme 1 HOLD h1",
    "QUOTA.COMMIT acme h1",
    "QUOTA.CANCEL nobody h1",
    "STOCK.TAKE shoe o1 ann 1",
    "STOCK.SETTLE shoe o1",
    "STOCK.GIVE shoe o2",
    "SEM.ACQUIRE gate c1 1",
    "LOCK.TRY door 60",
    "LOCK.UNLOCK door x",
    "IDEM.BEGIN k1 print",
    "IDEM.COMPLETE k1 done",
    "LIST events",
    "STOCK.BUY shoe o1 ann 1",
};

static void nothing_changes(void **state)
{
    struct fixture *f = *state;
    struct group *group = calloc(1, sizeof *group);

    assert_non_null(group);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        add(group, lines[i]);
    }
    core_prepare(f->core, group->commands, group->count); /* of an empty state */
    core_prepare(f->core, group->commands, 0);
    at(f, 1000);
    run(f, "SEATS.OPEN gala floor 100");
    run(f, "SEATS.RESERVE gala floor b1 ann 1 9");
    run(f, "QUOTA.LIMIT acme 10");
    run(f, "QUOTA.RESERVE acme 1 HOLD h1");
    run(f, "STOCK.LOAD shoe 10");
    run(f, "STOCK.TAKE shoe o1 ann 1");
    run(f, "LOCK.TRY door 60");
    run(f, "IDEM.BEGIN k1 print");
    uint64_t digest = core_digest(f->core);
    core_prepare(f->core, group->commands, group->count);
    assert_true(core_digest(f->core) == digest);
    free(group);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* A command on few names, so that many of them meet. */
static void add_random(struct group *group, unsigned *seed)
{
    static const char *const forms[] = {
        "SEATS.OPEN e%u z%u 1000",
        "SEATS.RESERVE e%u z%u b%u u%u 1 9 TTL 50ms",
        "SEATS.RESERVE e%u z%u a-booking-whose-name-is-long-%u a-user-with-a-long-name-%u 1 9",
        ("SEATS.RESERVE e%u z%u 0b9ad4fc-58f3-4ee5-95a5-5a4a6d7a8f1%u "
         "58f3d4fc-58f3-4ee5-95a5-5a4a6d7a8f1%u 1 9"),
        "SEATS.RELEASE e%u b%u",
        "SEATS.CONFIRM e%u b%u",
        "SEATS.ZONE e%u z%u",
        "SEATS.USER e%u u%u",
        "SEATS.CLOSE e%u FORCE",
    };
    char line[200];
    unsigned a = (unsigned)rand_r(seed) % 3, b = (unsigned)rand_r(seed) % 2;
    unsigned c = (unsigned)rand_r(seed) % 9, d = (unsigned)rand_r(seed) % 4;
    size_t form = (size_t)rand_r(seed) % (sizeof forms / sizeof *forms);

    snprintf(line, sizeof line, forms[form], a, b, c, d);
    add(group, line);
}

static void no_answer_depends_on_it(void **state)
{
    struct fixture *f = *state;
    void *other = NULL;
    unsigned seed = 18;
    struct group *group = calloc(1, sizeof *group);

    assert_non_null(group);
    assert_int_equal(fixture_setup(&other), 0);
    struct fixture *plain = other;
    for (int64_t now_ms = 1000; now_ms < 4000; now_ms += 5) {
        group->count = 0;
        for (size_t count = 1 + (size_t)rand_r(&seed) % GROUP_MAX; count > 0; count--) {
            add_random(group, &seed);
        }
        core_prepare(f->core, group->commands, group->count);
        for (size_t i = 0; i < group->count; i++) {
            core_apply(f->core, &group->commands[i], now_ms, &f->reply);
            core_apply(plain->core, &group->commands[i], now_ms, &plain->reply);
            assert_int_equal(f->reply.code, plain->reply.code);
            assert_int_equal(f->reply.count, plain->reply.count);
        }
        assert_true(core_digest(f->core) == core_digest(plain->core));
    }
    run(f, "LIST events"); /* and the audit */
    free(group);
    assert_int_equal(fixture_teardown(&other), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(nothing_changes),
        CASE(no_answer_depends_on_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
