# SPDX-License-Identifier: Apache-2.0
"""What a tenant uses never falls below 0, nor below what is on hold, whatever another program sets it
to while holds are open: a nightly job that sets `used` from its database, say."""

import pytest
import redis

from harness import Build, run
from server import Server, wait_until

USED = "quota:tenant:acme:used"


@pytest.fixture
def held(do, store):
    """Two holds, of 40 and 10; then somebody sets `used`."""
    do("QUOTA.LIMIT acme 100")
    do("QUOTA.RESERVE acme 40 HOLD large")
    do("QUOTA.RESERVE acme 10 HOLD small")
    return lambda value: store.set(USED, value)


ENDS = {"cancelled": "QUOTA.CANCEL acme large", "committed with less": "QUOTA.COMMIT acme large AMOUNT 0"}


@pytest.mark.parametrize("command", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("value", [0, -7, 5])
def test_a_hold_ends_after_it(held, do, store, command, value):
    held(value)
    assert do("QUOTA.GET acme") == [50, 100, 50]
    assert do(command) == [1, 10, 100]
    assert store.get(USED) == b"10"
    assert do("QUOTA.CANCEL acme small") == [1, 0, 100]
    assert store.get(USED) == b"0"


def test_a_hold_expires_after_it(held, do, store):
    do("QUOTA.RESERVE acme 30 HOLD short TTL 10ms")
    held(0)
    wait_until(lambda: do("QUOTA.GET acme") == [50, 100, 50], "expired")
    do("QUOTA.CANCEL acme large")
    do("QUOTA.RESERVE acme 30 HOLD short TTL 10ms")
    do("QUOTA.CANCEL acme small")
    held(0)
    wait_until(lambda: do("QUOTA.GET acme") == [0, 100, 0], "expired")
    assert store.get(USED) == b"0"


def test_the_worker_gives_back_after_it(standalone, store):
    with Server("--engine", standalone.url, memory=True) as running:
        client = redis.Redis(port=running.resp_port)
        client.execute_command("QUOTA.LIMIT", "acme", 100)
        client.execute_command("QUOTA.RESERVE", "acme", 40, "HOLD", "short", "TTL", "300ms")
        store.set(USED, 0)
        wait_until(lambda: not store.exists("quota:tenant:acme:due"), "the worker was there")
        assert store.get(USED) == b"0"
        assert client.execute_command("QUOTA.GET", "acme") == [0, 100, 0]


def test_what_is_on_hold_goes_on_counting(held, do):
    held(0)
    assert do("QUOTA.RESERVE acme 51") == [-1, 50, 100]
    assert do("QUOTA.RESERVE acme 50") == [1, 100, 100]
    assert do("QUOTA.COMMIT acme large") == [1, 100, 100]


def test_a_refund_sets_it_right(held, do, store):
    held(-3)
    assert do("QUOTA.REFUND acme 5") == 50
    assert store.get(USED) == b"50"


def test_the_audit_names_it(held, standalone):
    assert run(Build().program, "audit", standalone.url).code == 0
    for value, finding in ((49, "49 used, which is less than the 50 on hold"),
                           (-1, "-1 used, which is below 0"), ("x", "used is no whole number")):
        held(value)
        ended = run(Build().program, "audit", standalone.url)
        assert ended.code == 1 and "tenant acme: " + finding in ended.out, ended


def test_a_value_that_is_no_number_is_told(held, do, store):
    held("plenty")
    with pytest.raises(redis.ResponseError, match="no whole number.*QUOTA.SYNC"):
        do("QUOTA.CANCEL acme large")
    assert store.hexists("quota:tenant:acme:holds", "large")
    assert do("QUOTA.SYNC acme 20") == [1, 70, 100]
    assert do("QUOTA.CANCEL acme large") == [1, 30, 100]
