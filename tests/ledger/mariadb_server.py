# SPDX-License-Identifier: Apache-2.0
"""A real MariaDB server of a test's own: a free port, a temporary directory, ended by its pid.

    with MariaDBServer() as server:
        server.create_database("shop")
        server.connect("shop").cursor().execute("SELECT 1")

Its system tables are made once, at the first server of a test run, and copied for each server.
Buffers are small, so that it starts in about a second; what is committed is on disk (the default
innodb_flush_log_at_trx_commit=1), so that kill() is a crash that loses nothing. Its temporary tables are in
its own directory: one that starts removes those of all others that it finds beside its own.
"""

import atexit
import functools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pymysql

from own_server import PortServer

PATIENCE_S = 60
USER, PASSWORD = "holdfast", "p@ss:/word"  # which a URL has to escape
URL_PASSWORD = "p%40ss%3A%2Fword"

# The log's size must be the same as when the system tables were made.
STORAGE = {"innodb-log-file-size": "32M", "innodb-data-file-path": "ibdata1:10M:autoextend"}
SMALL = {"innodb-buffer-pool-size": "128M", "key-buffer-size": "1M", "aria-pagecache-buffer-size": "1M",
         "performance-schema": "OFF", "max-connections": "64", "thread-cache-size": "8",
         "innodb-buffer-pool-dump-at-shutdown": "OFF", "innodb-buffer-pool-load-at-startup": "OFF"}


def account():
    """Whom the server runs as: it refuses to be root's."""
    return "mysql" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name


def settings(*tables):
    return [f"--{name.replace('_', '-')}={value}" for table in tables for name, value in table.items()]


def own_directory(prefix):
    """A temporary directory that the server can write to."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    shutil.chown(path, account())
    return path


@functools.lru_cache(maxsize=None)
def system_tables():
    """The directory of a server that never ran, with the user that tests log in as."""
    path = own_directory("holdfast-mariadb-template-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    made = subprocess.run(
        ["mariadb-install-db", "--no-defaults", f"--user={account()}", f"--datadir={path / 'data'}",
         f"--tmpdir={path}", "--auth-root-authentication-method=normal", "--skip-test-db", *settings(STORAGE)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert made.returncode == 0, made.stdout
    return path / "data"


class MariaDBServer(PortServer):
    """One mariadbd. Options are its settings, with _ for -; `with` ends it."""

    def __init__(self, *, start=True, **options):
        self.options = options
        super().__init__(own_directory("holdfast-mariadb-"))
        self.socket = self.directory / "socket"
        subprocess.run(["cp", "-a", system_tables(), self.directory / "data"], check=True)
        if start:
            self.start()

    def __repr__(self):
        return f"mariadbd 127.0.0.1:{self.port}"

    # ---- its life

    def command(self):
        return ["mariadbd", "--no-defaults", f"--user={account()}", f"--datadir={self.directory}/data",
                f"--tmpdir={self.directory}", f"--socket={self.socket}", "--bind-address=127.0.0.1", f"--port={self.port}",
                "--skip-name-resolve", *settings(STORAGE, SMALL, self.options)]

    def is_ready(self):
        try:
            self._ensure_user()
        except pymysql.MySQLError:
            return False
        return True

    def _connect_as_root(self):
        return pymysql.connect(unix_socket=str(self.socket), user="root", connect_timeout=PATIENCE_S)

    def _ensure_user(self):
        with self._connect_as_root() as root, root.cursor() as cursor:
            cursor.execute("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (USER, PASSWORD))
            cursor.execute("GRANT ALL ON *.* TO %s@'%%' WITH GRANT OPTION", (USER,))

    # ---- what it holds

    def url(self, database=""):
        return f"mysql://{USER}:{URL_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def connect(self, database=None):
        """A connection on which each statement is its own transaction."""
        return pymysql.connect(host="127.0.0.1", port=self.port, user=USER, password=PASSWORD,
                               database=database, charset="utf8mb4", autocommit=True,
                               connect_timeout=PATIENCE_S)

    def create_database(self, name):
        """A new, empty one."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
            cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
        return name
