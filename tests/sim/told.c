/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

#include "disk.h"

#include <stdlib.h>
#include <string.h>

void told_free(struct told *told)
{
    free(told->fences);
    *told = (struct told){.count = 0};
}

bool told_grant(struct told *told, int64_t fence, uint64_t who)
{
    size_t at = told->count;

    while (at > 0 && told->fences[at - 1].fence > fence) {
        at--;
    }
    if (at > 0 && told->fences[at - 1].fence == fence) {
        return told->fences[at - 1].who == who;
    }
    told->fences = disk_room(told->fences, told->count, &told->capacity, sizeof *told->fences);
    memmove(told->fences + at + 1, told->fences + at, (told->count - at) * sizeof *told->fences);
    told->fences[at] = (struct told_fence){fence, who};
    told->count++;
    return true;
}

int64_t told_last_fence(const struct told *told)
{
    return told->count > 0 ? told->fences[told->count - 1].fence : 0;
}
