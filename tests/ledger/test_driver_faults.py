# SPDX-License-Identifier: Apache-2.0
"""What each driver makes of locks, cut connections, and servers that are frozen, killed or restarted.

DONE is carried out. AWAY is not, and never will be. UNKNOWN may be either. Whichever it is, the
caller has it at the deadline.
"""

import pytest

from exercise import Exercise, Step
from proxy import Proxy
from servers import wait_until

TABLE = "CREATE TABLE things (id VARCHAR(200) NOT NULL PRIMARY KEY, word VARCHAR(12000), number BIGINT);\n"
ADD = "INSERT INTO things (id, word, number) {rows}"
RAISE = "UPDATE things SET number = number + ? WHERE id = ?"
LATE_MS = 1500  # a busy machine may be as late as that
OTHERS = {
    "postgres": "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid()",
    "mariadb": "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()"
               " AND id <> CONNECTION_ID()",
}


@pytest.fixture
def exercise(build, served):
    with Exercise(build) as running:
        yield running


@pytest.fixture
def things(exercise, served):
    """A table with two things."""
    assert exercise.connect(served.url) is None
    assert exercise.script(TABLE).result == "DONE"
    assert exercise.run(Step(ADD, [["a", "", 1], ["b", "", 2]], 1)).result == "DONE"
    return exercise


def contents(served):
    return dict(served.execute("SELECT id, number FROM things ORDER BY id"))


def wait_left(served, others=0):
    """Until no more sessions are in the database: what one that left has not committed never will be."""
    wait_until(lambda: served.execute(OTHERS[served.kind]) == [(others,)], "sessions have ended")


# ---- locks


def test_a_deadlock_is_for_one_to_try_again(things, build, served):
    with Exercise(build) as other:
        assert other.connect(served.url) is None
        assert things.run(Step(RAISE, [[10, "a"]], 1), commit=False).result == "DONE"
        assert other.run(Step(RAISE, [[100, "b"]], 1), commit=False).result == "DONE"
        things.begin(Step(RAISE, [[10, "b"]], 1))
        other.begin(Step(RAISE, [[100, "a"]], 1))
        ends = things.finish(), other.finish()
        assert sorted(end.result for end in ends) == ["AGAIN", "DONE"], ends
        loser, amount = (things, 10) if ends[0].result == "AGAIN" else (other, 100)
        assert loser.run(Step(RAISE, [[amount, "a"], [amount, "b"]], 1)).result == "DONE"
    assert contents(served) == {"a": 111, "b": 112}


def test_a_lock_that_is_not_given_up_in_time(things, build, served):
    assert things.run(Step(RAISE, [[10, "a"]], 1), commit=False).result == "DONE"
    with Exercise(build) as other:
        assert other.connect(served.url) is None
        ended = other.run(Step(RAISE, [[100, "a"]], 1), deadline_ms=1000)
        # At the deadline itself the COMMIT may be in flight behind it.
        assert ended.result in ("AGAIN", "AWAY", "UNKNOWN"), ended
        assert ended.ms < 1000 + LATE_MS
        assert things.run(Step(RAISE, [[10, "b"]], 1)).result == "DONE"
        if ended.result == "AGAIN":
            assert contents(served) == {"a": 11, "b": 12}
            assert other.run(Step(RAISE, [[100, "a"]], 1)).result == "DONE"
            assert contents(served) == {"a": 111, "b": 12}


# ---- connections that are cut


def test_cut_while_idle_nothing_is_carried_out(exercise, things, served):
    with Proxy(served.server.port, of_redis=False) as proxy:
        assert exercise.connect(served.url_through(proxy), name=1) is None
        assert exercise.run(Step(RAISE, [[10, "a"]], 1), name=1).result == "DONE"
        proxy.cut_all()
        ended = exercise.run(Step(RAISE, [[10, "a"]], 1), name=1)
        assert ended.result == "AWAY", ended
        again = exercise.run(Step(RAISE, [[10, "a"]], 1), name=1)
        assert again.result == "AWAY" and again.ms < LATE_MS, again
    assert contents(served) == {"a": 11, "b": 2}


def test_cut_in_a_transaction_that_is_not_committed(exercise, things, served):
    with Proxy(served.server.port, of_redis=False) as proxy:
        assert exercise.connect(served.url_through(proxy), name=1) is None
        assert exercise.run(Step(RAISE, [[10, "a"]], 1), name=1, commit=False).result == "DONE"
        proxy.cut_reply_after(0)
        ended = exercise.run(Step(RAISE, [[10, "b"]], 1), name=1, commit=False)
        assert ended.result == "AWAY", ended
        proxy.wait_cut()
    wait_left(served, others=1)
    assert contents(served) == {"a": 1, "b": 2}


