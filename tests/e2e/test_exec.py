# SPDX-License-Identifier: Apache-2.0
"""holdfast exec: a command runs only while its slot or lock is held."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import TIMEOUT_S, run
from server import Server, wait_until

USAGE, UNAVAILABLE, TRY_AGAIN, LOST = 2, 69, 75, 76


@pytest.fixture(scope="module")
def shared(build):
    with Server(memory=True, program=build.program) as running:
        yield running


@pytest.fixture
def own(build):
    """A server to be stopped and killed."""
    with Server(memory=True, program=build.program) as running:
        yield running


@pytest.fixture
def started():
    """Processes that are not to outlive their test."""
    processes = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def begin(build, started):
    """begin(server, word, …): holdfast exec in the background."""
    def one(server, *words, env=None, **how):
        process = subprocess.Popen(
            [str(word) for word in (build.program, "exec", "--url", server.url, *words)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})}, **how)
        started.append(process)
        return process
    return one


@pytest.fixture
def execute(build):
    """execute(server, word, …): to its end."""
    def one(server, *words):
        return run(build.program, "exec", "--url", server.url, *words)
    return one


def finish(process):
    out, err = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out, err


def in_use(server, name):
    return server.call("SEM.CARD", name)


def waiting(server, name):
    return server.call("SEM.STATS", name)[5]


SLOT = ["--limit", "1", "--semaphore"]


# ---- holding -----------------------------------------------------------------------------------


def test_the_command_runs_while_the_slot_is_held(build, shared, execute):
    ended = execute(shared, *SLOT, "print", "--id", "me", "--", build.program, "call", "--url",
                    shared.url, "SEM.CARD", "print")
    assert (ended.code, ended.out, ended.err) == (0, "(integer) 1\n", "")
    assert in_use(shared, "print") == 0


def test_the_command_runs_while_several_slots_are_held(build, shared, execute):
    ended = execute(shared, "--semaphore", "wide", "--limit", "5", "--slots", "3", "--",
                    build.program, "call", "--url", shared.url, "SEM.CARD", "wide")
    assert (ended.code, ended.out, ended.err) == (0, "(integer) 3\n", "")
    assert in_use(shared, "wide") == 0


def test_more_slots_than_the_limit_are_refused(shared, execute):
    ended = execute(shared, *SLOT, "narrow", "--slots", "2", "--", "true")
    assert ended.code == 1 and "SLOTS 2 is more than limit 1" in ended.err


def test_the_command_runs_while_the_lock_is_held(build, shared, execute):
    ended = execute(shared, "--lock", "seat", "--", "sh", "-c",
                    f'"{build.program}" call --url {shared.url} LOCK.GET seat; '
                    'echo $HOLDFAST_LEASE $HOLDFAST_FENCE')
    assert (ended.code, ended.err) == (0, "")
    lease, fence = ended.lines[-1].split()
    assert ended.lines[:2] == [f"1) {lease}", f"2) (integer) {fence}"]
    assert shared.call("LOCK.GET", "seat") is None


def test_fences_grow_and_the_id_is_passed_on(shared, execute):
    fences = []
    for number in range(3):
        ended = execute(shared, *SLOT, "fenced", "--id", f"me-{number}", "--", "sh", "-c",
                        "echo $HOLDFAST_FENCE $HOLDFAST_LEASE")
        fence, lease = ended.out.split()
        assert lease == f"me-{number}"
        fences.append(int(fence))
    assert fences == sorted(set(fences))


def test_ids_are_made_where_none_is_given(shared, execute):
    ids = {execute(shared, *SLOT, "made", "--", "printenv", "HOLDFAST_LEASE").out
           for _ in range(3)}
    assert len(ids) == 3


def test_input_and_output_are_the_commands_own(build, shared):
    ended = run(build.program, "exec", "--url", shared.url, "--lock", "cat", "--", "sh", "-c",
                "cat; echo oops >&2", stdin="through\n")
    assert (ended.code, ended.out, ended.err) == (0, "through\n", "oops\n")


def test_a_short_heartbeat_is_kept_up(shared, begin):
    """The next in line gets the slot when the command has ended, not when a heartbeat is over."""
    first = begin(shared, *SLOT, "beat", "--id", "a", "--heartbeat", "1s", "--", "cat",
                  stdin=subprocess.PIPE)
    wait_until(lambda: in_use(shared, "beat") == 1, "the slot is taken")
    with shared.connect() as line:
        assert line.call("SEM.ACQUIRE", "beat", "b", 1, "WAIT", 2500)[1] == "TIMEOUT"
    assert first.poll() is None
    first.stdin.close()
    first.stdin = None
    assert finish(first) == (0, "", "")


# ---- waiting -----------------------------------------------------------------------------------


def test_those_who_wait_are_let_in_in_the_order_of_arrival(shared, begin, tmp_path):
    log = tmp_path / "log"
    holder = begin(shared, *SLOT, "fifo", "--", "cat", stdin=subprocess.PIPE)
    wait_until(lambda: in_use(shared, "fifo") == 1, "the slot is taken")
    line = []
    for number in range(5):
        line.append(begin(shared, *SLOT, "fifo", "--", "sh", "-c", f"echo {number} >>{log}"))
        wait_until(lambda: waiting(shared, "fifo") == len(line), "one more in line")
    holder.stdin.close()
    holder.stdin = None
    for process in [holder, *line]:
        assert finish(process)[0] == 0
    assert log.read_text().split() == ["0", "1", "2", "3", "4"]


def test_as_many_as_there_are_slots_run_at_once(shared, begin):
    first, second, third = (begin(shared, "--semaphore", "two", "--limit", "2", "--", "cat",
                                  stdin=subprocess.PIPE) for _ in range(3))
    wait_until(lambda: (in_use(shared, "two"), waiting(shared, "two")) == (2, 1), "two in, one out")
    for process in (first, second, third):
        process.stdin.close()
        process.stdin = None
    assert [finish(process)[0] for process in (first, second, third)] == [0, 0, 0]


def test_a_lock_is_waited_for(shared, begin):
    lock = shared.call("LOCK.TRY", "wanted", 600)
    waits = begin(shared, "--lock", "wanted", "--", "echo", "in")
    with pytest.raises(subprocess.TimeoutExpired):
        waits.wait(0.3)
    assert shared.call("LOCK.UNLOCK", "wanted", lock[0]) == 1
    assert finish(waits) == (0, "in\n", "")


@pytest.mark.parametrize("wait", ["0", "200ms"])
@pytest.mark.parametrize("what", ["slot", "lock"])
def test_a_wait_that_runs_out(shared, execute, what, wait):
    name = f"busy-{what}-{wait}"
    if what == "slot":
        shared.call("SEM.ACQUIRE", name, "other", 1)
        words = [*SLOT, name]
    else:
        shared.call("LOCK.TRY", name, 600)
        words = ["--lock", name]
    ended = execute(shared, *words, "--wait", wait, "--", "echo", "never")
    assert (ended.code, ended.out) == (TRY_AGAIN, "")
    assert name in ended.err and len(ended.err.splitlines()) == 1
    if what == "slot":
        assert waiting(shared, name) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_is_stopped_while_waiting_leaves_the_line(shared, begin, number):
    name = f"left-{int(number)}"
    shared.call("SEM.ACQUIRE", name, "other", 1)
    process = begin(shared, *SLOT, name, "--", "echo", "never")
    wait_until(lambda: waiting(shared, name) == 1, "in line")
    process.send_signal(number)
    assert finish(process)[:2] == (-number, "")
    wait_until(lambda: waiting(shared, name) == 0, "out of the line")


def test_a_restart_of_the_server_does_not_end_the_wait(build, begin, tmp_path):
    with Server(program=build.program, directory=tmp_path / "data") as server:
        server.call("SEM.ACQUIRE", "again", "other", 1)
        process = begin(server, *SLOT, "again", "--", "echo", "in")
        wait_until(lambda: waiting(server, "again") == 1, "in line")
        server.restart("kill")
        wait_until(lambda: waiting(server, "again") == 1, "in line again")
        assert server.call("SEM.RELEASE", "again", "other") == 1
        assert finish(process) == (0, "in\n", "")


# ---- exit codes and signals --------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_the_commands(shared, execute, code):
    assert execute(shared, "--lock", f"code-{code}", "--", "sh", "-c", f"exit {code}").code == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_a_command_ended_by_a_signal(shared, execute, number):
    ended = execute(shared, "--lock", f"signal-{int(number)}", "--", "sh", "-c",
                    f"kill -{int(number)} $$")
    assert ended.code == 128 + number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on(shared, begin, number):
    name = f"passed-{int(number)}"
    trap = (f"import signal, sys\nsignal.signal({int(number)}, lambda *_: sys.exit(42))\n"
            "print('ready', flush=True)\nsignal.pause()")
    process = begin(shared, *SLOT, name, "--", sys.executable, "-c", trap)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert finish(process)[0] == 42
    assert in_use(shared, name) == 0


def test_a_command_that_does_not_exist(shared, execute):
    ended = execute(shared, *SLOT, "nosuch", "--", "holdfast-no-such-program")
    assert (ended.code, ended.out) == (127, "")
    assert "holdfast-no-such-program: No such file" in ended.err
    assert in_use(shared, "nosuch") == 0


def test_a_command_that_cannot_be_run(shared, execute, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    ended = execute(shared, *SLOT, "cannot", "--", script)
    assert ended.code == 126
    assert "Permission denied" in ended.err
    assert in_use(shared, "cannot") == 0


def test_if_exec_itself_is_killed_the_command_ends_too(shared, begin):
    process = begin(shared, *SLOT, "orphan", "--", "sh", "-c", "echo $$; exec sleep 600")
    child = int(process.stdout.readline())
    process.kill()
    process.wait(TIMEOUT_S)
    wait_until(lambda: not is_alive(child), "the command is gone")


def is_alive(pid):
    """A process that is more than what init has not collected yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("words, about", [
    (["--", "true"], "either --semaphore NAME --limit K or --lock"),
    (["--semaphore", "s", "--", "true"], "--limit"),
    (["--semaphore", "s", "--limit", "0", "--", "true"], "--limit 0"),
    (["--semaphore", "s", "--limit", "1", "--lock", "r", "--", "true"], "either"),
    (["--lock", "r", "--heartbeat", "5", "--", "true"], "--heartbeat"),
    (["--lock", "r", "--slots", "2", "--", "true"], "--slots"),
    (["--semaphore", "s", "--limit", "1", "--slots", "0", "--", "true"], "--slots 0"),
    (["--lock", "r"], "a command"),
    (["--lock", "r", "--wait", "soon", "--", "true"], "--wait soon"),
    (["--lock", "r", "--ttl", "1ms", "--", "true"], "--ttl 1ms"),
    (["--lock", "r", "--fast", "--", "true"], "--fast"),
    (["--lock"], "--lock"),
    (["--url", "holdfast://", "--lock", "r", "--", "true"], "host or port"),
], ids=" ".join)
def test_what_is_not_understood(holdfast, words, about):
    ended = holdfast("exec", *words)
    assert (ended.code, ended.out) == (USAGE, "")
    assert about in ended.err and len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("words", [[*SLOT, "no{good"], ["--lock", "no{good"],
                                   [*SLOT, "good", "--id", "two words"]], ids=" ".join)
