# SPDX-License-Identifier: Apache-2.0
"""Quota: amounts counted against a tenant's limit, some of them only on hold."""

from fractions import Fraction

from model_arguments import (
    AMOUNT, COUNT, CURSOR, ID, MAX_INTEGER, PAGE_COUNT, POSITIVE_AMOUNT, TTL, Command,
)
from model_closed import ClosedHolds
from model_values import listed

DEFAULT_TTL_MS = 900_000
MAX_EXTENSION = 12  # first TTLs
COMMITS_KEPT = 16  # sums of what was committed lately
COMMITS_FINE_MS = 1000
SINCE_MAX_MS = 24 * 3600 * 1000


class Hold:
    def __init__(self, amount, ttl, expires_at):
        self.amount = amount
        self.ttl = ttl
        self.started_at = expires_at - ttl
        self.expires_at = expires_at
        self.committed = False  # how it was closed, once it is
        self.used = 0  # of a committed one

    def terms(self):
        return (self.amount, self.ttl)


class Tenant:
    def __init__(self):
        self.limit = 0
        self.committed = 0
        self.holds = {}  # hold id -> Hold
        self.commits = []  # [time of the last, sum]: what was committed lately, the oldest first

    def commit(self, now, amount):
        """So much is usage from now on. Old sums are merged where that blurs their times least."""
        self.committed += amount
        if amount == 0:
            return
        commits = self.commits = [c for c in self.commits if c[0] >= now - SINCE_MAX_MS]
        if commits and commits[-1][0] == now:
            commits[-1][1] = min(MAX_INTEGER, commits[-1][1] + amount)
            return
        if len(commits) == COMMITS_KEPT:
            befores = [now - SINCE_MAX_MS] + [at for at, _ in commits]
            blur = [Fraction(at - before, max(COMMITS_FINE_MS, now - at))
                    for before, (at, _) in zip(befores, commits[1:])]
            first = blur.index(min(blur))
            commits[first + 1][1] = min(MAX_INTEGER, commits[first + 1][1] + commits[first][1])
            del commits[first]
        commits.append([now, amount])

    def committed_since(self, since):
        return min(MAX_INTEGER, sum(amount for at, amount in self.commits if at >= since))

    def begin_anew(self):
        """With nothing set and nothing used it is as good as none."""
        if self.limit == 0 and self.used() == 0:
            self.commits = []

    def expire(self, now):
        for hold_id in [i for i, hold in self.holds.items() if hold.expires_at <= now]:
            del self.holds[hold_id]

    def held(self):
        return sum([hold.amount for hold in self.holds.values()])

    def used(self):
        return self.committed + self.held()

    def figures(self):
        return [1, self.used(), self.limit]


