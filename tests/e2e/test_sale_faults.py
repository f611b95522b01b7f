# SPDX-License-Identifier: Apache-2.0
"""A server that is killed between any two steps of a sale: each order has one end.

holdfast-faults is the program with the points of src/base/fault.h compiled in; HOLDFAST_FAULT names
the one at which it kills itself. After each crash the server comes back, the clients ask again with
the same ids, and the engine and the ledger must come to agree by themselves.
"""

import contextlib
import re
import signal
import sqlite3

import pytest

from harness import ROOT, Build
from server import Server, wait_until

LOADED = 20
LIST = (ROOT / "src/base/fault.h").read_text().partition("#define FAULT_POINTS(X)")[2]
# Those of a checkout are played in tests/ledger/test_checkout.py.
POINTS = [point for point in re.findall(r"X\((\w+)\)", LIST.partition("#ifdef")[0])
          if not point.startswith("saga_")]

# What a client does to come to a point: words of commands, or a statement for the shop's database.
SALE = [("STOCK.BUY", "sneaker", "o1", "ann", 2)]
RETURN = [("STOCK.RETURN", "sneaker", "o0")]
MORE = [("STOCK.LOAD", "sneaker", LOADED + 5)]
REFUSED = ["UPDATE inventory SET stock = 1", ("STOCK.BUY", "sneaker", "o2", "ann", 3)]
DRIFT = ["UPDATE inventory SET stock = stock - 1", ("RECONCILE",)]
OPENED = ["INSERT INTO inventory (product_id, stock) VALUES ('boot', 5)",
          ("STOCK.BUY", "boot", "o3", "ann", 1)]
ADOPTED = [("STOCK.BUY", "sneaker", "o0", "ann", 1)]
# In one transaction: the server may compare at any moment.
STALE = ["BEGIN; "
         "INSERT INTO orders (order_id, product_id, user_id, quantity, unit_price, writer, batch) "
         "VALUES ('lost', 'sneaker', 'bob', 4, 0, 777, 8); "
         "UPDATE inventory SET stock = stock - 4; "
         "INSERT INTO writers (writer_id, epoch, batch, told, seen_at) VALUES (777, 1, 9, 7, 1000); "
         "COMMIT",
         ("RECONCILE",)]
CONFIRM = [("SEATS.CONFIRM", "gala", "b1", "PAYMENT", "p1")]
REFUND = [("SEATS.REFUND", "gala", "b0")]
WAYS = {"purchase_refused": REFUSED, "purchase_given": REFUSED, "look_opened": OPENED,
        "look_adopted": ADOPTED, "purchase": SALE, "return": RETURN, "load": MORE, "look": DRIFT,
        "stale": STALE, "confirm": CONFIRM, "refund": REFUND}
# Only an engine that is away is gone past: tests/ledger has that on Redis.
ELSEWHERE = {"purchase_direct_sold"}


class Shop:
    """A server with a ledger, and the database behind it."""

    def __init__(self, directory, own_ledger):
        self.server = Server("--reconcile-every", "1h",
                             *([] if own_ledger else ["--ledger", f"sqlite:{directory}/shop.db"]),
                             directory=directory / "data", start=False,
                             program=Build().path / "tests" / "holdfast-faults")
        self.database = directory / ("data/ledger.db" if own_ledger else "shop.db")

    def sql(self, statement):
        """Carries it out; gives the first value of the first row, if there is one."""
        connection = sqlite3.connect(self.database, timeout=30)
        try:
            with connection:
                row = connection.execute(statement).fetchone()
            return row[0] if row else None
        finally:
            connection.close()

    def do(self, way):
        """Carries out all of it, or as much as the server lives for."""
        for step in way:
            if isinstance(step, str):
                with contextlib.closing(sqlite3.connect(self.database, timeout=30)) as connection:
                    connection.executescript(step)
            else:
                self.server.call(*step)

    def product(self, name="sneaker"):
        fields = self.server.call("STOCK.GET", name)
        return dict(zip(fields[::2], fields[1::2]))

    def agrees(self):
        """Does the engine have what the ledger has? Asks for a reconciliation first."""
        self.server.call("RECONCILE")
        engine = self.product()
        return engine["taken"] == 0 and engine["available"] == self.sql(
            "SELECT stock FROM inventory WHERE product_id = 'sneaker'")


def way_to(point):
    return WAYS.get(point) or WAYS[point.partition("_")[0]]


@pytest.fixture
def shop(tmp_path, request):
    one = Shop(tmp_path, own_ledger=request.param == "look_adopted")
    one.server.start()
    assert one.server.call("STOCK.LOAD", "sneaker", LOADED) == [1, LOADED]
    if request.param != "look_adopted":
        one.do([("STOCK.BUY", "sneaker", "o0", "ann", 1), ("SEATS.OPEN", "gala", "floor", 10),
                ("SEATS.RESERVE", "gala", "floor", "b0", "ann", 1, 5),
                ("SEATS.CONFIRM", "gala", "b0"),
                ("SEATS.RESERVE", "gala", "floor", "b1", "ann", 2, 5)])
    one.server.stop()
    yield one
    one.server.close()


def killed_at(shop, point):
    """Runs the way to a point on a server that dies there."""
    shop.server.env = {"HOLDFAST_FAULT": point}
    shop.server.start()
    if point.startswith(("purchase_refused", "purchase_given")):
        shop.do([("STOCK.BUY", "sneaker", "warm", "ann", 1)])  # compared, and open
    with pytest.raises((OSError, EOFError)):
        shop.do(way_to(point))
        pytest.fail(f"it lives: {point} was not passed")
    assert shop.server.process.wait() == -signal.SIGKILL
    shop.server.kill()
    shop.server.env = {}


@pytest.mark.parametrize("shop, point", [(point, point) for point in POINTS
                                         if point not in ELSEWHERE], indirect=["shop"])
def test_each_order_has_one_end(shop, point):
    killed_at(shop, point)
    # The dead server's writers and leases are as old as they will be in half a minute.
    shop.sql("UPDATE writers SET seen_at = 0")
    shop.sql("UPDATE leases SET expires_at = 0")
    shop.server.start()
    for step in way_to(point):
        if not isinstance(step, str):
            shop.server.call(*step)  # asked for again, with the same ids
    wait_until(shop.agrees, "both sides agree", timeout=100)
    assert shop.sql("SELECT count(*) FROM orders WHERE order_id = 'o1'") == (way_to(point) is SALE)
    assert shop.sql("SELECT count(*) FROM writers WHERE writer_id = 777") == 0
    if way_to(point) in (SALE, RETURN):
        sold = shop.sql("SELECT coalesce(sum(quantity), 0) FROM orders WHERE status = 'sold'")
        assert shop.product()["available"] + sold == LOADED
    if way_to(point) in (CONFIRM, REFUND):
        zone = shop.server.call("SEATS.ZONE", "gala", "floor")
        assert dict(zip(zone[::2], zone[1::2]))["confirmed"] == shop.sql("SELECT sold FROM zones")


def test_every_point_has_a_way():
    assert len(POINTS) > 20
    assert all(way_to(point) for point in POINTS)
    assert ELSEWHERE <= set(POINTS)
