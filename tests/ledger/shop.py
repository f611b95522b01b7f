# SPDX-License-Identifier: Apache-2.0
"""A shop of a test's own: a database, an engine and the servers between them.

    shop.serve()                       a server with --ledger and --engine
    shop.rows("SELECT … WHERE a = ?")  what the database has
    shop.remember(), shop.roll_back()  the engine as it was before

The same tests run on every pair of a database and an engine."""

import contextlib
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from raw_client import http
from server import Error, Server, wait_until

PRODUCT = "sneaker"
FLAGS = ["--reconcile-every", "200ms"]
# A buyer who is refused because the ledger is away rests before the next order. The refusal takes no time: without a rest
# the buyers keep the machine from bringing the ledger back, and leave tens of thousands of orders to try again.
REST_S = 0.05


class EmbeddedEngine:
    """In the server's own process: one server at a time, and its directory is the state."""

    name = "embedded"

    def __init__(self, where):
        self.directory = where / "data"
        self.copy = where / "copy"

    def server(self, *flags, **more):
        return Server(*flags, directory=self.directory, **more)

    def remember(self):
        """Only while no server runs."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.directory, self.copy)

    def roll_back(self):
        shutil.rmtree(self.directory)
        shutil.copytree(self.copy, self.directory)

    def close(self):
        pass


class RedisEngine:
    """On a Redis of its own; what it had is put back from its RDB file."""

    name = "redis"

    def __init__(self, where, redis, more="?timeout=1000"):
        self.redis = redis
        self.more = more
        self.copy = where / "copy.rdb"
        redis.client().flushall()

    def server(self, *flags, **more):
        return Server("--engine", self.redis.url + self.more, *flags, memory=True, **more)

    def remember(self):
        client = self.redis.client()
        client.save()
        shutil.copy(self.redis.directory / "dump.rdb", self.copy)

    def roll_back(self):
        self.redis.kill()
        shutil.copy(self.copy, self.redis.directory / "dump.rdb")
        self.redis.start()

    def close(self):
        if not self.redis.running:
            self.redis.start()


class Shop:
    def __init__(self, database, engine):
        self.database, self.engine = database, engine
        self.servers = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.servers.close()
        self.engine.close()

    @property
    def flags(self):
        return ["--ledger", self.database.url]

    def serve(self, *flags, ledger=None, **more):
        """Another server; the flags win over those that all tests have."""
        given = {flag for flag in flags if str(flag).startswith("--")}
        standard = [word for pair in zip(FLAGS[::2], FLAGS[1::2]) if pair[0] not in given
                    for word in pair]
        where = [] if "--ledger" in given else ["--ledger", ledger or self.database.url]
        server = self.engine.server(*where, *standard, *flags, **more)
        self.servers.callback(server.close)
        return server

    def serve_uncompared(self):
        """Another server, which is over with the reconciliation of its start and begins no other."""
        server = self.serve("--reconcile-every", "1h")
        wait_until(lambda: metrics(server)["holdfast_reconciliations_total"] > 0, "it has reconciled", timeout=40)
        return server

    # ---- what the database has

    def rows(self, text, *values):
        return self.database.rows(text, *values)

    def value(self, text, *values):
        return self.rows(text, *values)[0][0]

    def stock(self, product=PRODUCT):
        found = self.rows("SELECT stock FROM inventory WHERE product_id = ?", product)
        return found[0][0] if found else None

    def sold(self, product=PRODUCT):
        """Quantity in orders that stand."""
        return int(self.value("SELECT COALESCE(SUM(quantity), 0) FROM orders "
                              "WHERE product_id = ? AND status = 'sold'", product))

    def bury_the_dead(self):
        """Has writers of servers that were killed counted as dead now: those who live say so again."""
        self.rows("UPDATE writers SET seen_at = 1")

    def drift(self):
        return self.rows("SELECT before_value, after_value, in_flight, cause FROM drift "
                         "ORDER BY drift_id")

    def wait_corrected(self):
        """The engine is moved first, then that is written down: gives the corrections' sizes."""
        wait_until(self.drift, "the correction is written down")
        return [after - before for before, after, _, _ in self.drift()]

    # ---- agreement

    def agrees(self, server, product=PRODUCT):
        """Have both sides the same to sell, with nothing in flight?"""
        held = stock_of(server, product)
        return held is not None and held["taken"] == 0 and held["available"] == self.stock(product)

    def wait_agreed(self, server, product=PRODUCT):
        try:
            wait_until(lambda: self.agrees(server, product), "engine and ledger agree", timeout=30)
        except AssertionError as error:
            raise AssertionError(f"{error}: engine {stock_of(server, product)}, ledger "
                                 f"{self.stock(product)}, drift {self.drift()}\n{server.said()[-3000:]}")


