# SPDX-License-Identifier: Apache-2.0
"""A process that is killed loses nothing it has answered for, and leaves nothing half done.

crash_worker carries out random commands on a directory, in a run that begins several segments and
takes several snapshots. It is killed before every single system call that changes the directory,
and before every answer; then recovery is killed at every call in turn; then all of it at random.
After each crash `crash_worker check` recovers the directory and compares it with a reference.

HOLDFAST_CRASH=long takes more and longer runs. A sanitized build takes every fifth point.
"""

import fcntl
import os
import random
import shutil
import time

import pytest

from crash import (BATCH, BATCH_RUSHED, CRASHED, FAMILIES, Lost, Point, crash_points, each, kill_at,
                   last_answered, of_family, read_log, remove, tear_tail, tracing)

LONG = os.environ.get("HOLDFAST_CRASH") == "long"
SEEDS = range(1, 5) if LONG else range(1, 3)
COMMANDS = 1200 if LONG else 400
SANITIZED_STEP = 5
RUSHES = 100 if LONG else 20
NEVER = 65535  # an answer that no run comes to
TEMPORARY = "snapshot.tmp"
# In the child, calls on that file alone.
FORKS = ["clone", "clone3", "fork", "vfork"]
CHILD_CALLS = FAMILIES["write"] + FAMILIES["sync"] + FAMILIES["unlink"] + ["openat", "open"]

pytestmark = pytest.mark.usefixtures("strace")


def some(points, worker):
    """All of them, or those a sanitized build has time for: every fifth."""
    return points[::SANITIZED_STEP] if worker.sanitized else points


def crash(worker, directory, seed, point):
    """Kills a run at a point; gives whether it got there, and the last command answered."""
    ended = worker.run("run", directory, seed, 1, COMMANDS, strace=kill_at(point))
    if ended.returncode not in (0, CRASHED):
        raise Lost(ended.stderr)
    return ended.returncode == CRASHED, last_answered(ended.stdout)


@pytest.fixture(scope="session", params=SEEDS, ids=lambda seed: f"seed{seed}")
def seed(request):
    return request.param


@pytest.fixture(scope="session")
def points(worker, seed, strace):
    """Where a run with this seed can be killed. It must have done all that a journal does."""
    directory = worker.base / f"whole-{seed}"
    found = list(crash_points(worker, directory, "run", directory, seed, 1, COMMANDS))
    segments = len(of_family(found, "resize"))
    snapshots = len(of_family(found, "rename"))
    assert segments >= 4 and snapshots >= 2 and of_family(found, "unlink"), found
    worker.check(directory, seed, COMMANDS)
    remove(directory)
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_killed_at_every_call(worker, seed, points, family, count_crashes):
    def one(point):
        directory = worker.base / f"{seed}-{point}"
        crashed, acked = crash(worker, directory, seed, point)
        worker.check(directory, seed, acked)
        remove(directory)
        return crashed

    wanted = some(of_family(points, family), worker)
    happened = each(one, wanted)
    assert happened == len(wanted)  # a run does the same calls every time
    count_crashes(happened)


# ---- recovery that is killed, too --------------------------------------------------------------

def kill_recovery(worker, source, check):
    """Kills recovery of a copy of a directory at every call, then checks the copy."""
    def copy(name):
        return shutil.copytree(source, worker.base / f"{source.name}-{name}")

    def one(point):
        directory = copy(point)
        ended = worker.run("open", directory, strace=kill_at(point))
        if ended.returncode not in (0, CRASHED):
            raise Lost(ended.stderr)
        check(directory)
        remove(directory)
        return ended.returncode == CRASHED

    whole = copy("whole")
    found = list(crash_points(worker, whole, "open", whole))
    return each(one, some(found, worker))


def kill_twice(worker, seed, point, spoil=None):
    """Kills a run, then its recovery at every call."""
    directory = worker.base / f"twice-{seed}-{point}"
    crashed, acked = crash(worker, directory, seed, point)
    assert crashed
    if spoil is not None:
        spoil(directory)
    return kill_recovery(worker, directory, lambda copy: worker.check(copy, seed, acked))


@pytest.mark.parametrize("family", ["rename", "unlink", "resize"])
def test_recovery_killed_at_every_call(worker, seed, points, family, count_crashes):
    """What is left half done here, recovery has to remove or to finish."""
    count_crashes(sum(kill_twice(worker, seed, point)
                      for point in of_family(points, family)[-2 if worker.sanitized else -4:]))


