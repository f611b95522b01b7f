# SPDX-License-Identifier: Apache-2.0
"""The semaphore scripts called with the KEYS and ARGV that the field's layout has, and no more."""

import time

import pytest
from redis.exceptions import ResponseError

from harness import Build
from layout_caller import FOR_EVER_S, LayoutCaller, load
from redis_cluster import RedisCluster

DAY_S = 86400
CROWD = 60  # more than one call gives back or hands out
LAYOUTS = {"plain": ("adv-sem", "gpu"), "tagged": ("adv-sem", "{gpu}"),
           "namespaced": ("shop:eu", "gpu"), "tagged and namespaced": ("shop:eu", "{gpu}"),
           "tag in the namespace": ("{shop}", "gpu"),
           "name as a key": ("semaphore_main:a", "semaphore_main:b")}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


@pytest.fixture
def client(store, layout):
    """client(id, limit, …): a client of the layout's semaphore."""
    scripts = load(store, Build().path / "lua")
    namespace, name = layout

    def make(identity, limit=1, **more):
        return LayoutCaller(store, scripts, more.pop("name", name), identity, limit,
                            namespace=more.pop("namespace", namespace), **more)
    return make


@pytest.fixture
def plain(store):
    scripts = load(store, Build().path / "lua")
    return lambda identity, limit=1, **more: LayoutCaller(
        store, scripts, more.pop("name", "gpu"), identity, limit, **more)


def dump(store):
    """All there is, without the times at which keys expire."""
    return {key: store.dump(key) for key in store.keys()}


def fence(caller):
    return int(caller.redis.get(caller.fence))


# ---- all of it, on every layout


def test_slots_go_round_in_the_order_of_arrival(client):
    clients = [client(f"c-{n}") for n in range(4)]
    for each in clients:
        each.queue()
    assert clients[3].wake() == 1 and clients[0].notified()
    fences = []
    for n, each in enumerate(clients):
        assert each.confirm() == (1, 1) and each.card() == 1
        assert each.stats() == (1, 1)
        fences.append(fence(each))
        assert [other.notified() for other in clients] == [False] * 4
        assert each.release() == 1
        if n < 3:
            assert clients[n + 1].notified()  # by the release, at once
    assert fences == sorted(set(fences))
    assert clients[0].card() == 0 and clients[0].wake() == 0


def test_the_limit_holds_and_may_be_lowered(client):
    clients = [client(f"c-{n}", limit=2) for n in range(4)]
    for each in clients:
        each.queue()
    assert clients[0].wake() == 2
    assert [each.notified() for each in clients] == [True, True, False, False]
    clients[2].limit = 1
    assert clients[2].wake() == 0
    assert clients[0].release() == 1 and clients[2].card() == 1
    assert not clients[2].notified()  # one of one is in use
    assert clients[1].release() == 1 and clients[2].notified() and not clients[3].notified()
    assert clients[2].stats() == (1, 1)


def test_who_does_not_ping_is_dead(client):
    first, second, third = client("a"), client("b"), client("c")
    first.take()
    second.queue()
    third.queue()
    assert (first.ping(), second.ping()) == ((0, 1), (1, 0))
    first.make_due(first.waiting_heartbeat, "b")  # before the slot falls free
    first.make_due(first.main, "a")
    assert third.card() == 1 and third.notified()
    assert (first.ping(), second.ping(), third.ping()) == ((0, 0), (0, 0), (0, 1))
    assert first.confirm() == (0, 1)
    assert (first.release(), second.release()) == (0, 0)


def test_a_ttl_ends_a_hold_however_alive(client):
    first, second = client("a", ttl_s=3600), client("b")
    first.take()
    end = first.redis.zscore(first.ttl, "a")
    assert time.time() + 3500 < end < time.time() + 3700
    first.ping()
    assert first.redis.zscore(first.ttl, "a") == end
    second.queue()
    first.make_due(first.ttl, "a")
    assert first.ping() == (0, 0) and second.notified()


def test_a_hold_for_ever_is_one_for_30_days(client):
    first = client("a", heartbeat_s=FOR_EVER_S)
    assert first.take() == (1, 1)
    for key in (first.main, first.ttl):
        assert 29.9 * DAY_S < first.redis.zscore(key, "a") - time.time() < 30.1 * DAY_S
    assert first.ping() == (0, 1)
    for key in first.redis.keys():
        assert 0 < first.redis.ttl(key) < 32 * DAY_S, key


def test_no_clock_of_a_caller_matters(client):
    behind, ahead = client("a", clock=lambda: 5.0), client("b", clock=lambda: 2e12)
    ahead.queue()
    behind.queue()
    assert behind.wake() == 1 and ahead.notified() and ahead.confirm() == (1, 1)
    assert behind.card() == 1 and ahead.card() == 1
    assert ahead.release() == 1 and behind.notified()


