# SPDX-License-Identifier: Apache-2.0
"""Each driver of a database does the same with the same steps: values, expectations, refusals and
transactions. What happens when something fails is in test_driver_faults.py."""

import pytest

from exercise import Exercise, Step

TABLE = """CREATE TABLE things (
    id VARCHAR(200) NOT NULL PRIMARY KEY,
    word VARCHAR(400),
    number BIGINT,
    CHECK (number <> -13)
);
"""
ADD = "INSERT INTO things (id, word, number) {rows}"
ADD_ONE = "INSERT INTO things (id, word, number) VALUES (?, ?, ?)"
RAISE = "UPDATE things SET number = number + ? WHERE id = ?"
FIND = "SELECT id, word, number FROM things WHERE id = ?"
TTI = "tti"

HOSTILE = ["", " ", "'", "''", '"', "`", "\\", "\\'", "?", "$1", "{rows}", "%s", "%n", "; DROP TABLE things; --",
           "'; DROP TABLE things; --", "{1,2}", '{"a"}', "NULL", "null", "a\tb\nc\rd", "\x01\x1a\x7f",
           "ä", "€", "\U0001f600", "e\u0301", "\ufeff", "\uffff", "0", "-1", "t", "x" * 400]


@pytest.fixture
def exercise(build, database):
    with Exercise(build) as running:
        assert running.connect(database.url) is None
        ended = running.script(TABLE)
        assert ended.result == "DONE", ended
        yield running


def contents(database):
    return dict(database.execute("SELECT id, number FROM things ORDER BY id"))


def done(ended):
    assert ended.result == "DONE", ended
    return ended.rows


def three(exercise):
    done(exercise.run(Step(ADD, [["a", "x", 1], ["b", "y", 2], ["c", "z", 3]], types=TTI)))


# ---- values


def test_hostile_texts_come_back_as_they_are(exercise, database):
    rows = [[f"id {i} {text}"[:200], text, i] for i, text in enumerate(HOSTILE)]
    done(exercise.run(Step(ADD, rows, 1)))
    one_by_one = [[f"one {id_}"[:200], word, number] for id_, word, number in rows]
    done(exercise.run(Step(ADD_ONE, one_by_one, 1)))
    found = done(exercise.run(Step(FIND, [[row[0]] for row in rows + one_by_one])))
    assert found == [(i, id_.encode(), word.encode(), number)
                     for i, (id_, word, number) in enumerate(rows + one_by_one)]
    words = dict(database.execute("SELECT id, word FROM things"))
    assert words == {id_: word for id_, word, _ in rows + one_by_one}


