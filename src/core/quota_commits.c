/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tenant has committed lately; lua/parts/quota_commits.lua and the model have the same
 * steps, so that every engine counts the same. */
#include "core/quota_commits.h"

#include "base/check.h"

static void commits_check(const struct quota_commits *commits)
{
    CHECK(commits->count <= QUOTA_COMMITS_MAX);
    for (uint32_t i = 0; i < commits->count; i++) {
        CHECK(commits->of[i].amount >= 0 && commits->of[i].amount <= HF_INTEGER_MAX);
        CHECK(i == 0 || commits->of[i - 1].at_ms < commits->of[i].at_ms);
    }
}

/* Refunds and new commits can go round: a sum stays within the numbers there are. */
static int64_t sum(int64_t a, int64_t b)
{
    return a > HF_INTEGER_MAX - b ? HF_INTEGER_MAX : a + b;
}

bool quota_commits_reserve(struct core *core, struct tenant *tenant)
{
    if (tenant->commits != 0) {
        return true;
    }
    uint32_t index = slab_take(&core->commits);
    if (index == NONE) {
        return false;
    }
    tenant->commits = index + 1;
    return true;
}

static void remove_at(struct quota_commits *commits, uint32_t index)
{
    commits->count--;
    memmove(&commits->of[index], &commits->of[index + 1],
            (commits->count - index) * sizeof commits->of[0]);
}

/* A SYNC cannot ask for them any more. */
static void remove_old(struct quota_commits *commits, int64_t now_ms)
{
    while (commits->count > 0 && commits->of[0].at_ms < now_ms - QUOTA_SINCE_MAX_MS) {
        remove_at(commits, 0);
    }
}

/* Merges the two neighbours that together span the least time beside their age. A sum spans the
 * time from the one before it on, the first from the earliest that a SYNC can ask for. Products of
 * two times within QUOTA_SINCE_MAX_MS are exact in a double, too: Redis has no other numbers. */
static void merge_two(struct quota_commits *commits, int64_t now_ms)
{
    int64_t best_span_ms = 1, best_age_ms = 0, before_ms = now_ms - QUOTA_SINCE_MAX_MS;
    uint32_t best = 0;

    for (uint32_t i = 0; i + 1 < commits->count; i++) {
        int64_t span_ms = commits->of[i + 1].at_ms - before_ms;
        int64_t age_ms = now_ms - commits->of[i + 1].at_ms;
        age_ms = age_ms > QUOTA_COMMITS_FINE_MS ? age_ms : QUOTA_COMMITS_FINE_MS;
        if (span_ms * best_age_ms < best_span_ms * age_ms) {
            best_span_ms = span_ms;
            best_age_ms = age_ms;
            best = i;
        }
        before_ms = commits->of[i].at_ms;
    }
    commits->of[best + 1].amount = sum(commits->of[best].amount, commits->of[best + 1].amount);
    remove_at(commits, best);
}

void quota_commits_add(struct core *core, const struct tenant *tenant, int64_t amount)
{
    struct quota_commits *commits = quota_commits_of(core, tenant);

    if (amount == 0) {
        return;
    }
    CHECK(commits != NULL);
    remove_old(commits, core->now_ms);
    struct quota_commit *latest = commits->count > 0 ? &commits->of[commits->count - 1] : NULL;
    if (latest != NULL && latest->at_ms >= core->now_ms) {
        latest->amount = sum(latest->amount, amount);
    } else {
        if (commits->count == QUOTA_COMMITS_MAX) {
            merge_two(commits, core->now_ms);
        }
        commits->of[commits->count++] = (struct quota_commit){core->now_ms, amount};
    }
    commits_check(commits);
}

int64_t quota_commits_since(const struct core *core, const struct tenant *tenant, int64_t since_ms)
{
    const struct quota_commits *commits = quota_commits_of(core, tenant);
    int64_t total = 0;

    for (uint32_t i = commits == NULL ? 0 : commits->count; i-- > 0;) {
        if (commits->of[i].at_ms < since_ms) {
            break;
        }
        total = sum(total, commits->of[i].amount);
    }
    return total;
}

void quota_commits_clear(struct core *core, const struct tenant *tenant)
{
    struct quota_commits *commits = quota_commits_of(core, tenant);

    if (commits != NULL) {
        commits->count = 0;
    }
}

void quota_commits_drop(struct core *core, struct tenant *tenant)
{
    if (tenant->commits != 0) {
        slab_give(&core->commits, tenant->commits - 1);
        tenant->commits = 0;
    }
}
