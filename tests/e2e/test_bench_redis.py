# SPDX-License-Identifier: Apache-2.0
"""The comparison of the engine on Redis with redis-benchmark: does it run, and print its tables?"""

import re
import shutil

import pytest

from harness import ROOT, run

RATE = r"[\d,.]+ k/s \([\d,.]+-[\d,.]+\)"
RATIO = r"[\d.]+ \([\d.]+-[\d.]+\)"
SPENT = r"[\d.]+ / [\d.]+"
MET = r"(met|missed)"

pytestmark = pytest.mark.skipif(
    shutil.which("redis-benchmark") is None or shutil.which("redis-server") is None,
    reason="needs redis-server and redis-benchmark: tools/install-packages bench")


def test_it_prints_every_table(build):
    if build.sanitized:
        pytest.skip("figures of a sanitized build mean nothing")
    ended = run(ROOT / "bench" / "redis_engine.py", "--build", build.path, "--quick")
    assert ended.code == 0, ended
    for row in (
            rf"our script, pipeline 16 \| {RATE} \| usual script, pipeline 16 \| {RATE} \| {RATIO} "
            rf"\| {SPENT} \| ≥ 1: {MET} \|",
            rf"our script, pipeline 1 \| .* \| ≥ 1: {MET} \|",
            rf"our engine, 800 in flight \| {RATE} \| redis-benchmark -c 50 -P 16 \| {RATE} "
            rf"\| {RATIO} \| {SPENT} \| ≥ 0.9: {MET} \|",
            rf"our server, -c 50 -P 16 \| {RATE} \| redis-benchmark -c 50 -P 16 \| {RATE} "
            rf"\| {RATIO} \| +\| +\|",
            r"1 in flight( \| [\d,.]+){7} \|",
            rf"3 \| {RATE} \| {RATIO}( \| [\d.]+){{4}} \|",
            r"12 \| [\d,]+ k/s \| [\d,]+ k/s \| \d+ \| [\d.]+ \|"):
        assert re.search(rf"(?m)^\| {row}$", ended.out), (row, ended.out)
    scripts = {path.stem for path in (build.path / "lua").glob("*.lua")}
    timed = set(re.findall(r"(?m)^\| (\w+) \| [1-9]\d* \| \d+ \| \d+ \| \d+ \| \d+ \|$", ended.out))
    silent = set(re.findall(r"(?m)^\| (\w+) \| 0 \| \| \| \| \|$", ended.out))
    assert timed | silent == scripts, "each has a row, also one that no load calls yet"
    assert len(timed) > 9 * len(silent)
    assert not list(build.path.glob("bench-redis-*")), "nothing is left behind"
