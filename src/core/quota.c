/* SPDX-License-Identifier: Apache-2.0
 *
 * Quota: used = committed + held. A hold counts as used at once and returns at its TTL unless it is
 * committed. */
#include "base/check.h"
#include "core/quota_commits.h"

static struct tenant *tenant_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_TENANTS, index);
}

static struct quota_hold *hold_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_QUOTA_HOLDS, index);
}

static int64_t used(const struct tenant *tenant)
{
    return tenant->committed + tenant->held;
}

/* What must be true of a tenant after every change. A limit may be set below what is used. */
static void tenant_check(const struct tenant *tenant)
{
    CHECK(tenant->committed >= 0 && tenant->held >= 0 && tenant->limit >= 0);
    CHECK(tenant->held <= HF_INTEGER_MAX - tenant->committed);
    CHECK(tenant->held == 0 || tenant->holds > 0);
}

static void answer(struct reply *reply, const struct tenant *tenant)
{
    reply_number(reply, used(tenant));
    reply_number(reply, tenant->limit);
}

/* A tenant with nothing set and nothing used is as good as none. */
static void drop_tenant(struct core *core, uint32_t index)
{
    const struct tenant *tenant = tenant_at(core, index);

    if (tenant->limit == 0 && tenant->committed == 0 && tenant->holds == 0) {
        core_forget(core, CORE_TENANTS, index);
    }
}

/* A tenant that could have been dropped begins anew, whether or not its closed holds keep it. */
static uint32_t obtain_tenant(struct core *core, struct hf_bytes id)
{
    uint32_t index = core_enter(core, CORE_TENANTS, id);

    if (index == NONE) {
        return core_obtain(core, CORE_TENANTS, 0, id);
    }
    if (tenant_at(core, index)->limit == 0 && used(tenant_at(core, index)) == 0) {
        quota_commits_clear(core, tenant_at(core, index));
    }
    return index;
}

/* The hold under an id. With the last of its holds the tenant may go, too. */
static uint32_t find_hold(struct core *core, uint32_t *tenant, struct hf_bytes id)
{
    if (*tenant == NONE || id.size == 0) {
        return NONE;
    }
    struct key key = core_key(core, CORE_QUOTA_HOLDS, *tenant, id);
    uint32_t index = core_find_hold(core, CORE_QUOTA_HOLDS, &key);
    if (!slab_has(&core->stores[CORE_TENANTS].slab, *tenant)) {
        *tenant = NONE;
    }
    return index;
}

CORE_COMMAND(quota_limit)
{
    const struct hf_quota_limit_args *a = &args->quota_limit;
    uint32_t index = obtain_tenant(core, a->tenant);
    (void)entropy;

    if (index == NONE) {
        reply_busy(core, reply);
        return;
    }
    tenant_at(core, index)->limit = a->limit;
    tenant_check(tenant_at(core, index));
    answer(reply, tenant_at(core, index));
    drop_tenant(core, index);
}

static void refuse_sum(struct reply *reply, const struct tenant *tenant,
                       const struct hf_quota_sync_args *a, int64_t since)
{
    if (a->since > 0) {
        reply_refuse_with(reply, HF_INVALID_AMOUNT,
                          "actual #, # committed since, and what is on hold are more than 2^53-1",
                          a->actual, since, 0);
    } else {
        reply_refuse_with(reply, HF_INVALID_AMOUNT, "actual # and # on hold are more than #",
                          a->actual, tenant->held, HF_INTEGER_MAX);
    }
}

/* Is it a time of which it is known what was committed since? It is refused if not. */
static bool check_since(const struct core *core, int64_t since_ms, struct reply *reply)
{
    if (since_ms > core->now_ms) {
        reply_refuse_with(reply, HF_INVALID_ARGUMENT,
                          "SINCE # is # ms in the future: it is the time that QUOTA.MARK told "
                          "before the reading began",
                          since_ms, since_ms - core->now_ms, 0);
    } else if (since_ms > 0 && since_ms < core->now_ms - QUOTA_SINCE_MAX_MS) {
        reply_refuse_with(reply, HF_INVALID_ARGUMENT,
                          "SINCE # is # ms ago, and what was committed is known for # ms: read "
                          "again",
                          since_ms, core->now_ms - since_ms, QUOTA_SINCE_MAX_MS);
    } else {
        return true;
    }
    return false;
}

