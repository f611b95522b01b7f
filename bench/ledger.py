#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a guarded purchase costs, beside what a shop would write by hand on the same database in the
same run: an order's row and the conditional update in one transaction by 50 clients, and a row per
unit with FOR UPDATE SKIP LOCKED.

    bench/ledger.py --build build [--seconds 5] [--rounds 3] [--only postgres,mariadb,sqlite]

Prints tables for bench/RESULTS.md: median of the rounds, lowest and highest."""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers import BENCH, Server, cpu_seconds

sys.path.append(str(BENCH.parent / "tests" / "ledger"))

from databases import Database, SqliteFiles  # noqa: E402
from mariadb_server import MariaDBServer  # noqa: E402
from postgres_server import PostgresServer  # noqa: E402

CLIENTS = 50
STOCK = 2_000_000_000
PGBENCH = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"), reverse=True)), "pgbench")

PEER_TABLES = """
CREATE TABLE peer_stock (product_id VARCHAR(128) PRIMARY KEY, stock BIGINT NOT NULL);
CREATE TABLE peer_orders (order_id VARCHAR(128) PRIMARY KEY, product_id VARCHAR(128) NOT NULL,
    user_id VARCHAR(128) NOT NULL, quantity BIGINT NOT NULL, sold_at BIGINT NOT NULL);
CREATE TABLE peer_units (unit_id BIGINT PRIMARY KEY, order_id VARCHAR(128));
INSERT INTO peer_stock VALUES ('hot', 2000000000)
"""
HAND_WRITTEN = """BEGIN;
INSERT INTO peer_orders VALUES (gen_random_uuid()::text, 'hot', 'ann', 1, 0);
UPDATE peer_stock SET stock = stock - 1 WHERE product_id = 'hot' AND stock >= 1;
END;
"""
SKIP_LOCKED = """BEGIN;
UPDATE peer_units SET order_id = gen_random_uuid()::text WHERE unit_id = (SELECT unit_id FROM peer_units
    WHERE order_id IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED);
