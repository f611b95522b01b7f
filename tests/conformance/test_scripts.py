# SPDX-License-Identifier: Apache-2.0
"""The scripts by themselves: EVALSHA on a real server, compared with the model command by command.

Nothing of the engine takes part. What works here works for a program in any language.
"""

import pytest

from comparison import Comparison
from generate import START_MS, Generator
from model import Model
from model_values import OrderedFences, matches
from redis_connection import RedisConnection
from scripts import ADMIT_CHUNK, ScriptEngine, assemble, load
from servers import RedisServer

SEEDS = (1, 2)
COMMANDS = 10_000  # of each seed
MANY = 250  # more than two calls of a script give back


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return assemble(tmp_path_factory.mktemp("scripts"))


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def engine(server, texts, rows):
    server.client().flushall()
    connection = RedisConnection(server.port)
    engine = ScriptEngine(connection, load(connection, texts), rows)
    yield engine
    engine.close()


def test_every_row_of_the_table_has_its_script(rows, texts):
    assert [row.name for row in rows.values() if row.script not in texts] == ["LIST"]


def test_the_model_has_every_row_of_the_table(rows):
    assert {row.name.encode() for row in rows.values()} == set(Model().commands)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_commands_are_answered_as_the_model_does(engine, seed):
    model = Model(OrderedFences())
    Comparison(engine, model, Generator(model, seed), COMMANDS, seed).run()


# More falls due at once than one call of a script may give back.
CROWDS = {
    "bookings": (
        ["SEATS.OPEN ev floor 1000"],
        "SEATS.RESERVE ev floor b-{n} ann 1 1000 TTL 10s",
        ["SEATS.ZONE ev floor", "SEATS.USER ev ann", "SEATS.RELEASE ev b-0"],
    ),
    "quota holds": (
        ["QUOTA.LIMIT t 1000"],
        "QUOTA.RESERVE t 2 HOLD h-{n} TTL 10s",
        ["QUOTA.GET t", "QUOTA.COMMIT t h-1"],
    ),
    "orders": (
        ["STOCK.LOAD p 1000"],
        "STOCK.TAKE p o-{n} ann 3 TTL 10s",
        ["STOCK.GET p", "STOCK.SETTLE p o-1"],
    ),
    "entries of a waiting room": (
        [],
        "ROOM.JOIN ev u-{n} TTL 10s",
        ["ROOM.JOIN ev late", "ROOM.POSITION ev late"],
    ),
    "slots": (
        [],
        "SEM.ACQUIRE s c-{n} 1000 HEARTBEAT 10s",
        ["SEM.STATS s", "SEM.CARD s", "SEM.PING s c-3 5 5"],
    ),
    "places in line": (
        ["SEM.ACQUIRE s holder 1"],
        "SEM.QUEUE s c-{n} 10s 60s",
        ["SEM.RELEASE s holder", "SEM.STATS s"],
    ),
    "slots that pass to others": (
        [f"SEM.ACQUIRE s holder-{n} 125 HEARTBEAT 10s" for n in range(125)],
        "SEM.ACQUIRE s c-{n} 125 HEARTBEAT 1s WAIT 60000",
        ["SEM.STATS s", "SEM.CARD s"],
    ),
}


def stepper(engine):
    """step(at_ms, text): one command, answered as the model does; gives the answer."""
    model = Model(OrderedFences())

    def step(at_ms, text):
        argv = [word.encode() for word in text.split(" ")]
        expected, got = model.apply(START_MS + at_ms, argv), engine.apply(START_MS + at_ms, argv)
        assert matches(expected, got), f"{text}: {got}, expected {expected}"
        return got[0]
    return step


@pytest.mark.parametrize("what", CROWDS)
def test_a_crowd_that_falls_due_at_once_is_given_back_over_several_calls(engine, what):
    before, each, after = CROWDS[what]
    step = stepper(engine)
    for text in [*before, *[each.format(n=n) for n in range(MANY)]]:
        step(0, text)
    for at_ms in (9_999, 10_000, 10_500, 11_000, 12_000):
        for text in after:
            step(at_ms, text)
    assert engine.again >= MANY // 100


@pytest.mark.parametrize("admission", ["ROOM.ADMIT ev 1000", "ROOM.ADMIT ev 1000 ID wave", "ROOM.TICK ev"])
def test_more_users_are_admitted_than_one_call_of_a_script_admits(engine, admission):
    step, users = stepper(engine), 2 * ADMIT_CHUNK + 1
    for n in range(users):
        step(0, f"ROOM.JOIN ev u-{n}")
    assert step(1, admission)[::2] == [f"u-{n}" for n in range(users)]


def test_a_call_made_again_keeps_its_place_in_line(engine):
    """It raises the limit from the middle of the line, for more grants than one call of the script makes."""
    step, waiting = stepper(engine), 100
    step(0, "SEM.ACQUIRE s holder 1")
    for n in range(waiting):
        step(0, f"SEM.ACQUIRE s c-{n} 1 WAIT 60000")
    assert step(1, f"SEM.ACQUIRE s c-{waiting - 10} 1000")[:2] == [1, waiting + 1]
    assert engine.again > 0