# ---- what such programs do when something goes wrong


def test_queueing_again_keeps_the_place(plain):
    first, second = plain("a"), plain("b")
    for each in (first, second, first):
        each.queue()
    assert second.wake() == 1 and first.notified() and not second.notified()


def test_who_queues_again_with_a_slot_is_notified_again(plain):
    """The answer to its confirm was lost: it begins anew with the same id."""
    first = plain("a")
    first.take()
    first.queue()
    assert first.wake() == 0 and first.notified() and first.confirm() == (1, 1)
    assert first.redis.zcard(first.waiting) == 0


def test_a_slot_that_was_never_confirmed_is_released(plain):
    first, second = plain("a"), plain("b")
    first.queue()
    second.queue()
    assert first.wake() == 1
    assert first.release() == 1 and second.notified() and second.confirm() == (1, 1)


def test_who_gives_up_in_line_leaves_no_trace(plain):
    holder, first, second = plain("h"), plain("a"), plain("b")
    holder.take()
    first.queue()
    second.queue()
    first.release()
    assert first.ping() == (0, 0)
    holder.release()
    assert second.notified() and not first.notified()
    second.release()
    assert first.redis.keys("*:semaphore_w*") == []


def test_confirming_without_a_slot_changes_nothing(plain):
    holder, other = plain("h"), plain("a", limit=5)
    holder.take()
    other.queue()
    before = dump(holder.redis)
    assert other.confirm() == (0, 1)
    assert dump(holder.redis) == before


@pytest.mark.parametrize("what", ["holders", "waiters", "both"])
def test_a_crowd_that_falls_due_never_says_again(plain, what):
    holders = [plain(f"h-{n}", limit=CROWD) for n in range(CROWD)]
    waiters = [plain(f"w-{n}", limit=CROWD) for n in range(CROWD)]
    for each in holders:
        each.queue()
    first = holders[0]
    granted = first.wake()
    assert 0 < granted < CROWD
    while first.redis.zcard(first.main) < CROWD:  # any call goes on with it
        first.ping()
    for each in waiters:
        each.queue()
    if what != "holders":
        first.make_due(first.waiting_heartbeat, *[each.id for each in waiters])
    if what != "waiters":
        first.make_due(first.main, *[each.id for each in holders])
    for _ in range(CROWD):  # right from the first call on, and done in the end
        assert first.card() == (0 if what == "both" else CROWD)
    assert first.redis.zcard(first.waiting) == 0
    assert sum(each.notified() for each in waiters) == (CROWD if what == "holders" else 0)


# ---- lists under other names


@pytest.mark.parametrize("name", ["gpu", "{gpu}"])
def test_the_callers_own_pattern_of_lists_is_used(plain, name):
    own = "queue-of-@@@ACQUISITION_ID@@@:it"
    first, second = plain("a%1", name=name, pattern=own), plain("b", name=name, pattern=own)
    first.queue()
    second.queue()
    assert first.wake() == 1
    assert first.redis.keys("*notification*") == [] and first.list == "queue-of-a%1:it"
    assert first.notified() and first.confirm() == (1, 1)
    first.release()  # which is not told the pattern
    assert second.notified()


def test_a_pattern_without_a_place_for_the_id_is_refused(plain):
    first = plain("a", pattern="list")
    first.queue()
    before = dump(first.redis)
    with pytest.raises(ResponseError, match="@@@ACQUISITION_ID@@@"):
        first.wake()
    assert dump(first.redis) == before


# ---- what is refused


OTHER_KEYS = {
    "of another semaphore": {"ttl": "adv-sem:semaphore_ttl:cpu"},
    "of another namespace": {"ttl": "shop:semaphore_ttl:gpu"},
    "plain and tagged": {"ttl": "adv-sem:semaphore_ttl:{gpu}"},
    "in the wrong place": {"ttl": "adv-sem:semaphore_max:gpu"},
    "of no semaphore": {"main": "gpu", "waiting": "gpu"},
    "without a name": {"main": "adv-sem:semaphore_main:", "waiting": "adv-sem:semaphore_waiting:"},
}


@pytest.mark.parametrize("what", OTHER_KEYS)
def test_keys_that_do_not_fit_together_are_refused(plain, what):
    plain("holder").take()
    plain("waiter").queue()
    caller = plain("waiter")
    for attribute, key in OTHER_KEYS[what].items():
        setattr(caller, attribute, key)
    caller.waiting_heartbeat = caller.ttl.replace("_ttl", "_waiting_heartbeat").replace(
        "_max", "_main")
    before = dump(caller.redis)
    for call in (caller.queue, caller.wake, caller.confirm, caller.release, caller.ping,
                 caller.card):
        with pytest.raises(ResponseError, match="nothing was changed"):
            call()
    assert dump(caller.redis) == before


