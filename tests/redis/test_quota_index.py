# SPDX-License-Identifier: Apache-2.0
"""The index of a tenant in Redis names its open holds, whichever way a hold comes and goes, and the
audit finds a name without one."""

import pytest

from harness import Build, run
from server import wait_until

NAMES = "quota:tenant:acme:names"


@pytest.fixture
def do(do):
    do("QUOTA.LIMIT acme 1000")
    return do


def names(store):
    return [name.decode() for name in store.zrange(NAMES, 0, -1)]


def test_a_hold_is_named_while_it_is_open(do, store):
    for hold in ("committed", "cancelled", "open", "open"):
        do(f"QUOTA.RESERVE acme 10 HOLD {hold}")
    do("QUOTA.RESERVE acme 10")
    assert names(store) == ["cancelled", "committed", "open"]
    do("QUOTA.COMMIT acme committed")
    do("QUOTA.CANCEL acme cancelled")
    do("QUOTA.EXTEND acme open 1h")
    assert names(store) == ["open"]
    do("QUOTA.RESERVE acme 10 HOLD cancelled")
    assert names(store) == ["cancelled", "open"]


def test_a_hold_that_expired_is_named_no_more(do, store):
    do("QUOTA.RESERVE acme 10 HOLD long")
    do("QUOTA.RESERVE acme 10 HOLD short TTL 10ms")
    wait_until(lambda: [item[1] for item in do("QUOTA.LIST acme")[1:]] == [b"long"], "expired")
    assert names(store) == ["long"]


def test_the_pages_of_a_large_tenant(do, store):
    """A script looks at 50 names at most: a page may be short."""
    holds = [f"h-{number:03}" for number in range(120)]
    for hold in holds:
        do(f"QUOTA.RESERVE acme 1 HOLD {hold}")
    pages, cursor = [], b""
    while not pages or cursor:
        after = f" AFTER {cursor.decode()}" if cursor else ""
        cursor, *items = do("QUOTA.LIST acme COUNT 1000" + after)
        pages.append([item[1].decode() for item in items])
    assert [len(page) for page in pages] == [50, 50, 20]
    assert sum(pages, []) == holds


def test_the_audit_finds_a_name_without_a_hold(standalone, do, store):
    do("QUOTA.RESERVE acme 10 HOLD open")
    assert run(Build().program, "audit", standalone.url).code == 0
    store.zadd(NAMES, {"nothing": 0})
    ended = run(Build().program, "audit", standalone.url)
    assert ended.code == 1 and "nothing" in ended.out and "is listed" in ended.out, ended