CORE_COMMAND(quota_sync)
{
    const struct hf_quota_sync_args *a = &args->quota_sync;
    (void)entropy;

    if (!check_since(core, a->since, reply)) {
        return;
    }
    uint32_t index = obtain_tenant(core, a->tenant);
    if (index == NONE) {
        reply_busy(core, reply);
        return;
    }
    struct tenant *tenant = tenant_at(core, index);
    int64_t since = a->since > 0 ? quota_commits_since(core, tenant, a->since) : 0;
    if (a->actual > HF_INTEGER_MAX - tenant->held ||
        since > HF_INTEGER_MAX - tenant->held - a->actual) {
        refuse_sum(reply, tenant, a, since);
        return;
    }
    tenant->committed = a->actual + since;
    tenant_check(tenant);
    answer(reply, tenant);
    drop_tenant(core, index);
}

CORE_COMMAND(quota_mark)
{
    core_enter(core, CORE_TENANTS, args->quota_mark.tenant);
    (void)entropy;

    core_tell_time(core);
    reply_number(reply, core->now_ms);
}

CORE_COMMAND(quota_get)
{
    uint32_t index = core_enter(core, CORE_TENANTS, args->quota_get.tenant);
    (void)entropy;

    const struct tenant none = {.limit = 0};
    const struct tenant *tenant = index == NONE ? &none : tenant_at(core, index);
    answer(reply, tenant);
    reply_number(reply, tenant->held);
}

/* ---- the list of holds ----------------------------------------------------------------------- */

/* When the hold began. The deadline says so until the first EXTEND moves it. */
static int64_t hold_started(const struct quota_hold *hold)
{
    return hold->record.flags & HOLD_EXTENDED ? hold->started_ms
                                              : hold->timer.deadline_ms - hold->ttl_ms;
}

static bool show_hold(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct quota_hold *hold = hold_at(core, index);
    struct name name = record_name(&hold->record);
    char text[HF_ID_MAX];
    (void)context;

    CHECK(hold->record.state == HOLD_OPEN);
    reply_text(reply, text, name_write(&name, text));
    reply_number(reply, hold->amount);
    reply_number(reply, hold_started(hold));
    reply_number(reply, hold->timer.deadline_ms);
    return true;
}

CORE_COMMAND(quota_list)
{
    const struct hf_quota_list_args *a = &args->quota_list;
    (void)entropy;

    core_page(core,
              &(struct page){.command = QUOTA_LIST,
                             .kind = CORE_QUOTA_HOLDS,
                             .scope = core_enter(core, CORE_TENANTS, a->tenant),
                             .after = a->after,
                             .count = a->count,
                             .show = show_hold},
              reply);
}

/* ---- reserve and refund ---------------------------------------------------------------------- */

/* Is there a hold under this id that a RESERVE must answer to? It then has. */
static bool answer_known(const struct core *core, const struct tenant *tenant, uint32_t known,
                         const struct hf_quota_reserve_args *a, struct reply *reply)
{
    if (known == NONE || hold_at(core, known)->record.state == HOLD_CANCELLED) {
        return false;
    }
    const struct quota_hold *hold = hold_at(core, known);
    if (hold->amount != a->amount) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the hold exists with amount #, not #" ANOTHER_ID, hold->amount,
                          a->amount, 0);
    } else if (hold->ttl_ms != a->ttl_ms) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the hold exists with TTL # ms, not # ms" ANOTHER_ID, hold->ttl_ms,
                          a->ttl_ms, 0);
    } else {
        answer(reply, tenant);
    }
    return true;
}

/* Makes the hold that RESERVE asks for, in place of one that was cancelled; false when there is no
 * memory. */
