# SPDX-License-Identifier: Apache-2.0
"""A database of one test: in a file, or on a server that the tests of a run share."""

import re
import sqlite3
import tempfile
from pathlib import Path


class SqliteFiles:
    """Files in a directory, with what the servers can be asked for."""

    def __init__(self, where=None):
        self.directory = tempfile.TemporaryDirectory(prefix="holdfast-sqlite-", dir=where)

    def url(self, database):
        return f"sqlite:{self.path(database)}"

    def path(self, database):
        return Path(self.directory.name) / f"{database}.db"

    def connect(self, database):
        return sqlite3.connect(self.path(database), isolation_level=None, timeout=60)

    def create_database(self, name):
        for path in Path(self.directory.name).glob(f"{name}.db*"):
            path.unlink()
        return name

    def close(self):
        self.directory.cleanup()


class Database:
    """An empty database on a server of one kind."""

    def __init__(self, kind, server, name):
        self.kind, self.server, self.name = kind, server, server.create_database(name)

    @property
    def url(self):
        return self.server.url(self.name)

    def url_through(self, proxy):
        """The same by way of a proxy in front of the server's port."""
        return self.url_by(proxy.port)

    def url_by(self, port, password=None):
        """The same by another port, and perhaps another password."""
        url = re.sub(r":\d+/", f":{port}/", self.url, count=1)
        return url if password is None else re.sub(r"//[^@]*@", f"//holdfast:{password}@", url)

    def execute(self, statement, *values):
        """Runs one statement by another client than ours; gives its rows."""
        connection = self.server.connect(self.name)
        try:
            cursor = connection.cursor()
            cursor.execute(statement, *([values] if values else []))
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            connection.close()

    def rows(self, statement, *values):
        """The same with a ? for each value, whatever the client's own form is."""
        if self.kind != "sqlite" and values:
            statement = statement.replace("%", "%%").replace("?", "%s")
        return self.execute(statement, *values)


def database_of(kind, started):
    """A database of its own on the server of that kind that all tests share."""
    return Database(kind, started(kind), "exercise")
