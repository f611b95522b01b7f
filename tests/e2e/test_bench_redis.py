# SPDX-License-Identifier: Apache-2.0
"""The comparison of the engine on Redis with the usual script: does it run, and print its section?"""

import os
import re
import shutil

import pytest

from harness import ROOT, run

RATE = r"[\d,.]+ k/s \([\d,.]+-[\d,.]+\)"
RATIO = r"[\d.]+ \([\d.]+-[\d.]+\)"
SPENT = r"[\d.]+ / [\d.]+"
MET = r"(met|missed)"
VALKEY = os.environ.get("VALKEY") or shutil.which("valkey-server")

pytestmark = pytest.mark.skipif(
    shutil.which("redis-benchmark") is None or shutil.which("redis-server") is None,
    reason="needs redis-server and redis-benchmark: tools/install-packages bench")


def bench(build, *flags, valkey=""):
    if build.sanitized:
        pytest.skip("figures of a sanitized build mean nothing")
    ended = run(ROOT / "bench" / "redis_engine.py", "--build", build.path, "--quick", *flags,
                env={"VALKEY": valkey})
    assert ended.code == 0, ended
    assert not list(build.path.glob("bench-redis-*")), "nothing is left behind"
    return ended.out


def has_rows(printed, *rows):
    for row in rows:
        assert re.search(rf"(?m)^\| {row} \|$", printed), (row, printed)


def compared(ours, beside, aim="", on=r"Redis [\d.]+"):
    return (rf"{on} \| {ours} \| {RATE} \| {beside} \| {RATE} \| {RATIO} \| {SPENT} \| {RATIO} \| "
            + (f"≥ {aim}: {MET}" if aim else ""))


def test_it_prints_every_table(build):
    printed = bench(build, "--each")
    assert printed.startswith("## The engine on Redis\n")
    has_rows(
        printed,
        compared("our script, -P 16", "usual script, -P 16", "1"),
        compared("our script, -P 1", "usual script, -P 1", "1"),
        compared("our script, engine's keys, -P 16", "usual script, -P 16"),
        compared("our function, engine's keys, -P 1", "our script, engine's keys, -P 1"),
        compared("engine, 800 in flight", "usual script, -c 50 -P 16", "1.7"),
        compared("server, -c 50 -P 16", "usual script, -c 50 -P 16"),
        compared("engine, 1 in flight", "usual script, -c 1 -P 1"),
        compared("cluster of 3", "cluster of 1"),
        rf"Redis [\d.]+ \| slowest script, `\w+` \| \d+ us( \|){{6}} ≤ 1000: {MET}",
        r"1 in flight \| Redis [\d.]+( \| [\d,.]+){7}",
        rf"3 \| Redis [\d.]+ \| {RATE}( \| [\d.]+){{4}}",
        r"12 \| [\d,]+ k/s \| [\d,]+ k/s \| \d+ \| [\d.]+")
    if shutil.which("valgrind"):
        has_rows(printed, rf"Redis [\d.]+ \| our script, instructions \| [\d,]+ \| usual script "
                          rf"\| [\d,]+ \| [\d.]+ \| \| \| ≥ 1: {MET}")
    scripts = {path.stem for path in (build.path / "lua").glob("*.lua")}
    timed = set(re.findall(r"(?m)^\| (\w+) \| [1-9]\d* \| \d+ \| \d+ \| \d+ \| \d+ \|$", printed))
    silent = set(re.findall(r"(?m)^\| (\w+) \| 0 \| \| \| \| \|$", printed))
    # Batches have no file.
    assert (timed | silent) - {"no_file"} == scripts, "each has a row, also one that no load calls yet"
    assert len(timed) > 9 * len(silent)


@pytest.mark.skipif(not VALKEY, reason="there is no Valkey")
def test_it_measures_valkey_as_well(build):
    printed = bench(build, "--only", "engine", valkey=VALKEY)
    for on in (r"Redis [\d.]+", r"Valkey [\d.]+"):
        has_rows(printed,
                 compared("engine, 800 in flight", "usual script, -c 50 -P 16", "1.7", on),
                 rf"1 in flight \| {on}( \| [\d,.]+){{7}}")
