# SPDX-License-Identifier: Apache-2.0
"""try_lock and unlock, called with the key of the lock alone: what a program had before, and fences,
retries and deadlines as well."""

import pytest
from letter import EVERY_NAME, Scripts, refused
from servers import wait_until

DAY_S = 86400


class Lock:
    def __init__(self, store, named, resource="A-12"):
        space, form = named
        self.key = f"{space}seat:locked:{form.format(resource)}"
        self.fence_key = f"{space}seat:fence:{form.format(resource)}"
        self.scripts = Scripts(store)

    def try_lock(self, *arguments):
        return self.scripts.try_lock([self.key], arguments)

    def unlock(self, lock_id):
        return self.scripts.unlock([self.key], [lock_id])


@pytest.fixture(params=[("", "{}"), ("shop:", "{{{}}}")], ids=["plain", "shop:tagged"])
def lock(store, request):
    return Lock(store, request.param)


@EVERY_NAME
def test_lock_and_unlock(store, named):
    lock = Lock(store, named)
    assert lock.try_lock("ann-1", 30) == b"ann-1"
    assert lock.try_lock("bob-1", 30) is None
    assert lock.try_lock("ann-1", 30) == b"ann-1"  # a retry
    assert store.get(lock.key) == b"ann-1" and 25 < store.ttl(lock.key) <= 30
    assert lock.unlock("bob-1") == 0
    assert lock.unlock("ann-1") == 1
    assert lock.unlock("ann-1") == 0
    assert not store.exists(lock.key)
    assert set(store.keys()) == {lock.fence_key.encode()}


def test_fences_grow_whoever_asks_for_them(lock, store):
    fences = []
    for number in range(6):
        lock_id = f"id-{number}"
        if number % 2:
            assert lock.try_lock(lock_id, 30) == lock_id.encode()
        answer = lock.try_lock(lock_id, 30, 1)
        assert answer[0] == lock_id.encode()
        fences.append(answer[1])
        assert lock.try_lock(lock_id, 30, 1) == answer
        assert lock.unlock(lock_id) == 1
    assert fences == sorted(set(fences))
    assert fences[0] > 10**15  # about the time in µs


def test_the_other_calls_see_it(lock, store):
    lock.try_lock("ann-1", 30)
    holder, fence, left = lock.scripts.get_lock([lock.key, lock.fence_key])
    assert holder == b"ann-1" and fence > 0 and 25_000 < left <= 30_000
    assert lock.scripts.extend_lock([lock.key], ["ann-1", 60]) == 1
    assert 55 < store.ttl(lock.key) <= 60
    assert lock.scripts.unlock([lock.key, lock.fence_key], ["ann-1"]) == 1


def test_a_lock_ends_at_its_ttl(lock):
    assert lock.try_lock("ann-1", "0.05") == b"ann-1"
    wait_until(lambda: lock.try_lock("bob-1", 30) == b"bob-1", "the lock is free")
    assert lock.unlock("ann-1") == 0


def test_a_lock_of_another_program_counts(lock, store):
    store.set(lock.key, "theirs", ex=30, nx=True)
    assert lock.try_lock("ann-1", 30) is None
    assert lock.unlock("ann-1") == 0
    assert lock.unlock("theirs") == 1
    assert lock.try_lock("ann-1", 30) == b"ann-1"


def test_a_ttl_of_more_than_30_days(lock, store):
    assert lock.try_lock("ann-1", 2**31) == b"ann-1"
    assert 30 * DAY_S - 60 < store.ttl(lock.key) <= 30 * DAY_S


@pytest.mark.parametrize("ttl", ["0", "-1", "soon", "", "nan", "0.0001"])
def test_a_ttl_that_is_none(lock, store, ttl):
    refused(store, lambda: lock.try_lock("ann-1", ttl), "a duration is")


def test_what_is_missing(lock, store):
    refused(store, lambda: lock.try_lock("", 30), "needs an id")
    refused(store, lambda: lock.try_lock("ann-1"), "a duration is")
    refused(store, lock.try_lock, "a duration is")
    lock.try_lock("ann-1", 30)
    assert lock.unlock("") == 0
    assert lock.scripts.unlock([lock.key]) == 0


def test_keys_that_do_not_fit_together(lock, store):
    lock.try_lock("ann-1", 30)
    keys = [lock.key, "seat:fence:another"]
    for name, arguments in {"try_lock": ["ann-1", 30], "unlock": ["ann-1"],
                            "extend_lock": ["ann-1", 30], "get_lock": []}.items():
        refused(store, lambda name=name, arguments=arguments:
                getattr(lock.scripts, name)(keys, arguments), "not of one lock")


def test_names_of_a_program_s_own(store):
    scripts, keys = Scripts(store), ["app:lock:7"]
    first = scripts.try_lock(keys, ["ann-1", 30, 1])
    assert first[0] == b"ann-1"
    assert scripts.try_lock(keys, ["bob-1", 30]) is None
    assert scripts.unlock(keys, ["ann-1"]) == 1
    assert scripts.try_lock(keys, ["bob-1", 30, 1])[1] > first[1]
    assert set(store.keys()) == {b"app:lock:7", b"app:lock:7:fence"}


def test_the_note_of_a_fence_goes_a_day_after_the_lock(lock, store):
    """Whatever was done last, so that names nobody uses any more do not pile up."""
    def kept(seconds):
        left = store.ttl(lock.fence_key)
        return DAY_S + seconds - 60 < left <= DAY_S + seconds

    lock.try_lock("ann-1", 600, 1)
    assert kept(600)
    lock.scripts.extend_lock([lock.key], ["ann-1", 1200])
    assert kept(1200)
    lock.scripts.try_lock([lock.key, lock.fence_key], ["ann-1", 600, 1, f"floor:{2**53 - 1}"])
    assert kept(600)
    lock.unlock("ann-1")
    assert kept(600)
    store.delete(lock.fence_key)
    store.set(lock.key, "theirs")
    lock.try_lock("theirs", 300)
    assert kept(300)
    lock.unlock("theirs")
    assert kept(300)


def test_fences_grow_without_the_note(lock, store):
    first = lock.try_lock("ann-1", 30, 1)[1]
    lock.unlock("ann-1")
    store.delete(lock.fence_key)
    assert lock.try_lock("bob-1", 30, 1)[1] > first
