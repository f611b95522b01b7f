/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tenant has committed lately, and when: for a QUOTA.SYNC whose reading of the database
 * began before. A few sums, each of what was committed up to its time, behind the time of the one
 * before. The older they are the coarser: where there is no room for one more, the two neighbours
 * are merged that span the least time beside their age. A merged sum has the later time, so that
 * a sum since some time is never too small; it is too large by what was committed shortly before
 * that time, at most.
 *
 *     sums   ├────────a────────┼───b───┼─c─┼d┤      d: the latest
 *                          └ since           since → a + b + c + d */
#ifndef CORE_QUOTA_COMMITS_H
#define CORE_QUOTA_COMMITS_H

#include "core/state.h"

struct quota_commit {
    int64_t at_ms; /* of the last one in the sum */
    int64_t amount;
};

struct quota_commits {
    uint32_t count;
    uint32_t spare;
    struct quota_commit of[QUOTA_COMMITS_MAX]; /* the oldest first, no two of the same time */
};

/* NULL for a tenant that has none. */
static inline struct quota_commits *quota_commits_of(const struct core *core,
                                                     const struct tenant *tenant)
{
    return tenant->commits == 0 ? NULL : slab_at(&core->commits, tenant->commits - 1);
}

/* Makes room for them, so that quota_commits_add() cannot fail; false when there is no memory. */
bool quota_commits_reserve(struct core *core, struct tenant *tenant);
/* So much was committed now. */
void quota_commits_add(struct core *core, const struct tenant *tenant, int64_t amount);
/* What was committed from `since_ms` on, or more. */
int64_t quota_commits_since(const struct core *core, const struct tenant *tenant, int64_t since_ms);
/* Forgets all of them. */
void quota_commits_clear(struct core *core, const struct tenant *tenant);
/* Gives their memory back. */
void quota_commits_drop(struct core *core, struct tenant *tenant);

#endif