INSERT INTO peer_orders VALUES (gen_random_uuid()::text, 'hot', 'ann', 1, 0);
END;
"""
UNITS = 400_000
MARIADB_HAND_WRITTEN = ("START TRANSACTION; INSERT INTO peer_orders VALUES (UUID(), 'hot', 'ann', 1, 0); "
                        "UPDATE peer_stock SET stock = stock - 1 WHERE product_id = 'hot' AND stock >= 1; "
                        "COMMIT;")


class Figures:
    """Rates by name, over the rounds."""

    def __init__(self):
        self.rates, self.notes = {}, {}

    def add(self, name, rate, note=""):
        self.rates.setdefault(name, []).append(rate)
        self.notes[name] = note
        print(f"  {name:<62} {rate:>10,.0f}/s  {note}", file=sys.stderr)

    def table(self, peer):
        print(f"| | orders/s, median (lowest–highest) | x {peer} |\n| --- | ---: | ---: |")
        base = statistics.median(self.rates[peer])
        for name, rates in self.rates.items():
            middle = statistics.median(rates)
            print(f"| {name} | {middle:,.0f} ({min(rates):,.0f}–{max(rates):,.0f}) | {middle / base:.2f} |"
                  f"{' ' + self.notes[name] if self.notes[name] else ''}")
        print()


class Buyers:
    """The load generator on one server of ours."""

    def __init__(self, build, server, seconds):
        self.program, self.server, self.seconds = build / "bench" / "buyers", server, seconds

    def run(self, connections=1000, rate=0, products=1, what="buy", seconds=None):
        before = cpu_seconds(self.server.pid)
        ended = subprocess.run(
            [self.program, str(self.server.resp_port), str(seconds or self.seconds), str(connections),
             str(rate), str(products), what], stdout=subprocess.PIPE, text=True, check=True)
        found = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", ended.stdout)}
        orders = found["sold"] + found["refused"]
        found["server_us"] = (cpu_seconds(self.server.pid) - before) / max(1, orders) * 1e6
        return found


def load(server, products):
    for number in range(products):
        answer = server.call("STOCK.LOAD", f"hot-{number}", STOCK)
        assert answer[0] == 1, answer


def ours(figures, build, database, where, seconds, name):
    """One hot product, many products, refusals, and latency at half the top rate."""
    with Server("--ledger", database.url, directory=where / "data", program=build / "src" / "holdfast") as server:
        load(server, 100)
        buyers = Buyers(build, server, seconds)
        hot = buyers.run()
        figures.add(f"{name}, one hot product", hot["rate"], f"{hot['server_us']:.1f} us of the server each")
        many = buyers.run(products=100)
        figures.add(f"{name}, 100 products", many["rate"])
        few = buyers.run(connections=CLIENTS)
        figures.add(f"{name}, one hot product, {CLIENTS} clients", few["rate"])
        half = buyers.run(rate=hot["rate"] / 2)
        figures.add(f"{name}, at half the rate", half["rate"],
                    f"p50 {half['p50_ms']:.1f} ms, p99 {half['p99_ms']:.1f} ms")
        refusals(figures, buyers, server, database, name)
    with Server("--ledger", database.url, memory=True, program=build / "src" / "holdfast") as server:
        server.call("STOCK.LOAD", "hot-0", STOCK)
        quick = Buyers(build, server, seconds).run()
        figures.add(f"{name}, one hot product, the engine in memory", quick["rate"],
                    f"{quick['server_us']:.1f} us of the server each")
    with Server(directory=fresh(where) / "data", program=build / "src" / "holdfast") as server:
        load(server, 1)
        plain = Buyers(build, server, seconds).run(what="take")
        figures.add(f"{name}: STOCK.TAKE and SETTLE without a ledger", plain["rate"],
                    f"{plain['server_us']:.1f} us of the server each")


def refusals(figures, buyers, server, database, name):
    """Sold out: the database sees none of them."""
    held = server.call("STOCK.GET", "hot-0")
    answer = server.call("STOCK.LOAD", "hot-0", held[5])  # as much as is sold: nothing is left of it
    assert answer == [1, 0], (held, answer)
    rows = database.rows("SELECT COUNT(*) FROM orders")[0][0]
    found = buyers.run()
    figures.add(f"{name}, refused after sold out", found["rate"], f"{found['server_us']:.1f} us of the server each")
    assert found["sold"] == 0, found
    assert database.rows("SELECT COUNT(*) FROM orders")[0][0] == rows, "the database saw refusals"


def prepare_peer(database):
    for line in PEER_TABLES.strip().split(";\n"):
        database.rows(line)


def pgbench(figures, database, where, seconds, name, script):
    path = where / "script.sql"
    path.write_text(script)
    printed = subprocess.run(
        [PGBENCH, "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", "-T", str(round(seconds)), "-f", path,
         database.url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
    figures.add(name, float(re.search(r"tps = ([\d.]+)", printed)[1]))


def postgres(arguments, build, where):
    figures = Figures()
    with PostgresServer(max_connections="100", shared_buffers="128MB", autovacuum="on") as server:
        for number in range(arguments.rounds):
            database = Database("postgres", server, f"bench{number}")
            prepare_peer(database)
            database.rows(f"INSERT INTO peer_units SELECT generate_series(1, {UNITS}), NULL")
            database.rows("CREATE INDEX free ON peer_units (unit_id) WHERE order_id IS NULL")
            pgbench(figures, database, where, arguments.seconds, "by hand: insert and update, 50 clients", HAND_WRITTEN)
            pgbench(figures, database, where, arguments.seconds, "by hand: a row per unit, SKIP LOCKED, 50 clients", SKIP_LOCKED)
            ours(figures, build, database, fresh(where), arguments.seconds, "STOCK.BUY")
    print("### PostgreSQL\n")
    figures.table("by hand: insert and update, 50 clients")


def mariadb(arguments, build, where):
    figures = Figures()
    with MariaDBServer(max_connections="100", innodb_buffer_pool_size="128M") as server:
        for number in range(arguments.rounds):
            database = Database("mariadb", server, f"bench{number}")
            prepare_peer(database)
            figures.add("by hand: insert and update, 50 clients", slap(server, database, arguments.seconds))
            ours(figures, build, database, fresh(where), arguments.seconds, "STOCK.BUY")
    print("### MariaDB\n")
    figures.table("by hand: insert and update, 50 clients")


def slap(server, database, seconds):
    """mariadb-slap has no duration: so many transactions as about fill it, from a first short run."""
    count = 2000
    for _ in range(2):
        start = time.monotonic()
        subprocess.run(["mariadb-slap", "--no-defaults", f"--socket={server.socket}", "-uroot", "--no-drop", f"--create-schema={database.name}",
                        f"--concurrency={CLIENTS}", f"--number-of-queries={count * 4}",
                        "--delimiter=;", f"--query={MARIADB_HAND_WRITTEN}"],
                       stdout=subprocess.DEVNULL, check=True)
        took = time.monotonic() - start
        rate, count = count / took, max(2000, int(count / took * seconds))
    return rate


def sqlite(arguments, build, where):
    figures = Figures()
    files = SqliteFiles(where)
    for number in range(arguments.rounds):
        folder = fresh(where)
        figures.add("by hand: insert and update, one transaction each", one_by_one(folder, arguments.seconds))
        ours(figures, build, Database("sqlite", files, f"bench{number}"), folder, arguments.seconds, "STOCK.BUY")
    print("### SQLite\n")
    figures.table("by hand: insert and update, one transaction each")


def one_by_one(folder, seconds):
    """A program of its own with synchronous=FULL, which is what SQLite allows: one writer."""
    import sqlite3
    connection = sqlite3.connect(folder / "peer.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(PEER_TABLES)
    count, start = 0, time.monotonic()
    while time.monotonic() < start + seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO peer_orders VALUES (?, 'hot', 'ann', 1, 0)", (f"o-{count}",))
        connection.execute("UPDATE peer_stock SET stock = stock - 1 WHERE product_id = 'hot' AND stock >= 1")
        connection.execute("COMMIT")
        count += 1
    connection.close()
    return count / (time.monotonic() - start)


def fresh(where):
    return Path(tempfile.mkdtemp(dir=where))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="postgres,mariadb,sqlite")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    where = Path(tempfile.mkdtemp(prefix="ledger-", dir=build))
    try:
        for name in arguments.only.split(","):
            {"postgres": postgres, "mariadb": mariadb, "sqlite": sqlite}[name](arguments, build, where)
    finally:
        shutil.rmtree(where, ignore_errors=True)


if __name__ == "__main__":
    main()
