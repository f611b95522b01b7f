# SPDX-License-Identifier: Apache-2.0
"""Slots that stand still in the middle of a move, and every command of the table: none changes
anything there, on either master. It is refused, or waits until the slot has arrived."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from commands_page import EXAMPLES, fill_in
from faults import audit, told_again
from harness import COMMANDS
from redis_cluster import HASTY_MS, RedisCluster
from script_calls import is_granted, named
from server import Error, Server
from servers import wait_until
from slot_moves import Move, owned, refusals, settle, slot_of, wait_agreed

TIMEOUT_MS = 1000  # of a server whose commands are refused soon
ALONE = ("LIST",)  # has no scope: it walks over all masters


@pytest.fixture(scope="module")
def cluster():
    with RedisCluster(replicas=0, node_timeout_ms=HASTY_MS) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def hasty(cluster):
    with Server("--engine", f"{cluster.url}?timeout={TIMEOUT_MS}&worker=no", "--admission-every", "0",
                memory=True) as one:
        yield one


@pytest.fixture(scope="module")
def patient(cluster):
    with Server("--engine", f"{cluster.url}?timeout=60000&worker=no", "--admission-every", "0",
                memory=True) as one:
        yield one


@pytest.fixture(autouse=True)
def still(cluster):
    """No slot moves before a test, nor is there any key."""
    cluster.flush()
    yield
    settle(cluster)


# ---- every command, through the engine


class Case:
    """The example that docs/commands.md has of a command, in a scope of its own."""

    def __init__(self, example, taken):
        """In a slot that is not yet taken, so that each moves alone."""
        self.example = example
        self.words = None
        for number in itertools.count():
            self.scope = f"{example.line[1]}-{number}"
            tag = self.scope + "_main" if example.name.startswith("STOCK.") else self.scope
            self.slot = slot_of(tag)
            if self.slot not in taken:
                taken.add(self.slot)
                return

    def __repr__(self):
        return " ".join(self.words or [self.example.name])

    def prepare(self, server):
        """Carries out the lines before the last, and makes that one ready."""
        given = None
        for words in [*self.example.before, self.example.line]:
            words = fill_in([words[0], self.scope, *words[2:]], given)
            if words[0] == self.example.line[0] and words[2:] == fill_in(self.example.line,
                                                                        given)[2:]:
                self.words = words
                return
            reply = server.call(*words)
            assert is_granted(reply), f"{words}: {reply}"
            given = named(words[0], reply)


def moves_in_the_middle(cluster, cases, how):
    """The slot of each case, on its way: with no key moved, half of them, or all."""
    moves = {}
    for case in cases:
        moves[case] = move = Move(cluster, case.slot, cluster.masters[-1])
        if how == "half":
            move.every_other()
        elif how == "all":
            move.keys(move.keys_at(move.source))
    return moves


def call_all(server, cases):
    with ThreadPoolExecutor(len(cases)) as pool:
        return list(pool.map(lambda case: server.call(*case.words), cases))


def prepared(cluster, server):
    """A case for each command, all at other masters than the last, to which they move: a cluster
    that moves slots to several masters at a time may end up at odds over who owns them."""
    taken = owned(cluster.masters[-1])
    cases = [Case(example, taken) for example in EXAMPLES
             if example.name not in ALONE and not example.needs_ledger]
    for case in cases:
        case.prepare(server)
    return cases


def test_the_page_has_an_example_of_every_command():
    assert {example.name for example in EXAMPLES} == set(COMMANDS)


@pytest.mark.parametrize("how", ["none", "half", "all"])
def test_a_command_for_a_moving_slot_is_busy_and_changes_nothing(cluster, hasty, patient, how):
    cases = prepared(cluster, patient)
    moves = moves_in_the_middle(cluster, cases, how)
    before = {case: moves[case].state() for case in cases}
    for case, reply in zip(cases, call_all(hasty, cases)):
        reply = told_again(reply, lambda: hasty.call(*case.words))
        assert isinstance(reply, Error) and reply.code == "BUSY", f"{case}: {reply}"
        assert moves[case].state() == before[case], case
    for case in cases:
        moves[case].cancel() if how == "none" else moves[case].finish()
    wait_agreed(cluster)
    for case, reply in zip(cases, call_all(patient, cases)):
        assert is_granted(reply), f"{case}: {reply}"
    assert audit(cluster.url) == []


def test_a_command_for_a_moving_slot_waits_until_it_has_arrived(cluster, patient):
    cases = prepared(cluster, patient)
    moves = moves_in_the_middle(cluster, cases, "half")
    before = {case: moves[case].state() for case in cases}
    connections = [patient.connect() for _ in cases]
    for case, connection in zip(cases, connections):
        connection.send(*case.words)
    tries = refusals(cluster)
    wait_until(lambda: refusals(cluster) > tries + 3 * len(cases), "all were refused, and again")
    for case in cases:
        assert moves[case].state() == before[case], case
        moves[case].finish()
    for case, connection in zip(cases, connections):
        reply = connection.read()
        assert is_granted(reply), f"{case}: {reply}"
        connection.close()
    assert audit(cluster.url) == []
