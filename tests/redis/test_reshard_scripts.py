# SPDX-License-Identifier: Apache-2.0
"""Every script of the build, called by EVALSHA at both masters of a slot that is moving: it is
refused before it has changed anything, whatever has moved already. And a script without the first
read of lua/parts/slot.lua is noticed here."""

import re

import pytest

from harness import Build
from script_calls import overheard
from server import Connection, Error, Server
from slot_moves import Move, key_slot, settle

MOVING = "TRYAGAIN the slot of these keys is moving; nothing was changed"
SCRIPTS = sorted(path.stem for path in (Build().path / "lua").glob("*.lua"))


@pytest.fixture(scope="module")
def calls(cluster):
    with Server("--engine", cluster.url, "--admission-every", "0", memory=True) as server:
        heard = overheard(cluster, server)
    cluster.flush()
    yield heard
    settle(cluster)


def test_a_call_of_every_script_is_known(calls):
    assert sorted(calls) == SCRIPTS


class Standing:
    """A slot on its way, with all keys of a call in it, so that Redis itself refuses none that finds
    them at one master: what does is the script. Of what type they are does not matter, since
    whatever a script does to them other than its first read changes them or is an error."""

    def __init__(self, cluster, call, text, derived):
        slot = key_slot(call.keys[0])
        self.move = Move(cluster, slot)
        self.keys = sorted({*call.keys, *derived(call.keys)})
        self.words = call.words
        for node in (self.move.source, self.move.target):
            self.words[1] = node.client().script_load(text)
        self.move.cancel()
        for key in self.keys:
            self.move.source.client().set(key, 1)
        self.move.open()

    def ask(self, node, asking):
        """What the node answers, and whether anything changed at either."""
        before = self.move.state()
        with Connection(node.port) as connection:
            if asking:
                assert connection.call("ASKING") == "OK"
            reply = connection.call(*self.words)
        return reply, self.move.state() == before

    def at_source(self):
        return self.ask(self.move.source, asking=False)

    def at_target(self, asking=True):
        return self.ask(self.move.target, asking)

    def end(self):
        for node in (self.move.source, self.move.target):
            for key in self.move.keys_at(node):
                client = node.client().pipeline(transaction=False)
                client.execute_command("ASKING")
                client.execute_command("DEL", key)
                client.execute()
        self.move.cancel()


@pytest.fixture
def stand(cluster, calls):
    standing = []

    def begin(name, text=None, derived=lambda keys: ()):
        text = text or (Build().path / "lua" / f"{name}.lua").read_text()
        standing.append(Standing(cluster, calls[name], text, derived))
        return standing[-1]
    yield begin
    for one in standing:
        one.end()


def is_refused(answer, *codes):
    reply, unchanged = answer
    return unchanged and isinstance(reply, Error) and reply.code in codes


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_refused_at_both_masters_of_a_moving_slot(stand, name):
    here = stand(name)
    assert here.at_source() == (Error(MOVING), True)
    assert is_refused(here.at_target(), "TRYAGAIN")
    assert is_refused(here.at_target(asking=False), "MOVED")
    here.move.keys(here.keys[:1])
    if len(here.keys) > 1:
        assert is_refused(here.at_source(), "TRYAGAIN")
        assert is_refused(here.at_target(), "TRYAGAIN")
    here.move.keys(here.keys[1:])
    assert is_refused(here.at_source(), "ASK")
    assert here.at_target() == (Error(MOVING), True)
    assert is_refused(here.at_target(asking=False), "MOVED")


def rules_beside(keys):
    return [key.replace(b"seats:due:", b"seats:rules:") for key in keys if b"seats:due:" in key]


def test_a_reserve_whose_first_read_finds_all_it_looks_for_is_refused_by_one_more(stand):
    here = stand("reserve_seats", derived=rules_beside)
    assert here.at_source() == (Error(MOVING), True)
    here.move.keys(here.keys)
    assert here.at_target() == (Error(MOVING), True)


def test_without_that_one_more_it_is_noticed(stand):
    text = (Build().path / "lua" / "reserve_seats.lua").read_text()
    without = text.replace("problem = later().refuse_moving(zone_key)", "problem = nil")
    assert without != text
    assert stand("reserve_seats", without, rules_beside).at_source() != (Error(MOVING), True)


GUARDS = [(re.compile(r"redis\.pcall\('EXISTS', [^\n]*'\{[01]\}'\)"), "0"),
          (re.compile(r"redis\.pcall\('EXISTS', booking_key, rules_key, user_key\)"), "0"),
          (re.compile(r"(redis\.pcall\('MGET', [^\n]*), [\w.\[\]]+ \.\. '\{0\}'\)"), r"\1)")]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_does_not_refuse_a_moving_slot_is_noticed(stand, name):
    text = (Build().path / "lua" / f"{name}.lua").read_text()
    for guard, without in GUARDS:
        text = guard.sub(without, text)
    here = stand(name, text)
    assert here.at_source() != (Error(MOVING), True)
