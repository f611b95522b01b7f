# SPDX-License-Identifier: Apache-2.0
"""The day on which files are replaced, as docs/migrating.md tells it: services with the usual scripts and
services with ours on the same keys, side by side and one after the other."""

import shutil

import pytest

from caller_programs import FOLDER, Caller
from harness import ROOT, Build
from languages import go_program, node_folder
from servers import wait_until

USUAL = FOLDER / "usual"
HOUR_S = 3600


@pytest.fixture(scope="module")
def usual_scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usual")
    for script in USUAL.glob("*.lua"):
        shutil.copy(script, folder)
    shutil.copy(ROOT / "bench/reserve_usual.lua", folder / "reserve_seats.lua")
    return folder


@pytest.fixture(scope="module")
def booking_service(tmp_path_factory):
    return go_program(Build(), FOLDER / "seats.go", tmp_path_factory.mktemp("go") / "seats")


@pytest.fixture(params=["plain", "tagged"])
def services(request, standalone, store, booking_service, usual_scripts):
    """The same service twice: with the usual scripts, and with ours."""
    with Caller([booking_service], request.param, [standalone.address], usual_scripts) as old:
        with Caller([booking_service], request.param, [standalone.address]) as new:
            yield old, new


def free(service):
    [count] = service.inventory()["zones"].values()
    return count


def test_bookings_from_before_the_switch_are_paid_for_or_given_back(services):
    old, new = services
    old.seed("gala", "floor", 20)
    for booking in ("b-1", "b-2"):
        assert old.reserve("gala", "floor", booking, "ann", 2, 8, HOUR_S)["ok"]
    assert new.confirm("gala", "b-1", "ann", "pay-1", "CODE-1")["code"] == "CODE-1"
    found = new.look("gala", "b-1")
    assert found["record"]["status"] == "confirmed" and found["ttl_ms"] == -1
    assert new.cancel("gala", "floor", "b-2", "ann") == {
        "ok": True, "status": "SUCCESS", "available": 18, "user_reserved": 0}
    assert free(new) == 18


def test_only_what_the_usual_script_let_lapse_is_lost(services):
    """Its record takes its seats with it, which is why the counter is set anew after the switch."""
    old, new = services
    old.seed("gala", "floor", 20)
    old.reserve("gala", "floor", "b-1", "ann", 2, 8, 1)
    new.reserve("gala", "floor", "b-2", "bob", 3, 8, 1)
    for booking in ("b-1", "b-2"):
        wait_until(lambda: new.look("gala", booking)["ttl_ms"] == -2, "both lapse")
    assert new.reserve("gala", "floor", "b-3", "eve", 1, 8, HOUR_S)["remaining"] == 20 - 2 - 1


def test_services_with_either_script_sell_the_same_seats_during_a_deployment(services):
    old, new = services
    old.seed("gala", "floor", 20)
    assert new.reserve("gala", "floor", "b-1", "ann", 2, 8, HOUR_S)["remaining"] == 18
    assert old.reserve("gala", "floor", "b-2", "ann", 3, 8, HOUR_S) == {
        "ok": True, "remaining": 15, "user_reserved": 5}
    assert new.reserve("gala", "floor", "b-3", "ann", 4, 8, HOUR_S)["code"] == "USER_LIMIT_EXCEEDED"
    outcomes = old.rush("gala", "floor", 10, HOUR_S)["outcomes"]
    assert outcomes == {"reserved": 10} and free(new) == 5
    assert new.cancel("gala", "floor", "b-5", "u-5")["ok"]
    assert free(new) == 6


@pytest.fixture(scope="module")
def node_programs():
    return node_folder(Build(), FOLDER.glob("*.js"))


def test_quotas_go_on_as_they_were(node_programs, standalone, store, usual_scripts):
    where = ["node", node_programs / "quota.js"], "plain", [standalone.address]
    with Caller(*where, usual_scripts) as old, Caller(*where) as new:
        old.limit("acme", 100)
        assert old.reserve("acme", 40)["used"] == 40
        assert new.reserve("acme", 40)["used"] == 80
        assert old.reserve("acme", 40) == new.reserve("acme", 40) == {
            "ok": False, "code": "QUOTA_EXCEEDED", "used": 80, "limit": 100}
        assert old.refund("acme", 50)["used"] == 30 and new.refund("acme", 50)["used"] == 0


def test_locks_are_respected_by_both(node_programs, standalone, store, usual_scripts):
    where = ["node", node_programs / "locks.js"], "plain", [standalone.address]
    with Caller(*where, usual_scripts) as old, Caller(*where) as new:
        held = old.lock("A-1", 60)
        assert held["ok"] and not new.lock("A-1", 60)["ok"]
        assert new.lock("A-1", 60, held["id"])["ok"] and new.unlock("A-1", held["id"])["ok"]
        held = new.lock("A-1", 60)
        assert held["ok"] and not old.lock("A-1", 60)["ok"]
        assert old.unlock("A-1", held["id"])["ok"] and new.lock("A-1", 60)["ok"]
