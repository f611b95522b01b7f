/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk in memory, to cut the power of.
 *
 * What a process sees is what it wrote. What is left after a power cut is what was synced, and of
 * the rest what chance lets through:
 *
 *   1. All that a file held at its last sync is there.
 *   2. Of a write since then each 512-byte sector is there or is not, each by itself; what is not
 *      reads as before, or as zeros behind the old end. The last sector of a write that does not
 *      end on a sector may be cut anywhere.
 *   3. A file is as long as it was at its last sync, or after any change since then.
 *   4. A name created, renamed or removed since the last sync of the directory is so or is not: in
 *      half of the images up to some change, in order, in the others each by itself. A file without
 *      a name is gone.
 *
 * The disk outlives the `struct storage` that an engine is given, which is only a view of it. */
#ifndef SIM_STORAGE_SIM_H
#define SIM_STORAGE_SIM_H

#include "dice.h"
#include "journal/storage.h"

struct sim_disk;

/* How often, of 1000 calls, something goes wrong. */
struct sim_faults {
    unsigned write_error; /* of write, truncate and allocate: EIO or ENOSPC */
    unsigned sync_error;  /* of a file or the directory; what it was for may be on disk or not */
    unsigned name_error;  /* of create, rename and remove */
    unsigned short_count; /* of read and write */
    unsigned interrupt;   /* of read and write: EINTR */
    /* After a failed sync a later one does not make up for it: the system takes what was not
     * written for written, as Linux does. */
    bool forgetful;
};

struct sim_disk *sim_disk_new(void);
void sim_disk_free(struct sim_disk *disk);

/* A view of the disk for one process. Freeing it unlocks the disk, and leaves the rest alone. */
struct storage *sim_storage(struct sim_disk *disk);

/* From here on these faults happen; NULL for none. `dice` is used by every call. */
void sim_disk_faults(struct sim_disk *disk, const struct sim_faults *faults, struct dice *dice);
/* How many calls were made to fail. */
uint64_t sim_disk_injected(const struct sim_disk *disk);

/* After so many more operations that change something every one fails, without effect; 0: now. */
void sim_disk_stop_after(struct sim_disk *disk, uint64_t operations);
bool sim_disk_stopped(const struct sim_disk *disk);
/* The process is gone, the system goes on: what was written is there to read, synced or not. */
void sim_disk_restart(struct sim_disk *disk);

/* What could be found after a power cut, as a disk of its own. */
struct sim_disk *sim_crash(const struct sim_disk *disk, struct dice *dice);

#endif
