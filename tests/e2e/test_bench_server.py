# SPDX-License-Identifier: Apache-2.0
"""holdfast bench --url: short runs of each load on a server; and the comparison with peers."""

import re
import shutil

import pytest

from harness import ROOT, run
from server import Server

USAGE, UNAVAILABLE = 2, 69

REPORT = re.compile(
    r"(?P<load>\w+) on (?P<where>\S+)\n"
    r"  calls     (?P<calls>\d+) in (?P<seconds>[\d.]+) s by (?P<connections>\d+) connections? with "
    r"(?P<pipeline>\d+) under way, (?P<threads>\d+) threads?: [\d.]+( [kM])?/s\n"
    r"  outcome   (?P<granted>\d+) granted, (?P<refused>\d+) refused, (?P<errors>\d+) errors\n"
    r"  state     (?P<holds>\d+) live holds, [\d.]+ MB\n"
    r"  latency   p50 .* max [\d.]+ [num]?s\n"
    r"(?: +[\d.]+ [num]s - [\d.]+ [num]?s +[\d.]+ % ?#*\n)+")


@pytest.fixture
def server(build):
    with Server(memory=True, program=build.program) as running:
        yield running


def bench(holdfast, server, *options):
    ended = holdfast("bench", "--seconds", "1", "--url", server.url, *options)
    assert (ended.code, ended.err) == (0, "")
    report = REPORT.fullmatch(ended.out)
    assert report, ended.out
    figures = {name: int(report[name]) for name in (
        "calls", "connections", "pipeline", "threads", "granted", "refused", "errors", "holds")}
    assert figures["calls"] == figures["granted"] + figures["refused"]
    assert figures["calls"] > 0
    return figures


def outcomes(server):
    """As the server counts: {(command, outcome): number}."""
    return {(command, outcome): int(number) for command, outcome, number in re.findall(
        r'holdfast_commands_total\{command="(\S+)",outcome="(\S+)"\} (\d+)',
        server.call("METRICS"))}


def test_reserve_grants_everything(holdfast, server):
    figures = bench(holdfast, server)
    assert (figures["connections"], figures["pipeline"], figures["threads"]) == (50, 16, 1)
    assert figures["granted"] == figures["calls"] == figures["holds"]
    assert outcomes(server)["SEATS.RESERVE", "OK"] == figures["calls"], "none is lost or made up"


def test_refuse_grants_nothing(holdfast, server):
    figures = bench(holdfast, server, "--load", "refuse", "--connections", "3", "--pipeline", "1")
    assert figures["refused"] == figures["calls"]
    assert figures["holds"] == 0


def test_cycle_leaves_nothing_on_hold_and_threads_share_the_connections(holdfast, server):
    figures = bench(holdfast, server, "--load", "cycle", "--threads", "3", "--connections", "7",
                    "--pipeline", "32")
    assert figures["granted"] == figures["calls"]
    found = outcomes(server)
    assert found["SEATS.CONFIRM", "OK"] > 0 and found["SEATS.RELEASE", "OK"] > 0
    finished = found["SEATS.CONFIRM", "OK"] + found["SEATS.RELEASE", "OK"]
    assert figures["holds"] == found["SEATS.RESERVE", "OK"] - finished <= 7 * 32


def test_one_run_does_not_disturb_the_next(holdfast, server):
    bench(holdfast, server, "--connections", "2")
    assert bench(holdfast, server, "--load", "refuse", "--connections", "2")["granted"] == 0


def test_a_password_is_not_shown(holdfast, build, tmp_path):
    users = tmp_path / "users"
    users.write_text(holdfast("auth", "ann", "admin", "--password", stdin="secret\n").out)
    users.chmod(0o600)
    with Server("--auth-file", users, memory=True, program=build.program) as closed:
        url = closed.url.replace("://", "://ann:secret@")
        ended = holdfast("bench", "--seconds", "1", "--url", url, "--connections", "2")
        assert (ended.code, ended.err) == (0, "")
        assert ended.out.startswith(f"reserve on 127.0.0.1:{closed.resp_port}\n")


@pytest.mark.parametrize("words, code, complaint", [
    (("--url", "holdfast://127.0.0.1:1"), UNAVAILABLE, "cannot connect"),
    (("--url", "embedded:"), USAGE, "not a server's URL"),
    (("--url", "holdfast://127.0.0.1:1", "--engine", "embedded:"), USAGE, "exclude each other"),
    (("--connections", "5"), USAGE, "need --url"),
    (("--pipeline", "5"), USAGE, "need --url"),
    (("--url", "holdfast://127.0.0.1:1", "--pipeline", "0"), USAGE, "must be a number from 1 to"),
    (("--url", "holdfast://127.0.0.1:1", "--threads", "3", "--connections", "2"), USAGE,
     "more threads than connections"),
])
def test_what_is_not_understood(holdfast, words, code, complaint):
    ended = holdfast("bench", *words)
    assert ended.code == code
    assert complaint in ended.err


@pytest.mark.skipif(shutil.which("redis-benchmark") is None or shutil.which("redis-server") is None,
                    reason="needs redis-server and redis-benchmark: tools/install-packages bench")
def test_the_comparison_with_peers_prints_its_tables(build):
    if build.sanitized:
        pytest.skip("figures of a sanitized build mean nothing")
    ended = run(ROOT / "bench" / "server.py", "--build", build.path, "--quick", "--repeat", "1",
                "--only", "pipeline1", "--only", "memory")
    assert ended.code == 0, ended
    figure = r"[\d.]+ \([\d.]+-[\d.]+\)"
    for load in ("SEATS.RESERVE, beside SET of 128 bytes", "SEATS.RESERVE refused, beside GET",
                 "SEATS.ZONE, beside GET"):
        row = rf"(?m)^\| {re.escape(load)} \| 1 \| {figure} \| {figure} \|"
        assert len(re.findall(row, ended.out)) == 2, f"{load}: by rate, and by processor time"
    assert re.search(r"(?m)^\| bytes, resident \| \d+ \| \d+ \| [\d.]+ \| ≤ 0.333: ", ended.out)
    assert not list(build.path.glob("bench-server-*")), "nothing is left behind"