def stock_of(server, product=PRODUCT):
    """What STOCK.GET tells; None if it cannot."""
    words = server.call("STOCK.GET", product)
    if isinstance(words, Error) or words[0] == 0:
        return None
    return dict(zip(words[::2], words[1::2]))


def load(server, quantity, product=PRODUCT):
    """There is so much to sell, which a ledger with little time on a busy machine does not take at once."""
    wait_until(lambda: server.call("STOCK.LOAD", product, quantity) == [1, quantity], f"{quantity} of {product}")


def buy(server, order, user=None, quantity=1, product=PRODUCT, *more, timeout=30):
    return server.call("STOCK.BUY", product, order, user or f"u-{order}", quantity, *more,
                       timeout=timeout)


def outcome(answer):
    """SOLD, or the code of the refusal or error."""
    if isinstance(answer, Error):
        return answer.code
    return answer[2] if answer[0] == 1 else answer[1]


class Rush:
    """Buyers side by side, each with a connection of its own. Keeps the outcome of every order and
    how long the slowest answer took."""

    def __init__(self, server, product=PRODUCT, buyers=20, prefix="o", quantity=1):
        self.server, self.product, self.quantity = server, product, quantity
        self.buyers, self.prefix = buyers, prefix
        self.outcomes = {}
        self.slowest_s = 0.0
        self.lock = threading.Lock()

    def one(self, connection, order):
        start = time.monotonic()
        answer = connection.call("STOCK.BUY", self.product, order, f"u-{order}", self.quantity)
        took = time.monotonic() - start
        with self.lock:
            self.outcomes[order] = outcome(answer)
            self.slowest_s = max(self.slowest_s, took)
        return self.outcomes[order]

    def buyer(self, number, orders, stopped):
        with self.server.connect(60) as connection:
            for i in orders:
                if stopped.is_set():
                    return
                if self.one(connection, f"{self.prefix}-{number}-{i}") == "LEDGER_DOWN":
                    stopped.wait(REST_S)

    def run(self, each):
        """Every buyer buys so often."""
        with self.going(each):
            pass
        return self

    @contextlib.contextmanager
    def going(self, each=10 ** 9):
        """Buys while the block runs; with a number, each buyer so often and to the end."""
        stopped = threading.Event()
        with ThreadPoolExecutor(self.buyers) as pool:
            futures = [pool.submit(self.buyer, number, range(each), stopped)
                       for number in range(self.buyers)]
            try:
                yield self
            finally:
                if each == 10 ** 9:
                    stopped.set()
                for future in futures:
                    future.result()

    def count(self, name):
        with self.lock:
            return sum(found == name for found in self.outcomes.values())

    def orders(self, *names):
        with self.lock:
            return sorted(order for order, found in self.outcomes.items() if found in names)

    def seen(self):
        with self.lock:
            return set(self.outcomes.values())


def metrics(server):
    """{name{labels}: value} of the server."""
    found = {}
    for line in http(server.http_port, "GET", "/metrics").body.decode().splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


def temporary(tmp_path_factory, name):
    return Path(tmp_path_factory.mktemp(name))


def engine_of(kind, request, where):
    """The engine of a shop: in the server's own process, or on the Redis that all tests share."""
    if kind == "embedded":
        return EmbeddedEngine(where)
    redis = request.getfixturevalue("one_redis")
    if not redis.running:
        redis.start()
    return RedisEngine(where, redis)
