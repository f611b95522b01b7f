/* SPDX-License-Identifier: Apache-2.0
 *
 * Lives made from one number each: random commands on a faulty disk, with power cuts, crashes and
 * restarts in between, under each policy. Whatever goes wrong, what is recovered is right (see
 * world.h), and the same number gives the same life.
 *
 *     HOLDFAST_SIM_SEEDS=5000     how many lives
 *     HOLDFAST_SIM_SEED=17        begin with this one
 *     HOLDFAST_SIM_FORGETFUL=0    a failed sync may be repeated; otherwise the system takes what is
 *                                 lost for written */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "settings.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>

#define STEPS_MAX 400
#define TRIES_MAX 200

struct totals {
    uint64_t commands, failures, cuts, crashes, closes, injected;
};

static const struct sim_faults kinds[] = {
    {.short_count = 100, .interrupt = 100},
    {.write_error = 10, .short_count = 50},
    {.sync_error = 10, .interrupt = 20},
    {.write_error = 5, .sync_error = 5, .name_error = 20, .short_count = 20, .interrupt = 20},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void work(struct world *world, struct totals *totals)
{
    size_t steps = dice_below(&world->dice, dice_chance(&world->dice, 500) ? 30 : STEPS_MAX);

    if (dice_chance(&world->dice, 500)) {
        sim_disk_stop_after(world->disk, (uint64_t)dice_between(&world->dice, 1, 100));
    }
    for (size_t i = 0; i < steps && world_is_right(world) && !world_failed(world); i++) {
        world_step(world);
    }
    /* After a failure nothing is answered any more. */
    if (world_failed(world)) {
        totals->failures++;
        for (unsigned i = 0; i < 5 && world_is_right(world); i++) {
            world_step(world);
        }
    }
}

/* Ends the engine in one of three ways; true if the power was cut. */
static bool end(struct world *world, struct totals *totals)
{
    struct sim_disk *disk = world->disk;
    size_t roll = dice_below(&world->dice, 3);

    totals->injected += sim_disk_injected(disk);
    if (roll == 0 && world->engine != NULL) {
        world_close(world);
        totals->closes++;
    } else {
        world_kill(world);
        totals->crashes += roll == 1;
    }
    if (roll < 2) {
        sim_disk_restart(disk);
        return false;
    }
    totals->cuts++;
    world->disk = sim_crash(disk, &world->dice);
    sim_disk_free(disk);
    return true;
}

static void draw_faults(struct world *world, bool none)
{
    static struct sim_faults faults;

    faults = kinds[dice_below(&world->dice, KINDS)];
    faults.forgetful = setting("HOLDFAST_SIM_FORGETFUL", 1) != 0;
    world->faults = none ? NULL : &faults;
    sim_disk_faults(world->disk, world->faults, &world->dice);
}

/* Until it starts. Of many starts that fail one is without faults. */
static void start(struct world *world, bool power_cut, struct totals *totals)
{
    for (unsigned i = 0; i < TRIES_MAX && world_is_right(world); i++) {
        draw_faults(world, i % 8 == 7);
        if (dice_chance(&world->dice, 100)) {
            sim_disk_stop_after(world->disk, (uint64_t)dice_between(&world->dice, 1, 10));
        }
        world_wait(world);
        if (world_recover(world, power_cut)) {
            return;
        }
        if (world_is_right(world)) {
            power_cut = end(world, totals);
        }
    }
}

static uint64_t run_seed(uint64_t seed, struct totals *totals, bool *right)
{
    struct world world;

    world_init(&world, mix(seed), (enum journal_policy)(seed % 3));
    start(&world, false, totals);
    size_t lives = 2 + dice_below(&world.dice, 10);
    for (size_t i = 0; i < lives && world_is_right(&world); i++) {
        work(&world, totals);
        if (world_is_right(&world)) {
            start(&world, end(&world, totals), totals);
        }
    }
    *right = world_is_right(&world);
    if (!*right) {
        print_error("seed %" PRIu64 ": %s\n", seed, world.why);
    }
    totals->commands += world.commands;
    uint64_t trace = world.trace;
    world_free(&world);
    return trace;
}

static void every_life_is_right_and_can_be_repeated(void **state)
{
    uint64_t wanted = setting("HOLDFAST_SIM_SEEDS", 500);
    uint64_t first = setting("HOLDFAST_SIM_SEED", 1), wrong = 0, seeds = 0, all = 0;
    struct totals totals = {.commands = 0}, again = {.commands = 0};
    (void)state;

    for (uint64_t seed = first; seed < first + wanted && wrong < 5; seed++, seeds++) {
        bool right, right_again = true;
        uint64_t trace = run_seed(seed, &totals, &right);
        if (right && run_seed(seed, &again, &right_again) != trace) {
            print_error("seed %" PRIu64 ": not the same the second time\n", seed);
            right_again = false;
        }
        wrong += !right || !right_again;
        all = mix(all + trace);
    }
    printf("# simulation: seeds %" PRIu64 " to %" PRIu64 ", each twice: %" PRIu64
           " commands, %" PRIu64 " calls made to fail, %" PRIu64 " failed engines, %" PRIu64
           " power cuts, %" PRIu64 " crashes, %" PRIu64 " orderly ends; hash %016" PRIx64 "\n",
           first, first + seeds - 1, totals.commands, totals.injected, totals.failures, totals.cuts,
           totals.crashes, totals.closes, all);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_life_is_right_and_can_be_repeated),
    };
    return cmocka_run_group_tests_name("simulation", tests, NULL, NULL);
}
