# SPDX-License-Identifier: Apache-2.0
"""holdfast bench: short runs of each load."""

import re

import pytest

from terminal import Terminal

REPORT = re.compile(
    r"(?P<load>\w+) on embedded:\n"
    r"  calls     (?P<calls>\d+) in (?P<seconds>[\d.]+) s by (?P<threads>\d+) threads?: "
    r"[\d.]+( [kM])?/s\n"
    r"  outcome   (?P<granted>\d+) granted, (?P<refused>\d+) refused, (?P<errors>\d+) errors\n"
    r"  state     (?P<holds>\d+) live holds, (?P<megabytes>[\d.]+) MB\n"
    r"  latency   (?P<latency>.*)\n"
    r"(?P<bars>(?: +[\d.]+ [num]s - [\d.]+ [num]?s +[\d.]+ % ?#*\n)+)")


def bench(holdfast, *options):
    ended = holdfast("bench", "--seconds", "1", *options)
    assert (ended.code, ended.err) == (0, "")
    report = REPORT.fullmatch(ended.out)
    assert report, ended.out
    figures = {name: int(report[name])
               for name in ("calls", "threads", "granted", "refused", "errors", "holds")}
    assert figures["calls"] > 0
    assert figures["calls"] == figures["granted"] + figures["refused"] + figures["errors"]
    assert figures["errors"] == 0
    assert float(report["seconds"]) >= 1
    assert re.findall(r"(p[\d.]+|max) [\d.]+ [num]?s", report["latency"]) == [
        "p50", "p90", "p99", "p99.9", "p99.99", "max"]
    shares = [float(share) for share in re.findall(r"([\d.]+) %", report["bars"])]
    assert sum(shares) == pytest.approx(100, abs=0.01 * len(shares))
    return report, figures


def test_reserve_is_the_default_and_grants_everything(holdfast):
    report, figures = bench(holdfast)
    assert (report["load"], figures["threads"]) == ("reserve", 1)
    assert figures["granted"] == figures["calls"]
    # An id of the first round, drawn at random, may come up again: a retry, granted without a hold.
    assert 0 <= figures["calls"] - figures["holds"] < 10
    assert float(report["megabytes"]) > 0


def test_refuse_grants_nothing(holdfast):
    report, figures = bench(holdfast, "--load", "refuse")
    assert report["load"] == "refuse"
    assert figures["refused"] == figures["calls"]
    assert figures["holds"] == 0


def test_cycle_leaves_nothing_on_hold(holdfast):
    report, figures = bench(holdfast, "--load", "cycle", "--engine", "embedded:")
    assert report["load"] == "cycle"
    assert figures["granted"] == figures["calls"]
    assert figures["holds"] == 0


def test_several_threads_share_one_engine(holdfast):
    _, figures = bench(holdfast, "--load", "refuse", "--threads", "3")
    assert figures["threads"] == 3


def test_a_terminal_sees_a_live_line(build):
    with Terminal(build.program, "bench", "--seconds", "1", "--load", "refuse") as terminal:
        seen = terminal.read_to_end()
    assert terminal.code == 0
    assert re.search(r"\r\x1b\[K +[\d.]+ s  [\d.]+( [kM])? calls  [\d.]+( [kM])?/s", seen)
