/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts syncs of data: a library to be loaded in front of others (LD_PRELOAD). The first 8 bytes
 * of the file that COUNTED_SYNCS names are the number of calls of fdatasync(2) so far, as this
 * machine writes an uint64_t. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint64_t *syncs;

__attribute__((constructor)) static void watch(void)
{
    const char *path = getenv("COUNTED_SYNCS");
    int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (file >= 0) {
        void *memory = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        syncs = memory != MAP_FAILED ? memory : NULL;
        close(file);
    }
}

int fdatasync(int file)
{
    if (syncs != NULL) {
        atomic_fetch_add(syncs, 1);
    }
    return (int)syscall(SYS_fdatasync, file);
}
