# SPDX-License-Identifier: Apache-2.0
"""holdfast top: what a server is doing."""

import re
import signal
import subprocess

import pytest

from harness import TIMEOUT_S
from server import Server, wait_until
from terminal import Terminal

USAGE, UNAVAILABLE = 2, 69
ENTER_SCREEN, LEAVE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"


@pytest.fixture
def server(build):
    with Server(memory=True, program=build.program) as running:
        yield running


def make_traffic(server):
    """Two grants, one refusal."""
    server.call("SEATS.OPEN", "gala", "floor", 3)
    assert server.call("SEATS.RESERVE", "gala", "floor", "b-1", "ann", 2, 4)[0] == 1
    assert server.call("SEATS.RESERVE", "gala", "floor", "b-2", "bob", 1, 4)[0] == 1
    assert server.call("SEATS.RESERVE", "gala", "floor", "b-3", "cy", 1, 4)[0] == 0


def test_once(holdfast, server):
    make_traffic(server)
    ended = holdfast("top", "--once", "--url", server.url)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.lines
    assert re.fullmatch(rf"holdfast \S+ at 127\.0\.0\.1:{server.resp_port}: ready, engine embedded, "
                        r"fsync none, up \d+ min \d+ s", lines[0])
    assert re.fullmatch(r"  holds 2   in line 0   expired 0   connections 1, of which 0 wait",
                        lines[1])
    assert re.fullmatch(r"  state [\d.]+ MB   process [\d.]+ MB   processor \d+ %   "
                        r"in [\d.]+ MB/s   out [\d.]+ MB/s", lines[2])
    assert re.search(r"commands \S+/s   granted \S+/s   refused \S+/s   p50 .* p99 ", lines[3])
    table = ended.out.partition("\n\n")[2]
    assert re.search(r"(?m)^  SEATS\.RESERVE +[\d.]+ +3 +[\d.]+ [num]s +[\d.]+ [num]s$", table)
    assert re.search(r"(?m)^    OK +[\d.]+ +2$", table)
    assert re.search(r"(?m)^    INSUFFICIENT_STOCK +[\d.]+ +1$", table)
    assert re.search(r"(?m)^  SEATS\.OPEN +[\d.]+ +1 ", table)
    assert "\x1b" not in ended.out


def test_a_server_that_keeps_a_directory_shows_its_flushes(holdfast, build):
    with Server(program=build.program) as durable:
        make_traffic(durable)
        ended = holdfast("top", "--once", "--url", durable.url)
    assert "fsync always" in ended.lines[0]
    assert re.search(r"(?m)^  flushes \S+/s   p50 [\d.]+ [num]s   p99 [\d.]+ [num]s$", ended.out)


def test_nothing_was_asked_yet(holdfast, server):
    ended = holdfast("top", "--once", "--url", server.url)
    assert ended.out.endswith("  nothing was asked yet\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_terminal_a_line_each_time(build, server, number):
    make_traffic(server)
    process = subprocess.Popen(
        [build.program, "top", "--url", server.url, "--interval", "100ms"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    with process:
        for _ in range(3):
            assert re.fullmatch(r"ready  \S+ granted/s  \S+ refused/s  p50 .*  p99 .*  2 holds  "
                                r"1 connections?  [\d.]+ MB\n", process.stdout.readline())
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 0


def test_figures_are_those_of_the_interval(build, server):
    make_traffic(server)
    process = subprocess.Popen(
        [build.program, "top", "--url", server.url, "--interval", "200ms"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    with process:
        first = process.stdout.readline()
        assert "ready  0 granted/s" not in first
        assert process.stdout.readline().startswith("ready  0 granted/s  0 refused/s  p50 -  p99 -")
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_a_screen_until_q(build, server):
    make_traffic(server)
    with Terminal(build.program, "top", "--url", server.url, "--interval", "100ms") as terminal:
        first = terminal.read_until("SEATS.OPEN")
        assert ENTER_SCREEN in first and "\x1b[H" in first
        assert "since the start" in first
        terminal.read_until("per s")
        server.call("QUOTA.LIMIT", "acme", 5)
        terminal.read_until("QUOTA.LIMIT")
        terminal.press("q")
        assert terminal.read_to_end().endswith(LEAVE_SCREEN)
        assert terminal.is_as_before()
    assert terminal.code == 0


def test_a_screen_until_interrupted(build, server):
    with Terminal(build.program, "top", "--url", server.url) as terminal:
        terminal.read_until("nothing was asked yet")
        terminal.send_signal(signal.SIGINT)
        assert terminal.read_to_end().endswith(LEAVE_SCREEN)
        assert terminal.is_as_before()
    assert terminal.code == 0


def test_a_small_window_is_not_overrun(build, server):
    make_traffic(server)
    with Terminal(build.program, "top", "--url", server.url, "--interval", "100ms", rows=5,
                  columns=30) as terminal:
        terminal.read_until("\x1b[J")
        screen = terminal.read_until("\x1b[J")
        terminal.press("q")
        terminal.read_to_end()
    lines = re.sub(r"\x1b\[\??\w+", "", screen).strip("\r\n").splitlines()
    assert len(lines) <= 4
    assert all(len(line) <= 30 for line in lines)


def test_a_server_that_goes_away_is_waited_for(build, server):
    with Terminal(build.program, "top", "--url", f"{server.url}?timeout=1s", "--interval",
                  "100ms") as terminal:
        terminal.read_until("ready")
        server.kill()
        terminal.read_until("cannot connect")
        server.start()
        terminal.read_until("ready, engine embedded")
        terminal.press("q")
        terminal.read_to_end()
    assert terminal.code == 0


def test_who_reads_a_pipe_may_stop(build, server):
    process = subprocess.Popen(
        [build.program, "top", "--url", server.url, "--interval", "100ms"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    wait_until(lambda: process.poll() is not None, "its end")
    process.stderr.close()


@pytest.mark.parametrize("words, code, complaint", [
    (("--url", "holdfast://127.0.0.1:1"), UNAVAILABLE, "cannot connect"),
    (("--url", "embedded:"), USAGE, "must be a server's URL"),
    (("--url", "holdfast://a:b@"), USAGE, "the host or port cannot be read"),
    (("--interval", "1ms"), USAGE, "must be a time from 100ms to 1h"),
    (("--interval", "soon"), USAGE, "must be a time from 100ms to 1h"),
    (("--nonsense",), USAGE, "there is no option --nonsense"),
    (("more",), USAGE, "what is 'more'?"),
])
def test_what_is_not_understood(holdfast, words, code, complaint):
    ended = holdfast("top", "--once", *words)
    assert ended.code == code
    assert complaint in ended.err
