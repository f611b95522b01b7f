# SPDX-License-Identifier: Apache-2.0
"""reserve_quota and refund_quota, called with `used`, `limit` and an amount alone, keep every rule of
a tenant's quota: also what others hold through our scripts, and whatever a program has set."""

import pytest
from letter import EVERY_NAME, Scripts, dump, refused
from servers import wait_until

MAX = 2**53 - 1


def now_ms(store):
    seconds, micros = store.time()
    return seconds * 1000 + micros // 1000


class Tenant:
    """One tenant's keys, as its program knows them, and the calls of the field."""

    def __init__(self, store, named, name="acme"):
        space, form = named
        self.store = store
        self.base = f"{space}quota:tenant:{form.format(name)}:"
        self.closed = f"{space}quota:closed:{{{name}}}:"
        self.used, self.limit = self.base + "used", self.base + "limit"
        self.scripts = Scripts(store)

    def reserve(self, amount, *more):
        return self.scripts.reserve_quota([self.used, self.limit], [amount, *more])

    def refund(self, amount):
        return self.scripts.refund_quota([self.used], [amount])

    def whole(self, script, *arguments, hold=None):
        """Another script, with the five keys of the family, as the engine calls it."""
        keys = [self.base + name for name in ("used", "limit", "held", "holds", "due")]
        return getattr(self.scripts, script)(
            keys + ([self.closed + hold] if hold is not None else []), arguments)

    def hold(self, amount, hold, ttl):
        return self.whole("reserve_quota", amount, hold, ttl, hold=hold)


@pytest.fixture(params=[("", "{}"), ("shop:", "{{{}}}")], ids=["plain", "shop:tagged"])
def tenant(store, request):
    return Tenant(store, request.param)


@EVERY_NAME
def test_reserve_and_refund(store, named):
    acme = Tenant(store, named)
    assert acme.reserve(1) == [-1, 0, 0]  # an unset limit is 0
    store.set(acme.limit, 100)
    assert acme.reserve(60) == [1, 60, 100]
    assert acme.reserve(41) == [-1, 60, 100]
    assert acme.reserve(40) == [1, 100, 100]
    assert acme.refund(30) == 70
    assert acme.refund(500) == 0
    assert acme.refund(1) == 0
    assert int(store.get(acme.used)) == 0
    commits = acme.base + "commits"  # for a SYNC
    assert set(store.keys()) == {name.encode() for name in (acme.used, acme.limit, commits)}


@EVERY_NAME
def test_what_others_hold_counts_until_its_deadline(store, named):
    acme = Tenant(store, named)
    store.set(acme.limit, 100)
    assert acme.hold(80, "upload", 0.05) == [1, 80, 100]
    assert acme.hold(15, "other", 60) == [1, 95, 100]
    assert acme.reserve(6)[0] in (-1, 1)
    wait_until(lambda: acme.reserve(86)[0] == -1 and acme.reserve(70)[0] == 1, "the hold is due")
    assert acme.refund(500) == 15  # what is still on hold stays
    assert acme.whole("get_quota") == [15, 100, 15]
    assert acme.whole("cancel_quota", "other", hold="other") == [1, 0, 100]


def test_holds_without_their_keys(tenant, store):
    """A program that goes on to holds gives no more than the names it has."""
    store.set(tenant.limit, 100)
    assert tenant.reserve(30, "upload", 60) == [1, 30, 100]
    assert tenant.reserve(30, "upload", 60) == [1, 30, 100]
    assert tenant.reserve(20, "later") == [1, 50, 100]
    deadline = store.zscore(tenant.base + "due", "later")
    assert 890e3 < deadline - now_ms(store) < 910e3  # the default of QUOTA.RESERVE
    assert tenant.reserve(5, "long", 2**31) == [1, 55, 100]  # taken as 30 days
    assert tenant.whole("get_quota") == [55, 100, 55]
    assert tenant.scripts.commit_quota([tenant.used], ["upload", 10]) == [1, 35, 100]
    assert tenant.whole("commit_quota", "upload", 10, hold="upload") == [1, 35, 100]


@pytest.mark.parametrize("amount", ["0", "-5", "1.5", "2e300", str(MAX + 1), "nan", "inf", "-inf",
                                    "many", "", "1 2"])
def test_an_amount_that_is_none(tenant, store, amount):
    store.mset({tenant.limit: 100, tenant.used: 50})
    refused(store, lambda: tenant.reserve(amount), "INVALID_AMOUNT", "nothing was changed")
    refused(store, lambda: tenant.refund(amount), "INVALID_AMOUNT", "nothing was changed")


def test_no_amount_at_all(tenant, store):
    store.set(tenant.limit, 100)
    refused(store, lambda: tenant.scripts.reserve_quota([tenant.used, tenant.limit]), "AMOUNT")
    refused(store, lambda: tenant.scripts.refund_quota([tenant.used]), "AMOUNT")


def test_the_largest_figures(tenant, store):
    store.set(tenant.limit, 2**63 - 1)  # what many a program calls unlimited
    assert tenant.reserve(MAX) == [1, MAX, MAX]
    assert tenant.reserve(1) == [-1, MAX, MAX]
    assert tenant.refund(MAX - 3) == 3


