/* SPDX-License-Identifier: Apache-2.0
 *
 * Every allocation fails in turn, over a script of all commands: whatever the N-th one is for, the
 * command it fails is refused with BUSY and has changed nothing, the same command again succeeds,
 * the end is the same as without failures, and no byte is lost. */
#include "core_fixture.h"
#include "choice_fixture.h"

#include "base/text.h"

#include <stdlib.h>

/* ---- memory that fails ----------------------------------------------------------------------- */

struct failing {
    struct memory memory; /* first: what the core sees */
    uint64_t calls;       /* allocations asked for while armed */
    uint64_t fail_at;     /* the call that fails; 0: none */
    bool stubborn;        /* those after it fail too */
    bool armed;
    uint64_t failed;
};

static bool fails(struct memory *memory)
{
    struct failing *failing = (struct failing *)memory;

    if (!failing->armed) {
        return false;
    }
    failing->calls++;
    bool now = failing->fail_at != 0 && (failing->stubborn ? failing->calls >= failing->fail_at
                                                           : failing->calls == failing->fail_at);
    failing->failed += now;
    return now;
}

static void *failing_resize(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return fails(memory) ? NULL : realloc(block, new_size);
}

static void *failing_zeroed(struct memory *memory, size_t size)
{
    return fails(memory) ? NULL : calloc(1, size);
}

/* ---- the script ------------------------------------------------------------------------------ */

#define LONG_A "a-name-that-does-not-fit-into-sixteen-bytes-and-is-no-uuid-A"
#define LONG_B "a-name-that-does-not-fit-into-sixteen-bytes-and-is-no-uuid-B"
#define LONG_C "a-name-that-does-not-fit-into-sixteen-bytes-and-is-no-uuid-C"
#define UUID_A "0f8fad5b-d9cb-469f-a165-70867728950e"

/* Milliseconds to go on, then the command, with the names that need memory. Behind these steps
 * comes one for each row of the table, with no more than it requires. */
