/* SPDX-License-Identifier: Apache-2.0
 *
 * The power goes at any moment, again and again, also while recovering from the last time. What is
 * found on the disk afterwards must be all that was acknowledged and no half command; see world.h.
 * The same holds for a copy of a directory, once it is said to be made.
 *
 *     HOLDFAST_SIM_IMAGES=10000   how many images to look at
 *     HOLDFAST_SIM_SEED=17        begin with this seed; the first run is then that one again */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "journal/copy.h"
#include "settings.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>

#define STEPS_MAX 1500

struct totals {
    uint64_t runs, images, cuts, interrupted, commands, records;
};

/* What changes when an image is looked at. */
struct belief {
    struct history history;
    size_t acknowledged, solid;
    bool interrupted;
};

static void believe(struct world *world, struct belief *belief)
{
    history_copy(&belief->history, &world->history);
    belief->acknowledged = world->acknowledged;
    belief->solid = world->solid;
    belief->interrupted = world->interrupted;
}

static void restore(struct world *world, const struct belief *belief)
{
    history_copy(&world->history, &belief->history);
    world->acknowledged = belief->acknowledged;
    world->solid = belief->solid;
    world->interrupted = belief->interrupted;
}

/* Works until the power goes. */
static void work(struct world *world)
{
    sim_disk_stop_after(world->disk, (uint64_t)dice_between(&world->dice, 1, 250));
    for (unsigned i = 0; i < STEPS_MAX && world_is_right(world) && !world_failed(world); i++) {
        world_step(world);
    }
    world_step(world);
    world_kill(world);
}

/* Looks at what one power cut could have left, and goes on with the last of these. */
static void cut_power(struct world *world, struct totals *totals)
{
    struct sim_disk *disk = world->disk;
    size_t images = 1 + dice_below(&world->dice, 4);
    struct belief belief = {.acknowledged = 0};

    totals->cuts++;
    believe(world, &belief);
    for (size_t i = 0; i < images && world_is_right(world); i++) {
        if (i > 0) {
            world_kill(world);
            sim_disk_free(world->disk);
            restore(world, &belief);
        }
        world->disk = sim_crash(disk, &world->dice);
        totals->images++;
        world_wait(world);
        world_recover(world, true);
    }
    history_free(&belief.history);
    sim_disk_free(disk);
}

/* The power goes while the engine starts, until it is let. */
static void start_again(struct world *world, struct totals *totals)
{
    while (world_is_right(world) && dice_chance(&world->dice, 300)) {
        world_kill(world);
        struct sim_disk *disk = world->disk;
        world->disk = sim_crash(disk, &world->dice);
        sim_disk_free(disk);
        totals->images++;
        sim_disk_stop_after(world->disk, (uint64_t)dice_between(&world->dice, 1, 10));
        world_wait(world);
        totals->interrupted += !world_recover(world, true);
    }
    if (world_is_right(world) && world->engine == NULL) {
        cut_power(world, totals);
    }
}

/* One life with a few power cuts. */
static bool run_seed(uint64_t seed, struct totals *totals)
{
    struct world world;

    world_init(&world, seed, JOURNAL_ALWAYS);
    world_recover(&world, false);
    size_t cuts = 3 + dice_below(&world.dice, 6);
    for (size_t i = 0; i < cuts && world_is_right(&world); i++) {
        work(&world);
        if (world_is_right(&world)) {
            cut_power(&world, totals);
        }
        start_again(&world, totals);
    }
    if (world_is_right(&world)) { /* in order, for once */
        sim_disk_stop_after(world.disk, UINT64_MAX);
        world_close(&world);
        sim_disk_restart(world.disk);
        world_recover(&world, false);
    }
    bool right = world_is_right(&world);
    if (!right) {
        print_error("seed %" PRIu64 ", image %" PRIu64 ": %s\n", seed, totals->images, world.why);
    }
    totals->runs++;
    totals->commands += world.commands;
    totals->records += world.history.count;
    world_free(&world);
    return right;
}

static void acknowledged_commands_survive_power_cuts(void **state)
{
    uint64_t wanted = setting("HOLDFAST_SIM_IMAGES", 2000);
    uint64_t seed = setting("HOLDFAST_SIM_SEED", 1), first = seed;
    struct totals totals = {.runs = 0};
    uint64_t wrong = 0;
    (void)state;

    while (totals.images < wanted && wrong < 5) {
        wrong += !run_seed(seed++, &totals);
    }
    printf("# power loss: %" PRIu64 " images of %" PRIu64 " power cuts, %" PRIu64
           " starts interrupted, in %" PRIu64 " runs of %" PRIu64 " commands in all; seeds %" PRIu64
           " to %" PRIu64 "\n",
           totals.images, totals.cuts, totals.interrupted, totals.runs, totals.commands, first,
           seed - 1);
    assert_int_equal(wrong, 0);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Copies what the world has on disk. NULL if the power went before it was done. */
static struct sim_disk *copy_disk(struct world *world, bool cut)
{
    struct sim_disk *disk = sim_disk_new();
    struct storage *from = sim_storage(world->disk), *to = sim_storage(disk);
    struct copied copied;
    char why[256] = "";

    sim_disk_stop_after(disk, cut ? (uint64_t)dice_between(&world->dice, 0, 12) : UINT64_MAX);
    bool done = copy_data(from, to, NULL, NULL, &copied, why);
    if (!done && !sim_disk_stopped(disk)) {
        print_error("no copy: %s\n", why);
        fail();
    }
    storage_free(from);
    storage_free(to);
    if (!done) {
        sim_disk_free(disk);
    }
    return done ? disk : NULL;
}

/* What was copied is all there after a power cut that comes right after the copy is said to be
 * made. True if there was a copy to look at. */
static bool run_copy_seed(uint64_t seed, uint64_t *wrong)
{
    struct world world;

    world_init(&world, seed, JOURNAL_ALWAYS);
    world_recover(&world, false);
    int64_t steps = dice_between(&world.dice, 1, 300);
    for (int64_t i = 0; i < steps && world_is_right(&world); i++) {
        world_step(&world);
    }
    world_close(&world);
    sim_disk_restart(world.disk);
    struct sim_disk *copy = copy_disk(&world, dice_chance(&world.dice, 500));
    if (copy != NULL) {
        sim_disk_free(world.disk);
        world.disk = sim_crash(copy, &world.dice);
        sim_disk_free(copy);
        world_recover(&world, true);
    }
    if (!world_is_right(&world)) {
        print_error("seed %" PRIu64 ": %s\n", seed, world.why);
        ++*wrong;
    }
    world_free(&world);
    return copy != NULL;
}

static void a_copy_survives_a_power_cut(void **state)
{
    uint64_t seed = setting("HOLDFAST_SIM_SEED", 1), first = seed, copies = 0, wrong = 0;
    uint64_t wanted = setting("HOLDFAST_SIM_IMAGES", 2000) / 10;
    (void)state;

    while (copies < wanted && wrong < 5) {
        copies += run_copy_seed(seed++, &wrong);
    }
    printf("# power loss: %" PRIu64 " copies; seeds %" PRIu64 " to %" PRIu64 "\n", copies, first,
           seed - 1);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acknowledged_commands_survive_power_cuts),
        cmocka_unit_test(a_copy_survives_a_power_cut),
    };
    return cmocka_run_group_tests_name("power_loss", tests, NULL, NULL);
}