def test_ids_that_are_none(shared, execute, words):
    ended = execute(shared, *words, "--", "echo", "never")
    assert ended.out == "" and ended.code not in (0, TRY_AGAIN)
    assert "is not an id" in ended.err


# ---- losing it ---------------------------------------------------------------------------------

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 1; done"


def test_a_slot_released_from_elsewhere_stops_the_command(shared, begin):
    process = begin(shared, *SLOT, "taken", "--id", "me", "--heartbeat", "1s", "--", "sh", "-c",
                    "echo $$; exec sleep 600")
    child = int(process.stdout.readline())
    assert shared.call("SEM.RELEASE", "taken", "me") == 1
    code, _, err = finish(process)
    assert code == LOST
    assert "taken: the hold was lost" in err and "not held" in err
    assert not is_alive(child)


def test_a_lock_unlocked_from_elsewhere_stops_the_command(shared, begin):
    process = begin(shared, "--lock", "broken", "--ttl", "1s", "--", "sh", "-c",
                    "echo $HOLDFAST_LEASE; exec sleep 600")
    assert shared.call("LOCK.UNLOCK", "broken", process.stdout.readline().strip()) == 1
    assert finish(process)[0] == LOST


@pytest.mark.parametrize("what", ["slot", "lock"])
def test_a_loss_is_noticed_long_before_the_next_heartbeat(shared, begin, what):
    """A fifth of the heartbeat would be 4 minutes."""
    words = {"slot": [*SLOT, "soon", "--id", "me", "--heartbeat", "20m"],
             "lock": ["--lock", "soon", "--id", "me", "--ttl", "20m"]}[what]
    process = begin(shared, *words, "--", "sh", "-c",
                    "trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done")
    assert process.stdout.readline() == "ready\n"
    took_away = {"slot": ["SEM.RELEASE", "soon", "me"], "lock": ["LOCK.UNLOCK", "soon", "me"]}[what]
    assert shared.call(*took_away) == 1
    code, _, err = finish(process)
    assert code == LOST and "soon: the hold was lost" in err