@pytest.mark.parametrize("limit, counts_as", [
    ("100", 100), ("1e2", 100), ("100.9", 100), ("-1", -1), ("none", 0), ("nan", 0), ("", 0)])
def test_a_limit_that_somebody_set(tenant, store, limit, counts_as):
    store.set(tenant.limit, limit)
    assert tenant.reserve(101) == [-1, 0, counts_as]
    if counts_as == 100:
        assert tenant.reserve(100) == [1, 100, 100]


def test_usage_that_somebody_set(tenant, store):
    store.set(tenant.limit, 100)
    store.set(tenant.used, 90)
    assert tenant.reserve(11) == [-1, 90, 100]
    assert tenant.refund(20) == 70
    store.set(tenant.used, -40)  # a script of the field that forgot the floor
    assert tenant.reserve(101) == [-1, 0, 100]
    assert tenant.reserve(100) == [1, 100, 100]
    store.set(tenant.used, -40)
    assert tenant.refund(1) == 0
    assert store.get(tenant.used) == b"0"


@pytest.mark.parametrize("value", ["lots", "1.5", "", str(2**60), "1e3"])
def test_usage_that_is_no_number(tenant, store, value):
    store.set(tenant.limit, 100)
    tenant.hold(10, "upload", 0.01)
    store.set(tenant.used, value)
    wait_until(lambda: store.zcount(tenant.base + "due", "-inf", now_ms(store)), "it is due")
    for call in (lambda: tenant.reserve(1), lambda: tenant.refund(1),
                 lambda: tenant.whole("get_quota"), lambda: tenant.whole("reclaim_quota", 10)):
        refused(store, call, "no whole number", "nothing was changed")
    assert tenant.whole("sync_quota", 30) == [1, 30, 100]
    assert tenant.reserve(70) == [1, 100, 100]


def test_usage_of_another_type(tenant, store):
    store.set(tenant.limit, 100)
    store.rpush(tenant.used, "a")
    refused(store, lambda: tenant.reserve(1), "WRONGTYPE")


def test_keys_that_do_not_fit_together(tenant, store):
    other = Tenant(store, ("", "{}"), "other")
    store.mset({tenant.limit: 100, other.limit: 1000})
    tenant.hold(10, "upload", 60)
    calls = tenant.scripts
    for keys in ([tenant.used, other.limit], [tenant.used, tenant.used],
                 [tenant.limit, tenant.used], ["app:used", tenant.limit],
                 [tenant.used, tenant.limit, other.base + "held"],
                 [tenant.used, tenant.limit, tenant.base + "due"]):
        refused(store, lambda keys=keys: calls.reserve_quota(keys, [1]), "not of one tenant")
    refused(store, lambda: calls.refund_quota([tenant.used, other.limit], [1]), "not of one tenant")
    refused(store, lambda: tenant.whole("cancel_quota", "upload", hold="another"), "not that of")


def test_names_of_a_program_s_own(store):
    """A tenant without holds: nobody else can have made some."""
    scripts, keys = Scripts(store), ["app:{7}:used", "app:{7}:limit"]
    store.set(keys[1], 10)
    assert scripts.reserve_quota(keys, [6]) == [1, 6, 10]
    assert scripts.reserve_quota(keys, [6]) == [-1, 6, 10]
    assert scripts.refund_quota(keys[:1], [50]) == 0
    refused(store, lambda: scripts.reserve_quota(keys, [1, "hold", 60]), "quota:tenant:TENANT:used")
    refused(store, lambda: scripts.limit_quota(keys[:1], [1]), "quota:tenant:TENANT:used")
    refused(store, lambda: scripts.close_quota(keys), "quota:tenant:TENANT:used")
    assert set(dump(store)) == {key.encode() for key in keys}


def expired(tenant, count):
    """Holds of 1 each, all of them due, as if nobody had asked for the tenant since."""
    holds = [f"h-{number}" for number in range(count)]
    store = tenant.store
    store.hset(tenant.base + "holds", mapping={hold: "1 60000" for hold in holds})
    store.zadd(tenant.base + "due", {hold: number + 1 for number, hold in enumerate(holds)})
    store.zadd(tenant.base + "names", dict.fromkeys(holds, 0))
    store.incrby(tenant.used, count)
    store.incrby(tenant.base + "held", count)


def test_much_that_is_due_is_given_back_by_the_call(tenant, store):
    """No AGAIN: the program does not know it. Beyond 100 the call goes by what it has given back."""
    store.set(tenant.limit, 500)
    expired(tenant, 100)
    assert tenant.reserve(500) == [1, 500, 500]
    assert tenant.refund(500) == 0
    expired(tenant, 150)
    assert tenant.reserve(500) == [-1, 50, 500]  # the known answer; a later call finds room
    assert tenant.reserve(500) == [1, 500, 500]
    assert tenant.refund(500) == 0
    expired(tenant, 150)
    assert tenant.refund(500) == 50
    assert tenant.reserve(400) == [1, 400, 500]
    assert tenant.refund(400) == 0
    assert tenant.whole("get_quota") == [0, 500, 0]