static bool add_hold(struct core *core, uint32_t index, uint32_t known,
                     const struct hf_quota_reserve_args *a)
{
    struct tenant *tenant = tenant_at(core, index);
    struct key key = core_key(core, CORE_QUOTA_HOLDS, index, a->hold);
    uint32_t added = core_add(core, CORE_QUOTA_HOLDS, &key);

    if (added == NONE) {
        return false;
    }
    tenant->holds++;
    if (known != NONE) {
        core_forget(core, CORE_QUOTA_HOLDS, known);
    }
    hold_at(core, added)->amount = a->amount;
    hold_at(core, added)->ttl_ms = a->ttl_ms;
    tenant->held += a->amount;
    core_arm(core, CORE_QUOTA_HOLDS, added, core->now_ms + a->ttl_ms);
    return true;
}

CORE_COMMAND(quota_reserve)
{
    const struct hf_quota_reserve_args *a = &args->quota_reserve;
    uint32_t index = core_enter(core, CORE_TENANTS, a->tenant);
    uint32_t known = find_hold(core, &index, a->hold);
    const struct tenant none = {.limit = 0};
    const struct tenant *seen = index == NONE ? &none : tenant_at(core, index);
    (void)entropy;

    if (answer_known(core, seen, known, a, reply)) {
        return;
    }
    if (a->amount > seen->limit - used(seen)) {
        reply_refuse_with(reply, HF_QUOTA_EXCEEDED, "# used of #, # requested", used(seen),
                          seen->limit, a->amount);
        reply->lead = -1;
        answer(reply, seen);
        return;
    }
    struct tenant *tenant = tenant_at(core, index); /* it has a limit, so it exists */
    if ((tenant->commits == 0 && core_is_full(core)) || !quota_commits_reserve(core, tenant) ||
        (a->hold.size > 0 && !add_hold(core, index, known, a))) {
        reply_busy(core, reply);
        return;
    }
    if (a->hold.size == 0) {
        tenant->committed += a->amount;
        quota_commits_add(core, tenant, a->amount);
    }
    tenant_check(tenant);
    CHECK(used(tenant) <= tenant->limit);
    answer(reply, tenant);
}

CORE_COMMAND(quota_refund)
{
    const struct hf_quota_refund_args *a = &args->quota_refund;
    uint32_t index = core_enter(core, CORE_TENANTS, a->tenant);
    (void)entropy;

    if (index == NONE) {
        reply_number(reply, 0);
        return;
    }
    struct tenant *tenant = tenant_at(core, index);
    tenant->committed -= a->amount < tenant->committed ? a->amount : tenant->committed;
    tenant_check(tenant);
    reply_number(reply, used(tenant));
    drop_tenant(core, index);
}

/* ---- the deadline of a hold ------------------------------------------------------------------ */

CORE_COMMAND(quota_extend)
{
    const struct hf_quota_extend_args *a = &args->quota_extend;
    uint32_t tenant = core_enter(core, CORE_TENANTS, a->tenant);
    uint32_t index = find_hold(core, &tenant, a->hold);
    struct quota_hold *hold = index == NONE ? NULL : hold_at(core, index);
    (void)entropy;

    if (hold == NULL || hold->record.state == HOLD_CANCELLED) {
        reply_refuse(reply, HF_HOLD_NOT_FOUND, NULL);
        return;
    }
    if (hold->record.state == HOLD_COMMITTED) {
        reply_refuse(reply, HF_INVALID_STATE, "the hold is committed and has no deadline");
        return;
    }
    int64_t started = hold_started(hold);
    int64_t latest = started + EXTEND_FACTOR * hold->ttl_ms;
    int64_t wanted = core->now_ms + a->ttl_ms;
    int64_t deadline = wanted < latest ? wanted : latest;
    if (deadline > hold->timer.deadline_ms) {
        hold->started_ms = started;
        hold->record.flags |= HOLD_EXTENDED;
        core_arm(core, CORE_QUOTA_HOLDS, index, deadline);
    }
    reply_number(reply, hold->timer.deadline_ms);
}

/* ---- the end of a hold ----------------------------------------------------------------------- */

/* An open hold ends: so much of it is usage now, and the rest goes back. */
static void end_hold(struct core *core, uint32_t index, enum hold_state state, int64_t amount)
{
    struct quota_hold *hold = hold_at(core, index);
    struct tenant *tenant = tenant_at(core, hold->record.scope);

    CHECK(hold->record.state == HOLD_OPEN);
    store_disarm(&core->stores[CORE_QUOTA_HOLDS], index);
    hold->record.state = (uint8_t)state;
    hold->used = amount;
    tenant->held -= hold->amount;
    tenant->committed += amount;
    quota_commits_add(core, tenant, amount);
    tenant_check(tenant);
    core_close(core, CORE_QUOTA_HOLDS, index);
}