def test_a_server_that_hangs_stops_the_command_within_the_heartbeat(own, begin):
    process = begin(own, *SLOT, "hung", "--heartbeat", "1s", "--", "sh", "-c",
                    "echo ready; exec sleep 600")
    assert process.stdout.readline() == "ready\n"
    own.pause()
    code, _, err = finish(process)
    assert code == LOST
    assert "no sign of life got through for 1000 ms" in err
    own.resume()


def test_a_server_that_dies_stops_the_command(own, begin):
    process = begin(own, "--lock", "dead", "--ttl", "500ms", "--", "sh", "-c",
                    "echo ready; exec sleep 600")
    assert process.stdout.readline() == "ready\n"
    own.kill()
    code, _, err = finish(process)
    assert code == LOST
    assert "no sign of life got through for 500 ms" in err


def test_a_short_outage_is_survived(build, begin, tmp_path):
    with Server(program=build.program, directory=tmp_path / "data") as server:
        process = begin(server, *SLOT, "short", "--heartbeat", "60s", "--", "cat",
                        stdin=subprocess.PIPE)
        wait_until(lambda: in_use(server, "short") == 1, "the slot is taken")
        server.restart("kill")
        assert in_use(server, "short") == 1
        process.stdin.close()
        process.stdin = None
        assert finish(process) == (0, "", "")
        assert in_use(server, "short") == 0


