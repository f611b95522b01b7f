# SPDX-License-Identifier: Apache-2.0
"""tools/check-lua finds what is wrong with a script: in its contract, between contract, row and
code, and in the code."""

import shutil

import pytest

from harness import ROOT, Build, run

# File, what is replaced in it by what, and what is said of that.
FAULTS = [
    ("lua/quota/reserve_quota.lua", "-- KEYS[3]", "-- KEYS[4]", ":9: KEYS[4] is number 3"),
    ("lua/quota/commit_quota.lua", "-- ARGV[1] hold", "-- ARGV[1] holt",
     ":1: its row has ARGV hold"),
    ("lua/quota/get_quota.lua", "-- ARGV    none\n", "", "no line '-- ARGV'"),
    ("lua/lock/unlock.lua", "seat:locked:$resource", "seat:locked:R",
     ":1: its row has KEYS seat:locked:$resource"),
    ("lua/lock/extend_lock.lua", "to_ms(ARGV[2])", "to_ms(ARGV[3])",
     ":1: uses ARGV[3], and lists 2"),
    ("lua/seats/get_zone.lua", "-- Refuses ZONE_NOT_FOUND", "-- Refuses NO_SLOT",
     ":1: refuses with ZONE_NOT_FOUND, and does not list it"),
    ("lua/seats/get_booking.lua", "-- Refuses RES", "-- Refuses SOLD_OUT, RES",
     ":1: lists SOLD_OUT, and never refuses with it"),
    ("lua/seats/get_user.lua", "-- Errors  AGAIN", "-- Errors  none", ":1: AGAIN is answered"),
    ("lua/room/leave_queue.lua", "local left", "left",
     "setting non-standard global variable 'left' (W111)"),
    ("lua/room/join_queue.lua", "local user,", "local unread = 1\nlocal user,",
     "unused variable 'unread' (W211)"),
    ("lua/parts/worker.lua", "local function worker_limit(",
     "local function nobody_calls()\nend\nlocal function worker_limit(",
     ":5: unused function 'nobody_calls' (W211)"),
    ("docs/redis.md", " +zrank", "", ": the ACL rule of the user lacks +zrank"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The scripts and all that is needed to check them, to be spoiled."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("lua", "tools", "include", "src/base"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "docs").mkdir()
    for name in (".luacheckrc", "docs/redis.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def check(folder):
    return run(folder / "tools/check-lua", Build().path)


@pytest.fixture(scope="module")
def found(copy):
    """What is found when every fault is there at once."""
    for name, old, new, _ in FAULTS:
        path = copy / name
        text = path.read_text()
        assert old in text, f"{name} has no '{old}'"
        path.write_text(text.replace(old, new, 1))
    (copy / "lua/lock/internal").mkdir()
    (copy / "lua/lock/get_lock.lua").rename(copy / "lua/lock/internal/get_lock.lua")
    ended = check(copy)
    assert ended.code == 1, ended
    return ended.out.splitlines()


def test_the_scripts_are_as_they_should_be(copy):
    ended = check(copy)
    assert ended.code == 0, ended


@pytest.mark.parametrize("name, old, new, said", FAULTS)
def test_a_fault_is_found(found, name, old, new, said):
    assert any(line.startswith(name) and said in line for line in found), found


def test_a_command_does_not_hide_among_internal_scripts(found):
    assert any("the script of LOCK.GET does not belong into internal/" in line for line in found)


def test_nothing_else_is_found(found):
    others = {"lua/lock/internal/get_lock.lua"} | {name for name, *_ in FAULTS}
    assert [line for line in found[:-1] if line.split(":")[0] not in others] == []