def test_cut_anywhere_in_the_reply(exercise, things, served):
    """At every few bytes of the answer to a transaction: what the driver says is so."""
    exercise.close()
    said, results = {}, set()
    with Proxy(served.server.port, of_redis=False) as proxy:
        for position in range(0, 2000, 11):
            assert exercise.connect(served.url_through(proxy)) is None
            proxy.cut_reply_after(position)
            id_ = f"cut {position:04}"
            ended = exercise.run(Step(RAISE, [[1, "a"]], 1), Step(ADD, [[id_, "", 1]], 1))
            said[id_] = ended.result
            results.add(ended.result)
            assert ended.ms < LATE_MS, ended
            exercise.close()
            if not proxy.was_cut.is_set():
                break
    wait_left(served)
    there = contents(served)
    assert results <= {"DONE", "AWAY", "UNKNOWN"} and {"DONE", "UNKNOWN"} <= results, said
    for id_, result in said.items():
        assert result != "DONE" or id_ in there, f"{id_} was DONE and is not there"
        assert result != "AWAY" or id_ not in there, f"{id_} was AWAY and is there"
    assert there["a"] == 1 + sum(id_ in there for id_ in said)


@pytest.mark.parametrize("commit", [True, False])
def test_a_network_that_swallows_everything(exercise, things, served, commit):
    with Proxy(served.server.port, of_redis=False) as proxy:
        assert exercise.connect(served.url_through(proxy), name=1) is None
        proxy.stall()
        ended = exercise.run(Step(RAISE, [[10, "a"]], 1), name=1, commit=commit, deadline_ms=400)
        assert ended.result == "AWAY" or (ended.result == "UNKNOWN" and commit), ended
        assert 390 <= ended.ms < 400 + LATE_MS
        why = exercise.connect(served.url_through(proxy), name=2, deadline_ms=400)
        assert why and "time" in why.lower()
        exercise.close(1)
    wait_left(served, others=1)
    assert contents(served)["a"] in ([1] if ended.result == "AWAY" else [1, 11])


# ---- servers that fail


def test_frozen_the_deadline_holds(exercise, things, served):
    served.server.pause()
    ended = exercise.run(Step(RAISE, [[10, "a"]], 1), Step(ADD, [["c", "", 3]], 1), deadline_ms=500)
    assert ended.result in ("AWAY", "UNKNOWN"), ended
    assert 490 <= ended.ms < 500 + LATE_MS
    why = exercise.connect(served.url, name=1, deadline_ms=300)
    assert why
    exercise.close()
    served.server.resume()
    wait_left(served)
    committed = {"a": 11, "b": 2, "c": 3}
    assert contents(served) in ([{"a": 1, "b": 2}] + [committed] * (ended.result == "UNKNOWN"))
    assert exercise.connect(served.url) is None
    assert exercise.run(Step(RAISE, [[10, "b"]], 1)).result == "DONE"


def test_frozen_with_more_than_a_socket_holds(exercise, things, served):
    rows = [[f"id {i}", "x" * 10_000, i] for i in range(1500)]
    served.server.pause()
    ended = exercise.run(Step(ADD, rows, 1), deadline_ms=500)
    assert ended.result in ("AWAY", "UNKNOWN"), ended
    assert ended.ms < 500 + LATE_MS
    exercise.close()
    served.server.resume()
    wait_left(served)
    assert contents(served) == {"a": 1, "b": 2}


def test_frozen_for_less_than_the_deadline(exercise, things, served):
    served.server.pause()
    exercise.begin(Step(RAISE, [[10, "a"]], 1))
    served.server.resume()
    assert exercise.finish().result == "DONE"
    assert contents(served)["a"] == 11


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("open_", [False, True])
def test_restarted_meanwhile(exercise, things, served, how, open_):
    if open_:
        assert exercise.run(Step(RAISE, [[10, "a"]], 1), commit=False).result == "DONE"
    served.server.restart(how)
    ended = exercise.run(Step(RAISE, [[10, "b"]], 1))
    assert ended.result == "AWAY" and ended.message, ended
    exercise.close()
    assert exercise.connect(served.url) is None
    assert exercise.run(Step(RAISE, [[100, "b"]], 1)).result == "DONE"
    assert contents(served) == {"a": 1, "b": 102}


def test_killed_while_it_works(exercise, things, build, served):
    """Behind a lock, so that it is certain that the server has the statement and has not ended it."""
    assert exercise.run(Step(RAISE, [[10, "a"]], 1), commit=False).result == "DONE"
    with Exercise(build) as other:
        assert other.connect(served.url) is None
        other.begin(Step(RAISE, [[100, "a"]], 1))
        wait_until(lambda: waits(served), "the statement waits for the lock")
        served.server.kill()
        ended = other.finish()
        assert ended.result in ("AWAY", "UNKNOWN"), ended
        assert exercise.run(commit=True).result == "AWAY"
    served.server.start()
    assert contents(served) == {"a": 1, "b": 2}


def waits(served):
    # InnoDB's own tables of locks do not change while they are read every few milliseconds.
    question = {"postgres": "SELECT COUNT(*) FROM pg_locks WHERE NOT granted",
                "mariadb": "SELECT CAST(variable_value AS SIGNED) FROM information_schema.global_status"
                           " WHERE variable_name = 'Innodb_row_lock_current_waits'"}
    return served.execute(question[served.kind]) == [(1,)]


def test_nobody_listens(exercise, served):
    served.server.stop()
    why = exercise.connect(served.url)
    assert why and "connect" in why.lower(), why
    served.server.start()
    assert exercise.connect(served.url) is None
