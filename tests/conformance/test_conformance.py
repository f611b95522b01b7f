# SPDX-License-Identifier: Apache-2.0
"""One suite for every engine and every front: the same commands, and every reply as the model says.

Engines: embedded, a Redis server, a Redis cluster of three masters with a replica each. Fronts: the
engine itself, driven line by line, and a server's RESP and HTTP ports on it. Time is the test's: it
moves from command to command, to deadlines and over them.
"""

import pytest

from broken import Refusals
from comparison import CHUNK
from conformance import ENGINES, FRONTS, SERVED, Crowd
from crowded_sales import Rush
from generate import FAMILIES
from outcomes import CODES, Outcomes
from scripted import Scripted

# How many random commands go through each front of each engine, in runs from several seeds.
COMMANDS = {"driver": 100_000, "resp": 20_000, "http": 5_000}
SEEDS = {"driver": (1, 2, 3, 11), "resp": (5,), "http": (6,)}
TOGETHER_COMMANDS, TOGETHER_SEED = 20_000, 21
SANITIZED_SHARE = 0.1
ENOUGH = 100_000  # random commands grant every command, and meet every refusal of each
# Refusals that take more users than a random run has in a room; Scripted has them.
CROWDED = {("ROOM.OPEN", "INVALID_STATE")}
# A call that waits goes over RESP here; tests/unit/library_call.c has the end of such a wait.
ELSEWHERE = {"library": {("SEM.ACQUIRE", "TIMEOUT")}}


@pytest.fixture(params=[f"{engine}-{front}" for engine in ENGINES for front in FRONTS])
def target(request, deployment):
    engine, front = request.param.split("-")
    return deployment(engine), front


def test_every_command_and_every_refusal(target):
    deployed, front = target
    comparison = deployed.compare(front, Scripted, chunk=1)
    comparison.run()
    met = comparison.outcomes
    assert [code for code in CODES if code not in met.codes] == []
    granted = {name for name, outcome in met.counts if outcome == "granted"}
    assert sorted(set(comparison.model.commands) - granted) == []


@pytest.mark.parametrize("engine", ["embedded", "redis"])
@pytest.mark.parametrize("front", SERVED)
def test_every_refusal_of_every_row(deployment, rows, engine, front):
    comparison = deployment(engine).compare(front, lambda model: Refusals(model, rows), chunk=1)
    comparison.run()
    named = {(row.name, code) for row in rows.values() for code in row.refusals}
    reached = comparison.driver.reached[front]
    assert sorted(named - reached - ELSEWHERE.get(front, set())) == []
    assert sorted(reached - named) == [], "which their rows do not name"


def test_every_row_has_a_route_that_is_answered(deployment, rows):
    comparison = deployment("embedded").compare("http", Scripted, chunk=1)
    comparison.run()
    asked = {name for name, granted in comparison.driver.asked if granted}
    assert sorted({row.name for row in rows.values()} - asked) == []


def test_random_commands(target, rows, sanitized, record_property):
    deployed, front = target
    total = int(COMMANDS[front] * (SANITIZED_SHARE if sanitized else 1))
    each = total // len(SEEDS[front])
    outcomes = Outcomes()
    for seed in SEEDS[front]:
        comparison = deployed.compare(front, seed=seed, last=each, chunk=CHUNK)
        comparison.run()
        outcomes.add(comparison.outcomes)
        if front == "http":
            assert comparison.driver.requests > each / 2
        print(f"seed {seed}: {each} commands agree; {comparison.outcomes.summary(FAMILIES)}")
    record_property("commands", total)
    if total >= ENOUGH:
        granted = {name.decode() for name, outcome in outcomes.counts if outcome == "granted"}
        assert sorted({row.name for row in rows.values()} - granted) == []
        assert sorted(own_refusals(rows) - outcomes.refused_with(rows) - CROWDED) == []


@pytest.mark.parametrize("commands", [Crowd, Rush])
@pytest.mark.parametrize("engine", ["redis", "cluster"])
def test_commands_that_travel_together(deployment, sanitized, engine, commands):
    if engine == "cluster" and commands is Crowd:
        pytest.skip("a product may be in shards, where its commands do not travel together")
    total = int(TOGETHER_COMMANDS * (SANITIZED_SHARE if sanitized else 1))
    comparison = deployment(engine).compare("together", commands, TOGETHER_SEED, total, CHUNK)
    comparison.run()
    assert comparison.batched > total / 4


def own_refusals(rows):
    """(command, code) of every refusal that does not follow from the type of an argument."""
    return {(row.name, code) for row in rows.values() for code in row.own_refusals}