static const struct step {
    int64_t pause_ms;
    const char *words;
} script[] = {
    {0, "SEATS.OPEN " LONG_A " " LONG_B " 100"},
    {0, "SEATS.OPEN " LONG_A " small 100"},
    {1, "SEATS.RESERVE " LONG_A " " LONG_B " " LONG_C " " LONG_A " 2 9 SHOW " LONG_B " PRICE 5"},
    {1, "SEATS.RESERVE " LONG_A " small b2 ann 2 9 TTL 1s LIFETIME"},
    {1, "SEATS.RESERVE " LONG_A " small " UUID_A " ann 2 9 SHOW s"},
    {0, "SEATS.EXTEND " LONG_A " " UUID_A " 700"},
    {0, "SEATS.CONFIRM " LONG_A " " LONG_C " USER " LONG_A " PAYMENT " LONG_B},
    {0, "SEATS.CONFIRM " LONG_A " " LONG_C " PAYMENT " LONG_B},
    {0, "SEATS.RELEASE " LONG_A " " UUID_A},
    {0, "SEATS.RESERVE " LONG_A " " LONG_B " " UUID_A " " LONG_C " 1 9"},
    {0, "SEATS.GET " LONG_A " " LONG_C},
    {0, "SEATS.ZONE " LONG_A " " LONG_B},
    {0, "SEATS.USER " LONG_A " ann"},
    {0, "QUOTA.LIMIT " LONG_A " 1000"},
    {0, "QUOTA.RESERVE " LONG_A " 10"},
    {0, "QUOTA.RESERVE " LONG_A " 10 HOLD " LONG_B},
    {0, "QUOTA.RESERVE " LONG_A " 10 HOLD h2 TTL 2s"},
    {0, "QUOTA.RESERVE " LONG_A " 10 HOLD h3"},
    {0, "QUOTA.COMMIT " LONG_A " " LONG_B},
    {0, "QUOTA.CANCEL " LONG_A " h3"},
    {0, "QUOTA.RESERVE " LONG_A " 10 HOLD h3"},
    {0, "QUOTA.REFUND " LONG_A " 5"},
    {0, "QUOTA.SYNC " LONG_B " 7"},
    {0, "QUOTA.GET " LONG_A},
    {1, "SEM.ACQUIRE " LONG_A " " LONG_B " 1 HEARTBEAT 5s"},
    {0, "SEM.ACQUIRE " LONG_A " " LONG_C " 1 WAIT 60000"},
    {0, "SEM.ACQUIRE " LONG_A " w2 1 WAIT 10s"},
    {0, "SEM.ACQUIRE " LONG_A " " LONG_C " 1 WAIT 50s"},
    {0, "SEM.QUEUE " LONG_A " q1 10 20"},
    {0, "SEM.QUEUE " LONG_B " q1 10 20"},
    {0, "SEM.WAKE " LONG_B " 3 10 20"},
    {0, "SEM.CONFIRM " LONG_B " q1 3 10 20"},
    {0, "SEM.PING " LONG_A " " LONG_B " 8 100"},
    {0, "SEM.RELEASE " LONG_A " " LONG_B},
    {0, "SEM.CARD " LONG_A},
    {0, "SEM.STATS " LONG_A},
    {0, "LOCK.TRY " LONG_A " 5 ID " LONG_B},
    {0, "LOCK.TRY seat 5"},
    {0, "LOCK.EXTEND " LONG_A " " LONG_B " 6"},
    {0, "LOCK.GET " LONG_A},
    {0, "LOCK.UNLOCK " LONG_A " " LONG_B},
    {0, "STOCK.LOAD " LONG_A " 100 SHARDS 4 WATERMARK 10 POLICY steal"},
    {0, "STOCK.TAKE " LONG_A " " LONG_B " " LONG_C " 3"},
    {0, "STOCK.TAKE " LONG_A " o2 ann 3 TTL 3s"},
    {0, "STOCK.TAKE " LONG_A " o3 " LONG_C " 3"},
    {0, "STOCK.SETTLE " LONG_A " " LONG_B},
    {0, "STOCK.GIVE " LONG_A " o3"},
    {0, "STOCK.TAKE " LONG_A " o3 " LONG_B " 4"},
    {0, "STOCK.ADJUST " LONG_A " -5 count"},
    {0, "STOCK.GET " LONG_A},
    {0, "ROOM.JOIN " LONG_A " " LONG_B},
    {0, "ROOM.JOIN " LONG_A " ann MAX 10 TTL 9s"},
    {0, "ROOM.JOIN " LONG_A " bob"},
    {0, "ROOM.JOIN " LONG_A " " LONG_C},
    {0, "ROOM.JOIN " LONG_A " cat"},
    {0, "ROOM.JOIN " LONG_A " dan"},
    {0, "ROOM.JOIN " LONG_A " eve"},
    {0, "ROOM.JOIN " LONG_A " fay"},
    {0, "ROOM.JOIN " LONG_A " gus"},
    {0, "ROOM.OPEN " LONG_A " RATE 9 INSIDE 9 GATE"},
    {0, "ROOM.OPEN " LONG_B " RATE 9 INSIDE 9 START 9007199254740991 ORDER random"},
    {0, "ROOM.LEAVE " LONG_A " bob"},
    {0, "ROOM.POSITION " LONG_A " " LONG_C},
    {0, "ROOM.ADMIT " LONG_A " 2 PASS 4s ID " LONG_B},
    {0, "ROOM.ADMIT " LONG_A " 2 PASS 4s ID " LONG_B},
    {0, "ROOM.ADMIT " LONG_B " 2 ID " LONG_C},
    {0, "ROOM.ADMIT " LONG_A " 3 PASS 4s"},
    {0, "ROOM.CHECK " LONG_A " ann 0123"},
    {0, "ROOM.TICK " LONG_A},
    {0, "ROOM.DONE " LONG_A " ann"},
    {0, "IDEM.BEGIN " LONG_A " " LONG_B},
    {0, "IDEM.BEGIN k2 f"},
    {0, "IDEM.COMPLETE " LONG_A " " LONG_A LONG_B LONG_C " TTL 7s"},
    {0, "IDEM.BEGIN " LONG_A " " LONG_B},
    {0, "IDEM.ABORT k2"},
    {0, "SEATS.OPEN " LONG_C " " LONG_B " 9 MAX 2 LIFETIME"},
    {0, "SEATS.RESERVE " LONG_C " " LONG_B " " LONG_A " " LONG_B " 2 9 SHOW " LONG_A},
    {0, "SEATS.CONFIRM " LONG_C " " LONG_A " PAYMENT " LONG_B},
    {0, "SEATS.REFUND " LONG_C " " LONG_A},
    {0, "SEATS.RESERVE " LONG_C " " LONG_B " " LONG_A " " LONG_C " 2 9"},
    {0, "SEATS.CONFIRM " LONG_C " " LONG_A " PAYMENT " LONG_C},
    {0, "SEATS.LIST " LONG_A},
    {0, "SEATS.LIST " LONG_A " USER " LONG_A " STATUS confirmed COUNT 1"},
    {0, "LIST events MATCH a-name"},
    {0, "LIST zones COUNT 2"},
    {0, "LIST tenants"},
    {0, "LIST semaphores"},
    {0, "LIST products"},
    {0, "LIST rooms"},
    {0, "QUOTA.LIST " LONG_A},
    {0, "QUOTA.EXTEND " LONG_A " h2 2s"},
    {0, "SEM.ACQUIRE " LONG_C " " LONG_A " 5 SLOTS 4"},
    {0, "SEM.ACQUIRE " LONG_C " " LONG_B " 5 SLOTS 3 WAIT 9s"},
    {0, "SEM.ACQUIRE " LONG_C " " LONG_C " 5 WAIT 9s"},
    {0, "SEM.LIST " LONG_C},
    {0, "SEM.WAKE " LONG_C " 2 10 20"},
    {0, "STOCK.TAKE " LONG_A " " LONG_A " " LONG_A " 1 MAX 1 TTL 9s"},
    {0, "STOCK.EXTEND " LONG_A " " LONG_A " 8s"},
    {0, "STOCK.LOAD " LONG_B " 9"},
    {0, "STOCK.TAKE " LONG_B " " LONG_A " " LONG_A " 1"},
    {0, "STOCK.SETTLE " LONG_B " " LONG_A},
    {0, "STOCK.CLOSE " LONG_B},
    {0, "SEATS.CLOSE " LONG_C " FORCE"},
    {0, "SEATS.OPEN " LONG_C " " LONG_B " 9"},
    {0, "QUOTA.LIMIT " LONG_C " 9"},
    {0, "QUOTA.RESERVE " LONG_C " 1 HOLD " LONG_A},
    {0, "QUOTA.COMMIT " LONG_C " " LONG_A " AMOUNT 2"},
    {0, "QUOTA.CLOSE " LONG_C},
    {12000, "SEATS.ZONE " LONG_A " small"},
    {70000, "SEM.STATS " LONG_A},
    {400000, "STOCK.GET " LONG_A},
};

