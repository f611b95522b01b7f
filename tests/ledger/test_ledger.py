# SPDX-License-Identifier: Apache-2.0
"""The ledger does the same on every database: sales that travel together, what they are answered,
jobs, and the tables of a shop. What it does when connections fail is in tests/unit/ledger_faults.c,
what the drivers do then in test_driver_faults.py."""

import re
import subprocess
import time

import pytest

from servers import wait_until

FIELD = re.compile(r"(\w+)=(.*?)(?= \w+=|$)")


class Ledger:
    """A ledger in a process of its own; see the head of ledger_exercise.c."""

    def __init__(self, build, database):
        self.process = subprocess.Popen([build.path / "tests" / "ledger_exercise"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.database = database

    def ask(self, *words):
        """The lines of the answer, each a dict."""
        self.process.stdin.write(" ".join("-" if word == "" else str(word) for word in words) + "\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == ".\n":
                return lines
            lines.append(dict(FIELD.findall(line.rstrip("\n"))))
        raise AssertionError(f"ledger_exercise ended with {self.process.wait(60)} after {words}")

    def open(self, inventory="", connections=2, timeout_ms=20_000):
        return self.ask("open", self.database.url, inventory, connections, timeout_ms)[0]

    def sell(self, product, order, user="ann", quantity=1, maximum=0):
        self.ask("sell", "order", product, order, user, quantity, maximum, "")

    def book(self, event, booking, zone, quantity=1):
        self.ask("sell", "booking", event, booking, "ann", quantity, 0, zone)

    def sales(self):
        return self.ask("sales")

    def answers(self):
        return [sale["answer"] for sale in self.sales()]

    def job(self, task, scope="", id_="", *, kind="order", zone="", user="", delta=0):
        return self.ask("job", task, kind, scope, id_, zone, user, delta)[-1]

    def stop(self):
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        assert code == 0


@pytest.fixture
def ledgers(build, database):
    made = []

    def make(**options):
        made.append(Ledger(build, database))
        assert made[-1].open(**options)["error"] == "OK"
        return made[-1]

    yield make
    for ledger in made:
        ledger.process.kill()
        ledger.process.wait()


@pytest.fixture
def ledger(ledgers):
    return ledgers()


def load(ledger, product="lamp", stock=100):
    assert ledger.job("stock", product, delta=stock)["answer"] == "DONE"


def stock(database, product="lamp"):
    return database.execute(f"SELECT stock FROM inventory WHERE product_id = '{product}'")[0][0]


# ---- sales


def test_a_sale_is_a_row_and_the_stock_less_its_quantity(ledger, database):
    load(ledger)
    ledger.sell("lamp", "o-1", "ann", 3)
    assert ledger.answers() == ["DONE"]
    assert stock(database) == 97
    rows = database.execute("SELECT order_id, product_id, user_id, quantity, unit_price, status FROM orders")
    assert rows == [("o-1", "lamp", "ann", 3, 100, "sold")]


def test_what_each_sale_is_answered(ledger, database):
    load(ledger, stock=10)
    for order, user, quantity in [("o-1", "ann", 4), ("o-2", "bob", 7), ("o-3", "bob", 3), ("o-1", "ann", 4),
                                  ("o-1", "bob", 4)]:
        ledger.sell("lamp", order, user, quantity)
    ledger.sell("chair", "o-4")
    assert ledger.answers() == ["DONE", "SOLD_OUT", "DONE", "DONE_BEFORE", "DIFFERS", "NOT_FOUND"]
    assert stock(database) == 3


def test_the_users_limit(ledger, database):
    load(ledger)
    for number, quantity in enumerate([2, 3, 2, 1]):
        ledger.sell("lamp", f"o-{number}", "ann", quantity, maximum=4)
    ledger.sell("lamp", "o-9", "bob", 4, maximum=4)
    assert ledger.answers() == ["DONE", "OVER_LIMIT", "DONE", "OVER_LIMIT", "DONE"]
    assert stock(database) == 92


def test_sales_travel_together(ledger, database):
    load(ledger, "lamp", 10_000)
    load(ledger, "chair", 10_000)
    for number in range(4000):
        ledger.sell(("lamp", "chair")[number % 2], f"o-{number}", f"user-{number % 7}")
    assert set(ledger.answers()) == {"DONE"}
    assert stock(database) == stock(database, "chair") == 8000
    assert database.execute("SELECT count(*) FROM orders")[0][0] == 4000
    figures = ledger.ask("figures")[0]
    assert int(figures["batches"]) < 2000 and figures["careful"] == "0"


def test_two_servers_sell_no_more_than_there_is(ledgers, database):
    first, second = ledgers(), ledgers()
    load(first, stock=300)
    for number in range(600):
        for ledger in first, second:
            ledger.sell("lamp", f"o-{number}", "ann")
    answers = first.answers() + second.answers()
    assert answers.count("DONE") == 300 and set(answers) <= {"DONE", "DONE_BEFORE", "SOLD_OUT"}
    assert stock(database) == 0
    assert database.execute("SELECT count(*) FROM orders")[0][0] == 300


@pytest.mark.parametrize("text", ["';DROP", '"x"', "`", "\\", "?", "$1", "%s", "{rows}", "\U0001f3ab" * 32])
def test_any_text_comes_back_as_it_was(ledger, text):
    load(ledger, text)
    ledger.sell(text, text, text)
    ledger.sell(text, text, text)
    assert sorted(ledger.answers()) == ["DONE", "DONE_BEFORE"]  # they may go by two connections
    assert ledger.job("find", text, text)["user"] == text
    assert ledger.job("read", text)["available"] == "99"


def test_texts_are_compared_by_their_bytes(ledger):
    for product in ("lamp", "LAMP", "l\u00e4mp", "la\u0308mp"):
        load(ledger, product, 1)
        ledger.sell(product, f"order-{product}", product, maximum=1)
    assert ledger.answers() == ["DONE"] * 4


# ---- rows that the database refuses


TRIGGERS = {
    "sqlite": ["CREATE TRIGGER t BEFORE INSERT ON orders WHEN new.user_id = 'eve' BEGIN"
               " SELECT RAISE(ABORT, 'eve is not served'); END"],
    "postgres": ["CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'eve is not served'; END $$"
                 " LANGUAGE plpgsql",
                 "CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.user_id = 'eve')"
                 " EXECUTE FUNCTION refuse()"],
    "mariadb": ["CREATE TRIGGER t BEFORE INSERT ON orders FOR EACH ROW IF NEW.user_id = 'eve' THEN"
                " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'eve is not served'; END IF"],
}


def run_all(database, statements):
    connection = database.server.connect(database.name)
    try:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
    finally:
        connection.close()


def test_a_row_that_is_refused_does_not_hold_the_others_up(ledger, database):
    load(ledger)
    run_all(database, TRIGGERS[database.kind])
    for number in range(60):
        ledger.sell("lamp", f"o-{number}", "eve" if number == 42 else "ann")
    sales = ledger.sales()
    assert [number for number, sale in enumerate(sales) if sale["answer"] != "DONE"] == [42]
    assert sales[42]["answer"] == "REFUSED" and "eve is not served" in sales[42]["problem"]
    assert stock(database) == 41


# ---- orders and bookings


def test_an_order_is_ended_once(ledger, database):
    load(ledger)
    ledger.sell("lamp", "o-1", "ann", 3)
    assert ledger.answers() == ["DONE"]
    assert ledger.job("read", "lamp")["selling"] == "3"
    ledger.ask("tell")
    assert ledger.job("read", "lamp")["selling"] == "0"
    ended = ledger.job("end", "lamp", "o-1")
    assert (ended["answer"], ended["left"]) == ("DONE", "100")
    assert ledger.job("end", "lamp", "o-1")["answer"] == "ENDED_BEFORE"
    assert ledger.job("end", "lamp", "o-2")["answer"] == "NOT_FOUND"
    assert ledger.job("cancel", "lamp", "o-2")["answer"] == "DONE"
    ledger.sell("lamp", "o-1", "ann", 3)
    ledger.sell("lamp", "o-2", "ann", 3)
    assert ledger.answers() == ["ENDED_BEFORE"] * 2
    assert stock(database) == 100
    assert database.execute("SELECT id, step FROM barriers ORDER BY id") == [("o-1", "return"), ("o-2", "cancel")]


def test_bookings_are_counted_in_their_zone(ledger):
    def zone(capacity):
        return ledger.job("zone", "gala", kind="booking", zone="floor", delta=capacity)

    assert zone(5)["answer"] == "DONE"
    ledger.book("gala", "b-1", "floor", 3)
    ledger.book("gala", "b-2", "floor", 3)
    ledger.book("gala", "b-3", "roof")
    assert ledger.answers() == ["DONE", "SOLD_OUT", "NOT_FOUND"]
    assert zone(2)["answer"] == "SOLD_OUT" and zone(4)["left"] == "1"
    counter = ledger.job("read", "gala", kind="booking", zone="floor")
    assert [counter[name] for name in ("available", "size", "selling", "ending")] == ["1", "4", "3", "0"]
    ledger.ask("tell")
    assert ledger.job("find", "gala", "b-1", kind="booking")["zone"] == "floor"
    assert ledger.job("end", "gala", "b-1", kind="booking")["left"] == "4"
    assert ledger.job("cancel", "gala", "b-9", kind="booking")["answer"] == "DONE"
    ledger.book("gala", "b-9", "floor")
    assert ledger.answers() == ["ENDED_BEFORE"]
    assert ledger.job("audit")["answer"] == "DONE"


# ---- servers


def test_leases_and_drift(ledger, database):
    first = ledger.job("lease", "lamp", "one", delta=60_000)
    other = ledger.job("lease", "lamp", "two", delta=60_000)
    assert (first["answer"], other["answer"], other["user"]) == ("DONE", "SOLD_OUT", "one")
    assert ledger.job("lease", "lamp", "one", delta=60_000)["fence"] == first["fence"]
    assert ledger.job("unlease", "lamp", "one")["answer"] == "DONE"
    assert int(ledger.job("lease", "lamp", "two", delta=60_000)["fence"]) > int(first["fence"])
    assert ledger.job("drift", "lamp", "cause", user="server", delta=7)["answer"] == "DONE"
    assert database.execute("SELECT scope, before_value, cause, server FROM drift") == [("lamp", 7, "cause", "server")]


def test_what_a_dead_server_had_in_flight_is_listed(ledgers, database):
    dead = ledgers()
    load(dead)
    for number in range(5):
        dead.sell("lamp", f"o-{number}", "ann", 2)
    assert dead.answers() == ["DONE"] * 5
    dead.process.kill()
    dead.process.wait()
    alive = ledgers()
    assert alive.job("read", "lamp")["selling"] == "10"
    assert alive.ask("job", "stale", "order", *"----", 0)[:-1] == []
    database.execute("UPDATE writers SET seen_at = seen_at - 60000")
    assert alive.job("mark")["answer"] == "DONE"
    listed = alive.ask("job", "stale", "order", *"----", 0)[:-1]
    assert [item["id"] for item in listed] == [f"o-{number}" for number in range(5)]
    assert alive.job("bury")["answer"] == "DONE"
    assert alive.job("read", "lamp")["selling"] == "0"


def test_an_audit_names_what_does_not_agree(ledger, database):
    load(ledger)
    ledger.sell("lamp", "o-1")
    assert ledger.answers() == ["DONE"]
    assert ledger.ask("job", "audit", "order", *"----", 0)[:-1] == []
    database.execute("UPDATE orders SET status = 'returned'")
    assert ledger.ask("job", "audit", "order", *"----", 0)[:-1] == [
        {"finding": "product lamp, order o-1: returned without a barrier"}]


# ---- a server that is not there for a while


FATES = {"paused": (lambda server: server.pause(), lambda server: server.resume()),
         "killed": (lambda server: server.kill(), lambda server: server.start())}


@pytest.mark.parametrize("fate", sorted(FATES))
def test_nobody_waits_for_a_server_that_is_away(build, served, fate):
    """Everybody is answered in time; afterwards the same sales are each carried out once."""
    leave, come_back = FATES[fate]
    ledger = Ledger(build, served)
    assert ledger.open(timeout_ms=2000)["error"] == "OK"
    load(ledger, stock=1000)

    def sell_all():
        for number in range(200):
            ledger.sell("lamp", f"o-{number}", "ann", 2)
        return ledger.answers()

    ledger.ask("patience", 1000)
    leave(served.server)
    began = time.monotonic()
    answers = sell_all()
    assert time.monotonic() - began < 10
    assert set(answers) <= {"AWAY", "UNKNOWN"}
    come_back(served.server)
    ledger.ask("patience", 20_000)
    wait_until(lambda: ledger.job("mark")["answer"] == "DONE", "the ledger is connected")
    answers = sell_all()
    assert set(answers) <= {"DONE", "DONE_BEFORE"}
    assert stock(served) == 600
    assert served.execute("SELECT count(*), sum(quantity) FROM orders") == [(200, 400)]
    ledger.ask("tell")
    assert ledger.job("read", "lamp")["selling"] == "0"
    ledger.stop()


# ---- tables


def test_a_shops_own_table_is_used(ledgers, build, database):
    quote = "`" if database.kind == "mariadb" else '"'
    table = f"{quote}Select{quote}"
    run_all(database, [f"CREATE TABLE {table} (Sku VARCHAR(99) PRIMARY KEY, {quote}on hand{quote} INT,"
                       f" {quote}From{quote} INTEGER NOT NULL CHECK ({quote}From{quote} >= 0))",
                       f"INSERT INTO {table} VALUES ('lamp', 7, 10)"])
    sku = "Sku" if database.kind != "postgres" else "sku"
    ledger = ledgers(inventory=f"Select({sku},From)")
    ledger.sell("lamp", "o-1", "ann", 3)
    ledger.sell("lamp", "o-2", "ann", 8)
    assert ledger.answers() == ["DONE", "SOLD_OUT"]
    assert ledger.job("end", "lamp", "o-1")["left"] == "10"
    wrong = Ledger(build, database)
    assert wrong.open(inventory=f"Select({sku},price)")["error"] == "INVALID_STATE"
    wrong.stop()


def test_two_programs_make_the_tables_once(build, database):
    both = [Ledger(build, database) for _ in range(2)]
    for ledger in both:
        ledger.process.stdin.write(f"open {database.url} - 1 20000\n")
        ledger.process.stdin.flush()
    for ledger in both:
        assert ledger.ask("figures")[0]["error"] == "OK"
    assert database.execute("SELECT version FROM holdfast_schema") == [(1,), (2,), (3,), (4,), (5,)]
    for ledger in both:
        ledger.process.kill()
        ledger.process.wait()


def test_a_newer_database_is_refused(ledger, build, database):
    database.execute("INSERT INTO holdfast_schema (version) VALUES (7)")
    newer = Ledger(build, database)
    refused = newer.open()
    assert refused["error"] == "INVALID_STATE" and "version 7" in refused["problem"]
    newer.stop()