@pytest.mark.parametrize("identity", ["", "two words", "{a}", "a{2}", "tab\t", "x" * 129])
def test_ids_that_would_not_fit_are_refused(plain, identity):
    plain("holder").take()
    caller = plain(identity)
    before = dump(caller.redis)
    for call in (caller.queue, caller.confirm, caller.release, caller.ping):
        with pytest.raises(ResponseError, match="an id has"):
            call()
    assert dump(caller.redis) == before


@pytest.mark.parametrize("words", [["0"], ["-3"], ["soon"], ["nan"]])
def test_durations_that_are_none_are_refused(plain, words):
    caller = plain("a", heartbeat_s=words[0])
    for call in (caller.queue, caller.wake, caller.confirm, caller.ping):
        with pytest.raises(ResponseError, match="a duration is"):
            call()
    assert caller.redis.keys() == []


def test_arguments_that_are_not_given_have_their_defaults(plain):
    caller = plain("a")
    caller.run("queue", [caller.waiting, caller.waiting_heartbeat], "a")
    assert 170 < caller.redis.zscore(caller.waiting_heartbeat, "a") - time.time() < 190
    caller.run("wake_up_nexts",
               [caller.main, caller.ttl, caller.waiting, caller.waiting_heartbeat], 1)
    assert caller.notified()
    assert 0.9 * DAY_S < caller.redis.zscore(caller.ttl, "a") - time.time() < 1.1 * DAY_S


# ---- beside the engine, and on a cluster


def test_the_engine_and_the_layout_share_a_semaphore(plain, server):
    first = plain("a")
    first.take()
    assert server.call("SEM.QUEUE", "gpu", "ours", 60, 600) == [1, 1]
    assert server.call("SEM.STATS", "gpu") == ["in_use", 1, "max", 1, "waiting", 1]
    second = plain("b")
    second.queue()
    assert first.release() == 1
    lead, in_use, ours = server.call("SEM.ACQUIRE", "gpu", "ours", 1, "HEARTBEAT", 60, "TTL", 600)
    assert (lead, in_use) == (1, 1)
    assert server.call("SEM.RELEASE", "gpu", "ours") == 1
    assert second.notified() and second.confirm() == (1, 1) and fence(second) > ours


@pytest.fixture(scope="module")
def node():
    with RedisCluster(masters=1, replicas=0) as cluster:
        yield cluster.members[0].client()


@pytest.fixture
def on_cluster(node):
    node.flushall()
    scripts = load(node, Build().path / "lua")
    return lambda identity, name="{gpu}", **more: LayoutCaller(node, scripts, name, identity,
                                                                **more)


def test_on_a_cluster_the_tag_keeps_all_in_one_slot(on_cluster):
    first, second = on_cluster("a"), on_cluster("b")
    assert first.take() == (1, 1)
    second.queue()
    assert first.ping() == (0, 1) and first.card() == 1
    assert first.release() == 1 and second.notified() and second.release() == 1


@pytest.mark.parametrize("pattern", ["lists:@@@ACQUISITION_ID@@@",
                                     "lists:{other}:@@@ACQUISITION_ID@@@"])
def test_on_a_cluster_lists_outside_the_slot_are_refused(on_cluster, pattern):
    first = on_cluster("a", pattern=pattern)
    first.queue()
    before = dump(first.redis)
    with pytest.raises(ResponseError, match="CROSSSLOT"):
        first.wake()
    assert dump(first.redis) == before
    first.pattern = "lists:{gpu}:@@@ACQUISITION_ID@@@"
    assert first.wake() == 1 and first.notified()


def test_on_a_cluster_keys_without_a_tag_are_refused(on_cluster):
    first = on_cluster("a", name="gpu")
    with pytest.raises(ResponseError):
        first.queue()
    assert first.redis.keys() == []


def test_beyond_its_steps_a_call_still_answers_in_the_known_shape(plain):
    """What is due and still there does not count as in use."""
    first, last = plain("a", limit=20_000), plain("z", limit=20_000)
    last.queue()
    due = time.time() - 1
    first.redis.zadd(first.main, {f"m-{n:05}": due for n in range(100)})
    assert first.card() == 0 and first.redis.zcard(first.main) > 0
    assert plain("m-00099").ping() == (0, 0)
    assert first.card() == 0 and last.wake() == 1 and last.confirm() == (1, 1)