def test_the_ttl_of_a_slot_stops_the_command(shared, begin):
    process = begin(shared, *SLOT, "ttl", "--ttl", "300ms", "--", "sleep", "600")
    code, _, err = finish(process)
    assert code == LOST
    assert "TTL of 300 ms" in err


def test_a_command_that_will_not_go_is_killed_with_all_its_group(shared, begin):
    process = begin(shared, *SLOT, "stubborn", "--id", "me", "--heartbeat", "500ms",
                    "--kill-after", "300ms", "--", "sh", "-c", STUBBORN)
    assert process.stdout.readline() == "ready\n"
    shared.call("SEM.RELEASE", "stubborn", "me")
    assert finish(process)[0] == LOST  # its output is closed: nobody of the group is left


def test_what_the_command_left_behind_does_not_outlive_a_lost_hold(shared, begin):
    """The command itself goes at once; a child of it, which will not, is killed."""
    process = begin(shared, *SLOT, "heirs", "--id", "me", "--heartbeat", "500ms",
                    "--kill-after", "500ms", "--", "sh", "-c",
                    "(trap '' TERM; echo $(exec sh -c 'echo $PPID'); while :; do sleep 1; done) &\n"
                    "wait")
    heir = int(process.stdout.readline())
    shared.call("SEM.RELEASE", "heirs", "me")
    assert finish(process)[0] == LOST
    wait_until(lambda: not is_alive(heir), "gone")


def test_nobody_gets_the_slot_before_the_command_was_told(own, begin, tmp_path):
    """The holder's server is away; when it is back, the slot is free and the command long gone."""
    log = tmp_path / "log"
    process = begin(own, *SLOT, "order", "--heartbeat", "1s", "--", sys.executable, "-c",
                    "import signal, sys\n"
                    f"def told(*_):\n    open({str(log)!r}, 'w').write('told')\n    sys.exit(0)\n"
                    "signal.signal(signal.SIGTERM, told)\n"
                    "print('ready', flush=True)\nwhile True: signal.pause()")
    assert process.stdout.readline() == "ready\n"
    own.pause()
    assert finish(process)[0] == LOST
    own.resume()
    assert own.call("SEM.ACQUIRE", "order", "next", 1, "WAIT", 60000)[0] == 1
    assert log.read_text() == "told"
