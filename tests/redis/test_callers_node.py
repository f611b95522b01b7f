# SPDX-License-Identifier: Apache-2.0
"""Two services in Node that have the usual scripts, with our files in their place: the quota of a
storage service, and locks of seats; alone, and beside a server of ours on the same keys."""

import threading

import pytest

from caller_programs import FOLDER, Caller, CallerError
from harness import Build
from languages import node_folder
from server import Server
from servers import wait_until
from test_audit import audit


@pytest.fixture(scope="module")
def programs():
    return node_folder(Build(), FOLDER.glob("*.js"))


@pytest.fixture(scope="module", params=["plain", "tagged", "cluster"])
def where(request):
    name = "cluster" if request.param == "cluster" else "standalone"
    redis = request.getfixturevalue(name)
    nodes = redis.masters if name == "cluster" else [redis]
    layout = "plain" if request.param == "plain" else "tagged"
    return redis, layout, [node.address for node in nodes]


@pytest.fixture(scope="module")
def quota(programs, where):
    with Caller(["node", programs / "quota.js"], *where[1:]) as caller:
        yield caller


@pytest.fixture(scope="module")
def locks(programs, where):
    with Caller(["node", programs / "locks.js"], *where[1:]) as caller:
        yield caller


@pytest.fixture
def name(request):
    """A tenant or a seat of the test's own."""
    return "".join(c if c.isalnum() else "-" for c in request.node.name)


@pytest.fixture(scope="module")
def beside(where):
    """A server of ours on the same keys."""
    with Server("--engine", where[0].url, memory=True) as server:
        yield server


# Where its names are the service's: plain ones on a Redis alone, tagged ones on a cluster.
shared = pytest.mark.parametrize("where", ["plain", "cluster"], indirect=True)


# ---- quota

def granted(used, limit):
    return {"ok": True, "used": used, "limit": limit}


def exceeded(used, limit):
    return {"ok": False, "code": "QUOTA_EXCEEDED", "used": used, "limit": limit}


def test_uploads_are_counted_up_to_the_limit(quota, name):
    quota.limit(name, 100)
    assert quota.reserve(name, 60) == granted(60, 100)
    assert quota.reserve(name, 41) == exceeded(60, 100)
    assert quota.reserve(name, 40) == granted(100, 100)
    assert quota.refund(name, 30) == {"ok": True, "used": 70}
    assert quota.refund(name, 1000) == {"ok": True, "used": 0}, "never below 0"
    assert quota.usage(name) == granted(0, 100)


def test_a_tenant_without_a_limit_has_none_to_use(quota, name):
    assert quota.reserve(name, 1) == exceeded(0, 0)


def test_an_amount_that_is_none_changes_nothing(quota, name):
    quota.limit(name, 100)
    for amount in (0, -5):
        with pytest.raises(CallerError, match="INVALID_AMOUNT"):
            quota.reserve(name, amount)
        with pytest.raises(CallerError, match="INVALID_AMOUNT"):
            quota.refund(name, amount)
    assert quota.usage(name) == granted(0, 100)


def test_the_nightly_sync_sets_what_is_used(quota, name):
    quota.limit(name, 100)
    quota.reserve(name, 80)
    quota.sync(name, 30)
    assert quota.reserve(name, 71) == exceeded(30, 100)
    assert quota.reserve(name, 70) == granted(100, 100)


def test_uploads_at_once_stay_within_the_limit(quota, name):
    quota.limit(name, 100)
    quota.forget()  # as after a restart of Redis
    assert quota.uploads(name, 50, 3)["granted"] == 33
    assert quota.usage(name) == granted(99, 100)


@shared
def test_both_count_the_same_usage(where, quota, name, beside):
    quota.limit(name, 100)
    assert beside.call("QUOTA.GET", name) == [0, 100, 0]
    assert beside.call("QUOTA.RESERVE", name, 20, "HOLD", "h-1") == [1, 20, 100]
    assert quota.reserve(name, 30) == granted(50, 100)
    answers = []
    uploads = threading.Thread(target=lambda: answers.append(quota.uploads(name, 40, 1)))
    uploads.start()
    with beside.connect() as connection:
        ours = [connection.call("QUOTA.RESERVE", name, 1)[0] for _ in range(40)]
    uploads.join()
    assert ours.count(1) + answers[0]["granted"] == 50
    assert beside.call("QUOTA.COMMIT", name, "h-1", "AMOUNT", 5) == [1, 85, 100]
    assert quota.refund(name, 5) == {"ok": True, "used": 80}
    assert beside.call("QUOTA.GET", name) == [80, 100, 0]
    assert audit(where[0].url) == []


@shared
def test_a_hold_gives_its_amount_back_to_the_service(quota, name, beside):
    quota.limit(name, 100)
    assert beside.call("QUOTA.RESERVE", name, 60, "HOLD", "h-1", "TTL", "2s")[0] == 1
    assert quota.reserve(name, 60) == exceeded(60, 100)
    wait_until(lambda: quota.reserve(name, 60)["ok"], "the hold lapses")
    assert quota.usage(name) == granted(60, 100)


@shared
def test_a_sync_by_set_during_a_hold_never_leads_below_zero(quota, name, beside):
    quota.limit(name, 100)
    assert beside.call("QUOTA.RESERVE", name, 60, "HOLD", "h-1")[0] == 1
    quota.sync(name, 0)
    assert beside.call("QUOTA.CANCEL", name, "h-1")[0] == 1
    assert quota.usage(name)["used"] >= 0
    assert quota.reserve(name, 101)["ok"] is False


# ---- locks

def test_a_seat_has_one_holder_who_gives_it_back(locks, name):
    held = locks.lock(name, 30)
    assert held["ok"] and locks.lock(name, 30)["ok"] is False
    shown = locks.holder(name)
    assert shown["id"] == held["id"] and 0 < shown["ttl_ms"] <= 30_000
    assert locks.lock(name, 3000, held["id"])["ok"], "a retry"
    assert locks.holder(name)["ttl_ms"] <= 30_000, "which does not extend it"
    assert locks.unlock(name, "another")["ok"] is False
    assert locks.holder(name)["id"] == held["id"]
    assert locks.unlock(name, held["id"])["ok"] is True
    assert locks.unlock(name, held["id"])["ok"] is False
    assert locks.lock(name, 30)["ok"]


def test_a_lock_ends_with_its_time(locks, name):
    first = locks.lock(name, 1)
    assert first["ok"]
    wait_until(lambda: locks.lock(name, 30, "next")["ok"], "the lock lapses")
    assert locks.unlock(name, first["id"])["ok"] is False
    assert locks.holder(name)["id"] == "next"


def test_of_many_at_once_one_gets_it(locks, name):
    winners = locks.contend(name, 50)["winners"]
    assert len(winners) == 1 and locks.holder(name)["id"] == winners[0]


@shared
def test_both_respect_each_other_and_fences_grow(locks, name, beside):
    held = locks.lock(name, 30)
    assert beside.call("LOCK.TRY", name, 30, "ID", "ours") is None
    owner, first_fence, _ = beside.call("LOCK.GET", name)
    assert owner == held["id"] and first_fence > 0
    assert locks.unlock(name, held["id"])["ok"]
    owner, second_fence = beside.call("LOCK.TRY", name, 30, "ID", "ours")
    assert owner == "ours" and second_fence > first_fence
    assert locks.lock(name, 30)["ok"] is False
    assert beside.call("LOCK.UNLOCK", name, "ours") == 1
    assert locks.lock(name, 30)["ok"]
    assert beside.call("LOCK.GET", name)[1] > second_fence