def test_recovery_killed_while_it_cuts_a_torn_tail(worker, seed, points, count_crashes):
    writes = of_family(points, "write")
    count_crashes(kill_twice(worker, seed, writes[len(writes) // 2], spoil=tear_tail))


def test_recovery_killed_while_it_lets_waiting_commands_go(worker, count_crashes):
    directory = worker.base / "waiting"
    assert worker.run("wait", directory).returncode == -9

    def check(copy):
        ended = worker.run("check-wait", copy)
        if ended.returncode != 0:
            raise Lost(ended.stderr)

    count_crashes(kill_recovery(worker, directory, check))
    check(directory)


# ---- the child that writes a snapshot ----------------------------------------------------------

def names_of_temporary(directory):
    """As it is opened, and as an open file is known."""
    return [TEMPORARY, directory / TEMPORARY]


def child_points(worker, seed):
    """Every call of a child on its file. The first call in the log is an answer of the parent."""
    directory, log = worker.base / f"child-{seed}", worker.base / f"child-{seed}.log"
    said = worker.base / f"child-{seed}.said"
    options = tracing([*CHILD_CALLS, "writev"], log, follow=True,
                      paths=[said, *names_of_temporary(directory)])
    with said.open("w") as out:
        ended = worker.run("run", directory, seed, 1, COMMANDS, out=out, strace=options)
    assert ended.returncode == 0, ended.stderr
    remove(directory)
    found = {Point(call.name, call.n) for call in read_log(log) if not call.first}
    assert of_family(found, "write") and of_family(found, "sync"), found
    return sorted(found)


def test_child_killed_at_every_call(worker, seed, count_crashes):
    """Every child is killed at the same point of its work: there is no snapshot at all. The parent
    goes on to the end, or is killed before some answer."""
    def one(pair):
        point, answer = pair
        directory = worker.base / f"child-{seed}-{point}-{answer}"
        said = worker.base / f"{directory.name}.said"
        inject = [f"{point.call}:signal=KILL:when={point.n}", f"writev:signal=KILL:when={answer}"]
        options = tracing([point.call, "writev"], inject=inject, follow=True,
                          paths=[said, *names_of_temporary(directory)])
        with said.open("w") as out:
            ended = worker.run("run", directory, seed, 1, COMMANDS, out=out, strace=options)
        if ended.returncode != (0 if answer == NEVER else CRASHED):
            raise Lost(f"ended with {ended.returncode}: {ended.stderr}")
        if list(directory.glob("snapshot-*")):
            raise Lost("a snapshot that was not finished is in place")
        worker.check(directory, seed, last_answered(said.read_text()))
        remove(directory)
        return True

    answers = [NEVER, *range(20, COMMANDS // BATCH, 9)]
    pairs = [(point, answer) for point in child_points(worker, seed) for answer in answers]
    count_crashes(each(one, some(pairs, worker)))


def answers_before(worker, directory, seed, first, calls):
    """How many batches a run answers before it makes one of these calls for the first time."""
    log = worker.base / f"{directory.name}.log"
    ended = worker.run("run", directory, seed, first, first + COMMANDS,
                       strace=tracing([*calls, "writev"], log))
    assert ended.returncode == 0, ended.stderr
    remove(directory)
    return [call.name == "writev" for call in read_log(log)].index(False)


def wait_until_free(directory):
    """Until the process that has the directory is gone."""
    with (directory / "LOCK").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_orphaned_child_does_no_harm(worker, count_crashes):
    """The child of a killed run comes late: it begins to write when the next run has written its
    own snapshot and is about to give it its name. That run is killed, too, when it has removed what
    the snapshot replaces. The first one is killed a little after the fork: a child that finds nobody
    to report to before it has begun to write ends by itself."""
    seed, directory, said = 1, worker.base / "orphan", worker.base / "orphan.said"
    forked = answers_before(worker, worker.base / "fork", seed, 1, FORKS)
    options = tracing(
        ["openat", "pwrite64", "close", "writev"], follow=True,
        paths=[said, *names_of_temporary(directory)],
        inject=["openat,pwrite64:delay_enter=1500000:when=1",
                "close:delay_enter=300000:when=1", f"writev:signal=KILL:when={forked + 1}"])
    with said.open("w") as out:
        orphan = worker.start("run", directory, seed, 1, COMMANDS, out=out, strace=options)
    wait_for(lambda: said.stat().st_size > 0)
    wait_until_free(directory)
    first = worker.check(directory, seed, last_answered(said.read_text()))

    copy = shutil.copytree(directory, worker.base / "orphan-copy")
    renamed = answers_before(worker, copy, seed, first, FAMILIES["rename"])
    assert orphan.poll() is None, "the child was not late enough"
    options = tracing([*FAMILIES["rename"], "writev"], inject=[
        "renameat:delay_enter=4000000", f"writev:signal=KILL:when={renamed + 5}"])
    second = worker.run("run", directory, seed, first, first + COMMANDS, strace=options)
    assert second.returncode == CRASHED, second.stderr
    assert orphan.poll() is not None, "the child was too late"
    worker.check(directory, seed, last_answered(second.stdout, first))
    count_crashes(2)


# ---- at any time -------------------------------------------------------------------------------

def wait_for(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "nothing happens"
        time.sleep(0.001)


def test_killed_at_random_times(worker, count_crashes):
    """Runs at full speed, killed one after another in the same directory. A child that was writing
    a snapshot is not waited for."""
    chance = random.Random(1)
    directory, said, first = worker.base / "rush", worker.base / "rush.said", 1
    for number in range(RUSHES):
        if number % 5 == 0:
            remove(directory)
            first = 1
        with said.open("w") as out:
            process = worker.start("rush", directory, number // 5, first, 10**9, out=out)
        wait_for(lambda: said.stat().st_size > 0 or process.poll() is not None)
        time.sleep(chance.uniform(0, 0.3))
        assert process.poll() is None, f"ended by itself with {process.returncode}"
        process.kill()
        process.wait()
        acked = last_answered(said.read_text(), first)
        first = worker.check(directory, number // 5, acked, BATCH_RUSHED)
    remove(directory)
    count_crashes(RUSHES)
