# SPDX-License-Identifier: Apache-2.0
"""holdfast call with one command: replies, refusals, malformed requests."""

import json
from unittest.mock import ANY

import pytest

from harness import COMMANDS

DONE, REFUSED, MALFORMED = 0, 1, 2
LONGEST = "x" * 128


def test_a_reply_has_an_element_per_line(call):
    ended = call("SEATS.OPEN", "gala", "floor", "500")
    assert (ended.code, ended.err) == (DONE, "")
    assert ended.lines == ["1) (integer) 1", "2) (integer) 500", "3) (integer) 500"]


def test_a_bare_number(call):
    ended = call("SEM.CARD", "printers")
    assert (ended.code, ended.out) == (DONE, "(integer) 0\n")


def test_nil_is_a_refusal(call):
    ended = call("LOCK.GET", "seat-1")
    assert (ended.code, ended.out, ended.err) == (REFUSED, "(nil)\n", "")


def test_an_empty_list(call):
    ended = call("ROOM.ADMIT", "gala", "10")
    assert (ended.code, ended.out) == (DONE, "(empty)\n")


def test_a_refusal_shows_code_and_message(call):
    ended = call("SEATS.ZONE", "gala", "floor")
    assert (ended.code, ended.err) == (REFUSED, "")
    assert ended.lines == ["1) (integer) 0", "2) ZONE_NOT_FOUND",
                           '3) no such zone; event "gala", zone "floor"']


def test_a_refusal_that_carries_figures(call):
    ended = call("QUOTA.RESERVE", "acme", "10")
    assert ended.code == REFUSED
    assert ended.lines == ["1) (integer) -1", "2) (integer) 0", "3) (integer) 0"]


def test_the_command_is_taken_in_any_case(call):
    arguments = ("gala", "floor", "5")
    assert call("seats.Open", *arguments).out == call("SEATS.OPEN", *arguments).out


def test_what_follows_the_command_is_its_own(call):
    ended = call("SEM.CARD", "--json")
    assert (ended.code, ended.out) == (DONE, "(integer) 0\n")


NEED_NOTHING = ("RECONCILE", "WEBHOOKS.REPLAY", "QUOTA.SYNCALL", "QUOTA.SYNCED", "SAGA.LIST")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in NEED_NOTHING])
def test_every_command_wants_its_arguments(call, command):
    ended = call(command)
    assert ended.code == MALFORMED
    assert ended.lines[1] == "2) ERR"
    assert f"wrong number of arguments for {command}" in ended.lines[2]


@pytest.mark.parametrize("words, about", [
    (["SEATS.BURN", "gala"], "unknown command"),
    (["SEATS.OPEN", "gala", "floor", "many"], "many"),
    (["SEATS.OPEN", "gala", "floor", "5", "6"], "no argument '6'"),
    (["SEATS.ZONE", "gala", "floor", "5"], "wrong number"),
    (["LOCK.TRY", "seat-1", "10 s"], "10 s"),
    (["LOCK.TRY", "seat-1", "10", "COLOUR", "red"], "COLOUR"),
    (["QUOTA.RESERVE", "acme", "5", "HOLD", "h", "HOLD", "h"], "HOLD"),
], ids=" ".join)
def test_a_malformed_request(call, words, about):
    ended = call(*words)
    assert ended.code == MALFORMED
    assert ended.lines[1] == "2) ERR" and about in ended.lines[2]


@pytest.mark.parametrize("id_, good", [
    ("gala", True), (LONGEST, True), ("fête-2030", True), ("日本", True), ("a/b:c.d~e", True),
    (LONGEST + "x", False), ("", False), ("gala night", False), ("ga\tla", False),
    ("{gala}", False), ("gala}", False), ("ga\x7fla", False), ("ga\u00a0la", False),
    ("ga\u3000la", False), (b"ga\xffla", False), (b"\xed\xa0\x80", False), (b"\xc0\xaf", False),
], ids=ascii)
def test_ids(call, id_, good):
    ended = call("SEATS.OPEN", id_, "floor", "5")
    if good:
        assert ended.code == DONE
    else:
        assert ended.code == REFUSED
        assert ended.lines[:2] == ["1) (integer) 0", "2) INVALID_ID"]


@pytest.mark.parametrize("words, code", [
    (["SEATS.OPEN", "gala", "floor", "-1"], "INVALID_QUANTITY"),
    (["SEATS.OPEN", "gala", "floor", "9007199254740992"], "INVALID_QUANTITY"),
    (["QUOTA.LIMIT", "acme", "-1"], "INVALID_AMOUNT"),
    (["QUOTA.RESERVE", "acme", "0"], "INVALID_AMOUNT"),
    (["LOCK.TRY", "seat-1", "9ms"], "INVALID_TTL"),
    (["LOCK.TRY", "seat-1", "721h"], "INVALID_TTL"),
    (["STOCK.LOAD", "shoe", "5", "POLICY", "split"], "INVALID_ARGUMENT"),
    (["QUOTA.RESERVE", "acme", "5", "TTL", "10"], "INVALID_ARGUMENT"),
], ids=" ".join)
def test_values_out_of_bounds_are_refused(call, words, code):
    ended = call(*words)
    assert ended.code == REFUSED
    assert ended.lines[1] == f"2) {code}"


@pytest.mark.parametrize("words, expected", [
    (["SEATS.OPEN", "gala", "floor", "9007199254740991"],
     {"available": 9007199254740991, "capacity": 9007199254740991}),
    (["SEATS.USER", "gala", "ann"], {"held": 0, "confirmed": 0}),
    (["STOCK.LOAD", "shoe", "5", "SHARDS", "4", "POLICY", "steal"], {"available": 5}),
    (["LOCK.TRY", "seat-1", "1500ms", "ID", "mine"], {"lock_id": "mine", "fence": ANY}),
    (["ROOM.ADMIT", "gala", "10"], []),
], ids=lambda value: value[0] if isinstance(value, list) and value else "")
def test_json_names_the_figures(holdfast, words, expected):
    ended = holdfast("call", "--json", "--engine", "embedded:", *words)
    assert ended.code == DONE
    assert json.loads(ended.out) == expected
    assert len(ended.lines) == 1


def test_json_of_a_refusal(holdfast):
    ended = holdfast("call", "--engine", "embedded:", "--json", "SEATS.ZONE", "gala", "floor")
    assert ended.code == REFUSED
    assert json.loads(ended.out) == {"error": {
        "code": "ZONE_NOT_FOUND", "message": 'no such zone; event "gala", zone "floor"'}}


def test_json_of_a_malformed_request(holdfast):
    ended = holdfast("call", "--engine", "embedded:", "--json", "SEATS.ZONE", 'ga"la')
    assert ended.code == MALFORMED
    assert "wrong number of arguments" in json.loads(ended.out)["error"]["message"]


def test_json_escapes_what_it_repeats(holdfast):
    ended = holdfast("call", "--engine", "embedded:", "--json", "SEATS.ZONE", 'a"\\ \n', "floor")
    assert ended.code == REFUSED
    assert json.loads(ended.out)["error"]["code"] == "INVALID_ID"
