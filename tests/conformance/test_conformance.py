# SPDX-License-Identifier: Apache-2.0
"""One suite for every engine and every front: the same commands, and every reply as the model says.

Engines: embedded, a Redis server, a Redis cluster of three masters with a replica each. Fronts: the
engine itself, driven line by line, and a server's RESP and HTTP ports on it. Time is the test's: it
moves from command to command, to deadlines and over them.
"""

import pytest

from comparison import CHUNK
from conformance import ENGINES, FRONTS
from generate import FAMILIES
from outcomes import CODES
from scripted import Scripted

# How many random commands go through each front of each engine, in runs from several seeds.
COMMANDS = {"driver": 100_000, "resp": 20_000, "http": 5_000}
SEEDS = {"driver": (1, 2, 3, 11), "resp": (5,), "http": (6,)}
SANITIZED_SHARE = 0.1


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


def test_random_commands(target, sanitized, record_property):
    deployed, front = target
    total = int(COMMANDS[front] * (SANITIZED_SHARE if sanitized else 1))
    each = total // len(SEEDS[front])
    for seed in SEEDS[front]:
        comparison = deployed.compare(front, seed=seed, last=each, chunk=CHUNK)
        comparison.run()
        if front == "http":
            assert comparison.driver.requests > each / 2
        print(f"seed {seed}: {each} commands agree; {comparison.outcomes.summary(FAMILIES)}")
    record_property("commands", total)