CORE_COMMAND(quota_commit)
{
    const struct hf_quota_commit_args *a = &args->quota_commit;
    uint32_t tenant = core_enter(core, CORE_TENANTS, a->tenant);
    uint32_t index = find_hold(core, &tenant, a->hold);
    const struct quota_hold *hold = index == NONE ? NULL : hold_at(core, index);
    (void)entropy;

    if (hold == NULL || hold->record.state == HOLD_CANCELLED) {
        reply_refuse(reply, HF_HOLD_NOT_FOUND, NULL);
        return;
    }
    int64_t amount = a->amount == HF_ZERO ? 0 : a->amount == 0 ? hold->amount : a->amount;
    if (hold->record.state == HOLD_COMMITTED && hold->used != amount) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the hold is committed with amount #, not #: refund or reserve the rest",
                          hold->used, amount, 0);
        return;
    }
    if (hold->record.state == HOLD_OPEN) {
        const struct tenant *owner = tenant_at(core, tenant);
        int64_t more = amount - hold->amount;
        if (more > 0 && more > owner->limit - used(owner)) {
            reply_refuse_with(reply, HF_QUOTA_EXCEEDED,
                              "# used of #, # more requested than is held: commit less, or raise "
                              "the limit; the hold stays open",
                              used(owner), owner->limit, more);
            return;
        }
        if (!quota_commits_reserve(core, tenant_at(core, tenant))) { /* RESERVE made room for it */
            reply_busy(core, reply);
            return;
        }
        end_hold(core, index, HOLD_COMMITTED, amount);
    }
    answer(reply, tenant_at(core, tenant));
}

CORE_COMMAND(quota_cancel)
{
    const struct hf_quota_cancel_args *a = &args->quota_cancel;
    uint32_t tenant = core_enter(core, CORE_TENANTS, a->tenant);
    uint32_t index = find_hold(core, &tenant, a->hold);
    const struct quota_hold *hold = index == NONE ? NULL : hold_at(core, index);
    (void)entropy;

    if (hold == NULL) {
        reply_refuse(reply, HF_HOLD_NOT_FOUND, NULL);
        return;
    }
    if (hold->record.state == HOLD_COMMITTED) {
        reply_refuse(reply, HF_INVALID_STATE, "the hold is committed: refund it instead");
        return;
    }
    if (hold->record.state == HOLD_OPEN) {
        end_hold(core, index, HOLD_CANCELLED, 0);
    }
    answer(reply, tenant_at(core, tenant));
}

CORE_COMMAND(quota_close)
{
    uint32_t index = core_enter(core, CORE_TENANTS, args->quota_close.tenant);
    const struct tenant none = {.limit = 0};
    const struct tenant *tenant = index == NONE ? &none : tenant_at(core, index);
    (void)entropy;

    if (tenant->held > 0) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "# are on hold: commit or cancel the holds, or wait until they expire",
                          tenant->held, 0, 0);
        return;
    }
    answer(reply, tenant);
    if (index != NONE) {
        core_close_scope(core, CORE_TENANTS, index);
    }
}

void quota_hold_due(struct core *core, uint32_t index)
{
    struct quota_hold *hold = hold_at(core, index);

    core_emit(core, EVENT_QUOTA_HOLD_EXPIRED, CORE_TENANTS, &hold->record, hold->amount);
    tenant_at(core, hold->record.scope)->held -= hold->amount;
    tenant_check(tenant_at(core, hold->record.scope));
    core_forget(core, CORE_QUOTA_HOLDS, index);
}

void tenant_let_go(struct core *core, uint32_t index)
{
    quota_commits_drop(core, tenant_at(core, index));
}

void quota_hold_let_go(struct core *core, uint32_t index)
{
    uint32_t tenant = hold_at(core, index)->record.scope;

    tenant_at(core, tenant)->holds--;
    drop_tenant(core, tenant);
}