#define SCRIPTED (sizeof script / sizeof script[0])
#define STEPS (SCRIPTED + COMMAND_COUNT)

static int64_t pause_before(size_t step)
{
    return step < SCRIPTED ? script[step].pause_ms : 0;
}

static size_t split(const char *text, struct hf_bytes *words)
{
    size_t count = 0;

    for (;; text++) {
        size_t size = strcspn(text, " ");
        words[count++] = (struct hf_bytes){text, size};
        text += size;
        if (*text == '\0') {
            return count;
        }
    }
}

/* The row's name and required arguments. */
static size_t require(const struct command_spec *spec, struct hf_bytes *words)
{
    words[0] = hf_text(spec->name);
    for (size_t i = 0; i < spec->required; i++) {
        bool is_id = spec->args[i].type == ARG_ID, choice = spec->args[i].type == ARG_CHOICE;
        words[i + 1] = choice ? last_choice(&spec->args[i])
                              : hf_text(!is_id   ? "5"
                                        : i == 0 ? LONG_A
                                                 : LONG_B);
    }
    return 1 + spec->required;
}

static void decode(struct command *command, size_t step)
{
    struct hf_bytes words[COMMAND_WORDS_MAX];
    struct problem problem;
    size_t count = step < SCRIPTED ? split(script[step].words, words)
                                   : require(&command_table[step - SCRIPTED], words);

    assert_int_equal(command_from_words(command, count, words, &problem), HF_OK);
    memset(command->entropy, (int)(step + 1), sizeof command->entropy);
}

/* Carries out a step; where it is refused for memory nothing may have changed, and it is repeated
 * with enough. */