class Quota:
    def __init__(self):
        self.tenants = {}
        self.closed = ClosedHolds()

    def commands(self):
        return {
            b"QUOTA.LIMIT": Command(self.limit, (ID, AMOUNT)),
            b"QUOTA.RESERVE": Command(self.reserve, (ID, POSITIVE_AMOUNT), hold=ID, ttl=TTL),
            b"QUOTA.REFUND": Command(self.refund, (ID, POSITIVE_AMOUNT)),
            b"QUOTA.COMMIT": Command(self.commit, (ID, ID), amount=AMOUNT),
            b"QUOTA.CANCEL": Command(self.cancel, (ID, ID)),
            b"QUOTA.EXTEND": Command(self.extend, (ID, ID, TTL)),
            b"QUOTA.LIST": Command(self.list, (ID,), after=CURSOR, count=PAGE_COUNT),
            b"QUOTA.CLOSE": Command(self.close, (ID,)),
            b"QUOTA.SYNC": Command(self.sync, (ID, AMOUNT), since=COUNT),
            b"QUOTA.GET": Command(self.get, (ID,)),
            b"QUOTA.MARK": Command(self.mark, (ID,)),
        }

    def tenant(self, name, now):
        tenant = self.tenants.get(name)
        if tenant is None:
            tenant = self.tenants[name] = Tenant()
        tenant.expire(now)
        return tenant

    def limit(self, now, tenant_id, limit):
        tenant = self.tenant(tenant_id, now)
        tenant.begin_anew()
        tenant.limit = limit
        return tenant.figures()

    def reserve(self, now, tenant_id, amount, hold=None, ttl=None):
        if hold is None and ttl is not None:
            return [0, "INVALID_ARGUMENT"]
        tenant = self.tenant(tenant_id, now)
        if hold is not None:
            ttl = DEFAULT_TTL_MS if ttl is None else ttl
            existing = tenant.holds.get(hold) or self.closed.find(now, tenant_id, hold)
            if existing and (hold in tenant.holds or existing.committed):
                if existing.terms() != (amount, ttl):
                    return [0, "INVALID_STATE"]
                return tenant.figures()
        if tenant.used() + amount > tenant.limit:
            return [-1, tenant.used(), tenant.limit]
        if hold is None:
            tenant.commit(now, amount)
        else:
            tenant.holds[hold] = Hold(amount, ttl, now + ttl)
            self.closed.forget(tenant_id, hold)
        return tenant.figures()

    def refund(self, now, tenant_id, amount):
        tenant = self.tenant(tenant_id, now)
        tenant.committed = max(0, tenant.committed - amount)
        return tenant.used()

    def commit(self, now, tenant_id, hold_id, amount=None):
        tenant = self.tenant(tenant_id, now)
        hold = tenant.holds.get(hold_id)
        if hold:
            really = hold.amount if amount is None else amount
            if really > hold.amount and tenant.used() - hold.amount + really > tenant.limit:
                return [0, "QUOTA_EXCEEDED"]
            del tenant.holds[hold_id]
            hold.committed, hold.used = True, really
            tenant.commit(now, really)
            self.closed.remember(now, tenant_id, hold_id, hold)
            return tenant.figures()
        closed = self.closed.find(now, tenant_id, hold_id)
        if not (closed and closed.committed):
            return [0, "HOLD_NOT_FOUND"]
        same = closed.used == (closed.amount if amount is None else amount)
        return tenant.figures() if same else [0, "INVALID_STATE"]

    def cancel(self, now, tenant_id, hold_id):
        tenant = self.tenant(tenant_id, now)
        if hold_id in tenant.holds:
            self.closed.remember(now, tenant_id, hold_id, tenant.holds.pop(hold_id))
            return tenant.figures()
        closed = self.closed.find(now, tenant_id, hold_id)
        if closed is None:
            return [0, "HOLD_NOT_FOUND"]
        return [0, "INVALID_STATE"] if closed.committed else tenant.figures()

    def extend(self, now, tenant_id, hold_id, ttl):
        hold = self.tenant(tenant_id, now).holds.get(hold_id)
        if hold is None:
            closed = self.closed.find(now, tenant_id, hold_id)
            return [0, "INVALID_STATE" if closed and closed.committed else "HOLD_NOT_FOUND"]
        latest = hold.started_at + MAX_EXTENSION * hold.ttl
        hold.expires_at = max(hold.expires_at, min(now + ttl, latest))
        return [1, hold.expires_at]

    def list(self, now, tenant_id, after=None, count=None):
        if after not in (None, ""):
            return [0, "INVALID_ARGUMENT"]
        return listed([
            ["hold_id", hold_id, "amount", hold.amount, "created_at", hold.started_at,
             "expires_at", hold.expires_at]
            for hold_id, hold in self.tenant(tenant_id, now).holds.items()])

    def close(self, now, tenant_id):
        tenant = self.tenant(tenant_id, now)
        if tenant.holds:
            return [0, "INVALID_STATE"]
        del self.tenants[tenant_id]
        self.closed.forget_scope(tenant_id)
        return tenant.figures()

    def sync(self, now, tenant_id, actual, since=None):
        if since and not now - SINCE_MAX_MS <= since <= now:
            return [0, "INVALID_ARGUMENT"]
        tenant = self.tenant(tenant_id, now)
        tenant.begin_anew()
        actual += tenant.committed_since(since) if since else 0
        if actual + tenant.held() > MAX_INTEGER:
            return [0, "INVALID_AMOUNT"]
        tenant.committed = actual
        return tenant.figures()

    def mark(self, now, tenant_id):
        return [1, now]

    def get(self, now, tenant_id):
        tenant = self.tenant(tenant_id, now)
        return [tenant.used(), tenant.limit, tenant.held()]

    def deadlines(self, now, tenant_id):
        tenant = self.tenant(tenant_id, now)
        due = [(hold.expires_at, hold_id) for hold_id, hold in tenant.holds.items()]
        return due + self.closed.deadlines(now, tenant_id)