@pytest.mark.parametrize("text", [b"a\0b", b"\0", b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"])
@pytest.mark.parametrize("statement", [ADD, ADD_ONE])
def test_what_is_no_text_is_refused_or_kept_to_the_byte(exercise, statement, text):
    ended = exercise.run(Step(statement, [["id", text, 1]], 1))
    found = done(exercise.run(Step(FIND, [["id"]])))
    if ended.result == "REFUSED":
        assert found == []
    else:
        assert (ended.result, found) == ("DONE", [(0, b"id", text, 1)])


@pytest.mark.parametrize("statement", [ADD, ADD_ONE])
def test_integers_and_nulls_come_back_as_they_are(exercise, statement):
    numbers = [0, 1, -1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), None]
    rows = [[str(i), None if i % 2 else "word", number] for i, number in enumerate(numbers)]
    done(exercise.run(Step(statement, rows, 1, TTI)))
    found = done(exercise.run(Step(FIND, [[row[0]] for row in rows])))
    assert found == [(i, id_.encode(), word and word.encode(), number)
                     for i, (id_, word, number) in enumerate(rows)]


def test_results_are_numbers_whatever_the_database_counts_in(exercise):
    three(exercise)
    found = done(exercise.run(Step("SELECT COUNT(*), MAX(number), SUM(number), MAX(id) FROM things")))
    assert found == [(0, 3, 3, 6, b"c")]


@pytest.mark.parametrize("count", [1, 2, 7, 5000])
@pytest.mark.parametrize("statement", [ADD, ADD_ONE])
def test_many_rows(exercise, database, statement, count):
    rows = [[f"id {i}", "word", i + 100] for i in range(count)]
    done(exercise.run(Step(statement, rows, 1)))
    assert contents(database) == {id_: number for id_, _, number in rows}
    found = done(exercise.run(Step(FIND, [[row[0]] for row in rows])))
    assert [row[0] for row in found] == list(range(count))


def test_a_query_says_which_row_of_values_it_answers(exercise):
    three(exercise)
    found = done(exercise.run(Step(FIND, [["c"], ["nothing"], ["a"], ["c"]])))
    assert [(row, id_) for row, id_, *_ in found] == [(0, b"c"), (2, b"a"), (3, b"c")]


def test_a_step_of_no_rows_is_nothing(exercise, database):
    done(exercise.run(Step(ADD, [], 1, TTI), Step(RAISE, [], 1, "it"), Step(ADD_ONE, [["a", "x", 1]])))
    assert contents(database) == {"a": 1}


# ---- expectations


def test_expectations_that_are_met(exercise, database):
    three(exercise)
    done(exercise.run(Step(RAISE, [[10, "a"], [20, "b"], [30, "a"]], 1),
                      Step(RAISE, [[1, "nothing"], [1, "neither"]], 0),
                      Step("UPDATE things SET word = 'all'", expected=3),
                      Step("DELETE FROM things WHERE id = ?", [["c"]], 1)))
    assert contents(database) == {"a": 41, "b": 22}


@pytest.mark.parametrize("rows, expected, row", [
    ([["a"], ["nothing"], ["b"]], 1, 1), ([["nothing"]], 1, 0), ([["a"], ["b"], ["c"]], 0, 0),
    ([["a"], ["b"]], 2, 0), ([["c"], ["b"], ["a"], ["c"], ["d"]], 1, 4)])
def test_a_missed_expectation_undoes_all(exercise, database, rows, expected, row):
    three(exercise)
    before = contents(database)
    for _ in range(2):
        ended = exercise.run(Step(ADD_ONE, [["new", "x", 1]], 1),
                             Step(RAISE, [[5, *values] for values in rows], expected),
                             Step(ADD_ONE, [["newer", "x", 1]], 1))
        assert (ended.result, ended.step, ended.row) == ("MISSED", 1, row), ended
        assert contents(database) == before
    done(exercise.run(Step(RAISE, [[5, "a"]], 1)))
    assert contents(database) == {**before, "a": 6}


def test_a_delete_that_misses(exercise, database):
    three(exercise)
    ended = exercise.run(Step("DELETE FROM things WHERE number > ?", [[1]], 1))
    assert (ended.result, ended.step) == ("MISSED", 0)
    assert contents(database) == {"a": 1, "b": 2, "c": 3}


def test_the_same_statement_with_and_without_an_expectation(exercise, database):
    three(exercise)
    for _ in range(3):
        done(exercise.run(Step(RAISE, [[1, "nothing"]]), Step(RAISE, [[1, "a"]], 1)))
        assert exercise.run(Step(RAISE, [[1, "nothing"]], 1)).result == "MISSED"
    assert contents(database)["a"] == 4


# ---- refusals


@pytest.mark.parametrize("row", [["a", "x", 1], [None, "x", 1], ["new", "x", -13], ["x" * 5000, "x", 1]],
                         ids=["twice", "null", "check", "long"])
@pytest.mark.parametrize("statement", [ADD, ADD_ONE])
def test_a_refused_row_undoes_all(exercise, database, statement, row):
    if database.kind == "sqlite" and row[0] and len(row[0]) > 200:
        pytest.skip("SQLite has texts of any length")
    three(exercise)
    before = contents(database)
    for _ in range(2):
        ended = exercise.run(Step(RAISE, [[5, "a"]], 1), Step(statement, [["fine", "x", 1], row], 1, TTI),
                             Step(RAISE, [[5, "b"]], 1))
        assert (ended.result, ended.step) == ("REFUSED", 1), ended
        assert ended.message
        if statement == ADD_ONE:
            assert ended.row == 1
        assert contents(database) == before
    done(exercise.run(Step(statement, [["new", "x", 1]], 1)))
    assert contents(database) == {**before, "new": 1}


def test_a_statement_that_is_none(exercise, database):
    three(exercise)
    for text in ("SELECT nothing FROM things", "SELECT 1 FROM nowhere", "SELEC 1"):
        ended = exercise.run(Step(RAISE, [[5, "a"]], 1), Step(text))
        assert (ended.result, ended.step) == ("REFUSED", 1), ended
    done(exercise.run(Step(RAISE, [[5, "a"]], 1)))
    assert contents(database)["a"] == 6


def test_a_table_made_after_its_statement_was_refused(exercise):
    late = Step("SELECT id FROM late")
    assert exercise.run(late).result == "REFUSED"
    assert exercise.script("CREATE TABLE late (id BIGINT);\n").result == "DONE"
    assert done(exercise.run(late)) == []


# ---- transactions


def test_a_transaction_in_parts(exercise, database):
    done(exercise.run(Step(ADD_ONE, [["a", "x", 1]], 1), commit=False))
    assert done(exercise.run(Step(FIND, [["a"]]), commit=False)) == [(0, b"a", b"x", 1)]
    assert contents(database) == {}
    done(exercise.run(Step(RAISE, [[1, "a"]], 1), commit=True))
    assert contents(database) == {"a": 2}
    done(exercise.run(commit=False))
    done(exercise.run(commit=True))


def test_a_transaction_that_is_left_is_undone(exercise, build, database):
    three(exercise)
    done(exercise.run(Step(RAISE, [[1, "a"]], 1), commit=False))
    exercise.close()
    assert exercise.connect(database.url) is None
    done(exercise.run(Step(RAISE, [[5, "a"]], 1)))
    assert contents(database)["a"] == 6


@pytest.mark.parametrize("wrong", [Step(RAISE, [[1, "nothing"]], 1), Step(ADD_ONE, [["a", "x", 1]])])
def test_what_goes_wrong_ends_the_whole_transaction(exercise, database, wrong):
    three(exercise)
    done(exercise.run(Step(RAISE, [[1, "a"]], 1), commit=False))
    assert exercise.run(wrong, commit=False).result in ("MISSED", "REFUSED")
    done(exercise.run(Step(RAISE, [[1, "b"]], 1)))
    assert contents(database) == {"a": 1, "b": 3, "c": 3}


def test_a_script_of_several_statements(exercise, database):
    script = "-- It's a comment;\nCREATE TABLE more (id BIGINT);\n\nINSERT INTO more VALUES\n  (1), (2);\n-- The end.\n"
    ended = exercise.script(script)
    assert ended.result == "DONE", ended
    assert database.execute("SELECT id FROM more ORDER BY id") == [(1,), (2,)]


def test_a_script_that_fails(exercise, database):
    ended = exercise.script("INSERT INTO things (id) VALUES ('a');\nINSERT INTO nowhere VALUES (1);\n")
    assert ended.result == "REFUSED" and "nowhere" in ended.message, ended
    if database.kind != "mariadb":  # where a script is no transaction
        assert contents(database) == {}
    three(exercise)


# ---- what only one of them has


@pytest.fixture
def on_postgres(exercise, database):
    if database.kind != "postgres":
        pytest.skip("of PostgreSQL")
    return exercise


RETURNS = "UPDATE things SET number = number + ? WHERE id = ? RETURNING id, number"


def test_rows_that_a_guarded_statement_returns(on_postgres, database):
    three(on_postgres)
    found = done(on_postgres.run(Step(RETURNS, [[1, "a"], [1, "b"]], 1), Step(RETURNS, [[1, "none"]], 0)))
    assert found == [(0, b"a", 2), (1, b"b", 3)]
    for expected, id_ in ((1, "none"), (0, "a"), (2, "a")):
        assert on_postgres.run(Step(RETURNS, [[1, id_]], expected)).result == "MISSED"
    assert contents(database) == {"a": 2, "b": 3, "c": 3}


def test_an_error_of_a_statement_is_not_taken_for_a_miss(on_postgres, database):
    three(on_postgres)
    for text in ("UPDATE things SET number = 1 / (number - 1)",
                 "UPDATE things SET number = CAST(word AS BIGINT)"):
        ended = on_postgres.run(Step(text, expected=3))
        assert ended.result == "REFUSED" and "SQLSTATE 22" in ended.message, ended


def test_a_trigger_that_leaves_a_row_out_is_a_miss(on_postgres, database):
    database.execute("""CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.id = 'b' THEN RETURN NULL; END IF; RETURN NEW; END $$""")
    database.execute("CREATE TRIGGER leave BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION leave()")
    ended = on_postgres.run(Step(ADD, [["a", "x", 1], ["b", "y", 2]], 1))
    assert (ended.result, ended.step) == ("MISSED", 0), ended
    assert contents(database) == {}


def test_what_is_refused_at_commit(on_postgres, database):
    database.execute("CREATE TABLE parts (id TEXT REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED)")
    ended = on_postgres.run(Step(ADD_ONE, [["a", "x", 1]]), Step("INSERT INTO parts VALUES (?)", [["b"]], 1))
    assert ended.result == "REFUSED" and "23503" in ended.message, ended
    assert contents(database) == {}
    three(on_postgres)


def test_the_session_is_named_and_bounded(on_postgres, database):
    found = done(on_postgres.run(
        Step("SELECT current_setting(?)", [[name] for name in (
            "application_name", "statement_timeout", "lock_timeout", "transaction_isolation")]),
        deadline_ms=3000))
    name, statement, lock, isolation = (row[1].decode() for row in found)
    assert (name, isolation) == ("holdfast", "read committed")
    assert (statement, lock) == ("4096ms", "2048ms")