static void take_step(struct failing *failing, struct core *core, struct reply *reply, size_t step,
                      int64_t now_ms)
{
    struct command command;

    decode(&command, step);
    core_advance(core, now_ms);
    uint64_t before = core_digest(core);
    failing->armed = true;
    core_apply(core, &command, now_ms, reply);
    failing->armed = false;
    if (reply->code == HF_BUSY) {
        assert_true(failing->failed > 0);
        assert_true(core_digest(core) == before);
        core_apply(core, &command, now_ms, reply);
        assert_int_not_equal(reply->code, HF_BUSY);
    }
    assert_int_equal(core_audit(core, NULL, NULL), 0);
}

/* The whole script with the fail_at-th allocation failing. Returns the digest at the end, and in
 * *reached whether there were that many. */
static uint64_t play(uint64_t fail_at, bool stubborn, bool *reached)
{
    static const uint64_t seed[2] = {3, 4};
    struct failing failing = {.memory = {.resize = failing_resize, .zeroed = failing_zeroed},
                              .fail_at = fail_at,
                              .stubborn = stubborn};
    struct reply reply;
    int64_t now_ms = 1000000;

    struct core *core = core_create(&failing.memory, seed);
    assert_non_null(core);
    assert_true(reply_init(&reply, &failing.memory));
    for (size_t step = 0; step < STEPS; step++) {
        now_ms += pause_before(step);
        take_step(&failing, core, &reply, step, now_ms);
        if (failing.failed > 0) {
            failing.fail_at = 0; /* once is enough; a stubborn one lasted for the command */
        }
    }
    *reached = failing.failed > 0;
    uint64_t digest = core_digest(core);
    core_destroy(core);
    reply_free(&reply);
    assert_int_equal(failing.memory.used, 0);
    return digest;
}

static void every_failure(bool stubborn)
{
    bool reached;
    uint64_t expected = play(0, false, &reached), count = 0;

    do {
        assert_true(play(++count, stubborn, &reached) == expected);
    } while (reached);
    assert_true(count > 60); /* or the script no longer needs memory */
    print_message("# %d allocations failed in turn\n", (int)count - 1);
}

static void a_command_refused_for_memory_has_changed_nothing(void **state)
{
    (void)state;
    every_failure(false);
}

static void so_it_is_when_all_memory_is_gone_for_a_while(void **state)
{
    (void)state;
    every_failure(true);
}

/* Snapshot, restore and audit need memory too; without it they say so and leave no trace. */
static void snapshots_and_audits_survive_failures(void **state)
{
    static const uint64_t seed[2] = {3, 4};
    struct failing failing = {.memory = {.resize = failing_resize, .zeroed = failing_zeroed}};
    struct reply reply;
    struct buffer bytes;
    (void)state;

    struct core *core = core_create(&failing.memory, seed);
    assert_true(core != NULL && reply_init(&reply, &failing.memory));
    for (size_t step = 0; step < 67; step++) {
        take_step(&failing, core, &reply, step, 1000000);
    }
    bool done = false;
    for (uint64_t fail_at = 1; !done; fail_at++) {
        failing.armed = true;
        failing.calls = failing.failed = 0;
        failing.fail_at = fail_at;
        buffer_init(&bytes, &failing.memory);
        bool written = core_snapshot(core, &bytes);
        struct hf_bytes snapshot = {bytes.data, bytes.size};
        struct problem problem = {.code = HF_BUSY};
        struct core *copy =
            written ? core_restore(&failing.memory, seed, snapshot, &problem) : NULL;
        assert_true(copy != NULL || problem.code == HF_BUSY); /* nothing is wrong with the data */
        uint64_t findings = core_audit(core, NULL, NULL);
        failing.armed = false;
        done = failing.failed == 0;
        assert_true(findings == 0 || findings == UINT64_MAX);
        assert_true(!done || (copy != NULL && findings == 0));
        core_destroy(copy);
        buffer_free(&bytes);
    }
    core_destroy(core);
    reply_free(&reply);
    assert_int_equal(failing.memory.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_refused_for_memory_has_changed_nothing),
        cmocka_unit_test(so_it_is_when_all_memory_is_gone_for_a_while),
        cmocka_unit_test(snapshots_and_audits_survive_failures),
    };
    return cmocka_run_group_tests_name("core_allocation", tests, NULL, NULL);
}
