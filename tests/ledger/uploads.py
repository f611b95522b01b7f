# SPDX-License-Identifier: Apache-2.0
"""Uploads of many tenants into a table of files, by clients that keep a server's quota with them:
reserve with a hold, write the row, commit the real size."""

import threading

import redis

TENANTS = [f"tenant-{i}" for i in range(20)]
PLENTY = 10**12
TOGETHER = 50  # uploads that a client has in flight at a time
SIZE_HELD, SIZE_REAL = 30, 20


def make_files(database):
    """The table of the default query. Names of tenants are told apart to the byte."""
    name = {"mariadb": "VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "postgres": "VARCHAR(200)"}.get(database.kind, "TEXT")
    size = "" if database.kind == "sqlite" else "DECIMAL(40, 3)"
    engine = " ENGINE=InnoDB" if database.kind == "mariadb" else ""
    database.execute("CREATE TABLE files (name VARCHAR(64) PRIMARY KEY, "
                     f"tenant_id {name}, size {size}, status VARCHAR(16)){engine}")


def add_files(database, rows):
    """(name, tenant, size) each, in as few transactions as a client can."""
    mark = "?" if database.kind == "sqlite" else "%s"
    connection = database.server.connect(database.name)
    cursor = connection.cursor()
    for first in range(0, len(rows), 500):
        some = rows[first:first + 500]
        cursor.execute(
            "INSERT INTO files (name, tenant_id, size, status) VALUES "
            + ", ".join([f"({mark}, {mark}, {mark}, 'AVAILABLE')"] * len(some)),
            [value for row in some for value in row])
    connection.commit()
    connection.close()


def sums(database):
    """{tenant: what its files take}"""
    rows = database.execute("SELECT tenant_id, SUM(size) FROM files GROUP BY tenant_id")
    return {tenant: int(total) for tenant, total in rows}


def pipelined(client, commands):
    pipe = client.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
    return pipe.execute()


def usage(client, tenants):
    """{tenant: used}"""
    answers = pipelined(client, [("QUOTA.GET", tenant) for tenant in tenants])
    return {tenant: used for tenant, (used, _, _) in zip(tenants, answers)}


class Uploader(threading.Thread):
    """Uploads until it has done its share and `enough` says so. What went wrong is in `problem`."""

    def __init__(self, server, database, number, share, enough):
        super().__init__(daemon=True)
        self.client = redis.Redis(port=server.resp_port, socket_timeout=60)
        self.database, self.number, self.share, self.enough = database, number, share, enough
        self.done, self.problem = 0, None

    def run(self):
        try:
            while self.done < self.share or not self.enough():
                self.upload_some()
        except Exception as problem:  # told by whoever waits for it
            self.problem = problem

    def upload_some(self):
        files = [(f"{self.number}-{self.done + i}", TENANTS[(self.done + i) % len(TENANTS)])
                 for i in range(TOGETHER)]
        answers = pipelined(self.client, [
            ("QUOTA.RESERVE", tenant, SIZE_HELD, "HOLD", name) for name, tenant in files])
        assert {answer[0] for answer in answers} == {1}, answers
        add_files(self.database, [(name, tenant, SIZE_REAL) for name, tenant in files])
        answers = pipelined(self.client, [
            ("QUOTA.COMMIT", tenant, name, "AMOUNT", SIZE_REAL) for name, tenant in files])
        assert {answer[0] for answer in answers} == {1}, answers
        self.done += TOGETHER
