/* SPDX-License-Identifier: Apache-2.0
 *
 * What is left of a simulated disk after a power cut; the rules stand in storage_sim.h. */
#include "disk.h"

#include <stdlib.h>

/* How much of what was not synced gets through, in an image. */
static unsigned draw_share(struct dice *dice)
{
    static const unsigned shares[] = {0, 100, 500, 900, 1000};
    return shares[dice_below(dice, sizeof shares / sizeof shares[0])];
}

void file_land(struct content *content, const struct change *change, unsigned share,
               struct dice *dice)
{
    size_t end = change->offset + change->size;

    if (change->kind == CHANGE_SIZE) {
        if (dice_chance(dice, share)) {
            file_apply(content, change);
        }
        return;
    }
    for (size_t at = change->offset; at < end;) {
        size_t next = at / SECTOR * SECTOR + SECTOR;
        size_t stop = next < end ? next : end;
        if (stop < next && dice_chance(dice, 100)) {
            stop = at + dice_below(dice, stop - at + 1);
        }
        if (dice_chance(dice, share) && stop > at) {
            content_write(content, at, change->data + (at - change->offset), stop - at);
        }
        at = next;
    }
}

/* Any size the file had since its last sync. */
static size_t draw_size(const struct file *file, struct dice *dice)
{
    size_t keep = dice_chance(dice, 500) ? file->count : dice_below(dice, file->count + 1);
    size_t size = file->durable.size;

    for (size_t i = 0; i < keep; i++) {
        const struct change *change = &file->changes[i];
        size_t end = change->offset + change->size;
        if (change->kind == CHANGE_SIZE || end > size) {
            size = end;
        }
    }
    return size;
}

static void crash_file(const struct file *file, struct content *out, struct dice *dice)
{
    unsigned share = draw_share(dice);
    size_t size = draw_size(file, dice);

    content_copy(out, &file->durable);
    for (size_t i = 0; i < file->count; i++) {
        file_land(out, &file->changes[i], share, dice);
    }
    content_resize(out, size);
}

struct sim_disk *sim_crash(const struct sim_disk *disk, struct dice *dice)
{
    struct sim_disk *image = sim_disk_new();
    bool ordered = dice_chance(dice, 500);
    unsigned share = draw_share(dice);
    size_t prefix = dice_below(dice, disk->move_count + 1);
    struct entries names = {.count = 0};

    for (size_t i = 0; i < disk->durable.count; i++) {
        entries_set(&names, disk->durable.at[i].name, disk->durable.at[i].file);
    }
    for (size_t i = 0; i < disk->move_count; i++) {
        if (ordered ? i < prefix : dice_chance(dice, share)) {
            entries_move(&names, &disk->moves[i]);
        }
    }
    for (size_t i = 0; i < names.count; i++) {
        size_t file = disk_add_file(image);
        crash_file(&disk->files[names.at[i].file], &image->files[file].durable, dice);
        content_copy(&image->files[file].current, &image->files[file].durable);
        entries_set(&image->durable, names.at[i].name, file);
        entries_set(&image->current, names.at[i].name, file);
    }
    free(names.at);
    return image;
}
