# SPDX-License-Identifier: Apache-2.0
"""A checkout as teams write it by hand in Python, on Redis and PostgreSQL: the usual reserve script, a
saga whose state is in the database before each step, a payment that always succeeds and costs nothing,
a confirmation guarded by a conditional update, and a row for whoever sends the mail.

Workers are processes with a connection to each of the two, and do one checkout after the other."""

import multiprocessing
import resource
import time

import psycopg2
import redis

from peers import BENCH

TABLES = """
CREATE TABLE peer_zones (zone_id VARCHAR(128) PRIMARY KEY, capacity BIGINT NOT NULL, sold BIGINT NOT NULL);
CREATE TABLE peer_sagas (saga_id VARCHAR(128) PRIMARY KEY, booking_id VARCHAR(128) NOT NULL,
    user_id VARCHAR(128) NOT NULL, state VARCHAR(16) NOT NULL, payment_id VARCHAR(128), updated_at TIMESTAMPTZ);
CREATE TABLE peer_bookings (booking_id VARCHAR(128) PRIMARY KEY, zone_id VARCHAR(128) NOT NULL,
    user_id VARCHAR(128) NOT NULL, quantity BIGINT NOT NULL, payment_id VARCHAR(128) NOT NULL);
CREATE TABLE peer_outbox (id BIGSERIAL PRIMARY KEY, booking_id VARCHAR(128) NOT NULL, kind VARCHAR(32) NOT NULL)
"""


class Checkout:
    """One worker."""

    def __init__(self, database_url, redis_port):
        self.sql = psycopg2.connect(database_url)
        self.redis = redis.Redis(port=redis_port)
        self.reserve = self.redis.register_script((BENCH / "reserve_usual.lua").read_text())

    def transaction(self, *statements):
        with self.sql, self.sql.cursor() as cursor:
            for statement, values in statements:
                cursor.execute(statement, values)
            return cursor.rowcount

    def move(self, saga, state):
        self.transaction(("UPDATE peer_sagas SET state = %s, updated_at = now() WHERE saga_id = %s", (state, saga)))

    def run(self, name, quantity=1):
        """True if it was completed, False if it was refused."""
        saga, booking, user, payment = f"s-{name}", f"b-{name}", f"u-{name}", f"p-{name}"
        self.transaction(("INSERT INTO peer_sagas VALUES (%s, %s, %s, 'STARTED', NULL, now())", (saga, booking, user)))
        count, hold = f"user:reservations:{user}:gala", f"reservation:{booking}"
        answer = self.reserve(["zone:availability:floor", count, hold],
                              [quantity, 4, user, booking, "floor", "gala", "", 4500, 600])
        if answer[0] != 1:
            self.move(saga, "COMPENSATED")
            return False
        self.transaction(("UPDATE peer_sagas SET state = 'PAYING', payment_id = %s, updated_at = now() "
                          "WHERE saga_id = %s", (payment, saga)))
        self.move(saga, "PAID")
        sold = self.transaction(
            ("INSERT INTO peer_bookings VALUES (%s, 'floor', %s, %s, %s)", (booking, user, quantity, payment)),
            ("INSERT INTO peer_outbox (booking_id, kind) VALUES (%s, 'booking.confirmed')", (booking,)),
            ("UPDATE peer_sagas SET state = 'COMPLETED', updated_at = now() WHERE saga_id = %s", (saga,)),
            ("UPDATE peer_zones SET sold = sold + %s WHERE zone_id = 'floor' AND sold + %s <= capacity",
             (quantity, quantity)))
        assert sold == 1
        pipe = self.redis.pipeline()
        pipe.hset(hold, mapping={"status": "confirmed", "payment_id": payment})
        pipe.persist(hold)
        pipe.decrby(count, quantity)
        pipe.execute()
        return True


def prepare(database, redis_port, seats):
    for line in TABLES.strip().split(";\n"):
        database.rows(line)
    database.rows("INSERT INTO peer_zones VALUES ('floor', ?, 0)", seats)
    client = redis.Redis(port=redis_port)
    client.flushall()
    client.set("zone:availability:floor", seats)


def work(number, database_url, redis_port, begin, seconds, total, results):
    checkout, latencies, completed, done = Checkout(database_url, redis_port), [], 0, 0
    begin.wait()
    start = time.monotonic()
    while done < total if total else time.monotonic() < start + seconds:
        before = time.monotonic()
        completed += checkout.run(f"{number}-{done}")
        latencies.append(time.monotonic() - before)
        done += 1
    results.put((time.monotonic() - start, completed, latencies, sum(resource.getrusage(resource.RUSAGE_SELF)[:2])))


def run(database_url, redis_port, workers, seconds=0, total=0):
    """Seconds, completed, latencies and processor time of all workers together."""
    context = multiprocessing.get_context("fork")
    begin, results = context.Barrier(workers), context.Queue()
    processes = [context.Process(target=work, args=(
        number, database_url, redis_port, begin, seconds, total // workers, results)) for number in range(workers)]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return (max(each[0] for each in found), sum(each[1] for each in found),
            sorted(latency for each in found for latency in each[2]), sum(each[3] for each in found))
