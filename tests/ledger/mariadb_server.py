# SPDX-License-Identifier: Apache-2.0
"""A real MariaDB server of a test's own: a free port, a temporary directory, ended by its pid.

    with MariaDBServer() as server:
        server.create_database("shop")
        server.connect("shop").cursor().execute("SELECT 1")

Its system tables are made once, at the first server of a test run, and copied for each server.
Buffers are small, so that it starts in about a second; what is committed is on disk (the default
innodb_flush_log_at_trx_commit=1), so that kill() is a crash that loses nothing.
"""

import atexit
import functools
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pymysql

PATIENCE_S = 60
FIRST_PORT, LAST_PORT = 12_000, 32_000  # below what outgoing connections are given
BUSY = "Address already in use"
USER, PASSWORD = "holdfast", "p@ss:/word"  # which a URL has to escape
URL_PASSWORD = "p%40ss%3A%2Fword"

# The log's size must be the same as when the system tables were made.
STORAGE = {"innodb-log-file-size": "32M", "innodb-data-file-path": "ibdata1:10M:autoextend"}
SMALL = {"innodb-buffer-pool-size": "128M", "key-buffer-size": "1M", "aria-pagecache-buffer-size": "1M",
         "performance-schema": "OFF", "max-connections": "64", "thread-cache-size": "8",
         "innodb-buffer-pool-dump-at-shutdown": "OFF", "innodb-buffer-pool-load-at-startup": "OFF"}


def wait_until(condition, what, timeout_s=PATIENCE_S):
    """Asks again and again until the answer is true, and gives it; fails when that never comes."""
    end = time.monotonic() + timeout_s
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"{what}: not within {timeout_s} s"
        time.sleep(0.01)


def free_port():
    while True:
        port = random.SystemRandom().randrange(FIRST_PORT, LAST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


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
         "--auth-root-authentication-method=normal", "--skip-test-db", *settings(STORAGE)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert made.returncode == 0, made.stdout
    return path / "data"


class MariaDBServer:
    """One mariadbd. Options are its settings, with _ for -; `with` ends it."""

    def __init__(self, *, start=True, **options):
        self.options = options
        self.directory = own_directory("holdfast-mariadb-")
        self.socket = self.directory / "socket"
        self.port = free_port()
        self.fixed_port = False
        self.process = None
        self.frozen = False
        subprocess.run(["cp", "-a", system_tables(), self.directory / "data"], check=True)
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return f"mariadbd 127.0.0.1:{self.port}"

    # ---- its life

    def start(self):
        """Starts it and waits until it answers, on another port if this one was taken meanwhile."""
        assert self.process is None, f"{self} is running"
        try:
            while not self._start_once():
                self.port = free_port()
        except BaseException:
            self.close()
            raise
        self.fixed_port = True  # a restart() keeps it
        self._ensure_user()
        return self

    def _start_once(self):
        log = self.directory / "log"
        before = log.stat().st_size if log.exists() else 0
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                ["mariadbd", "--no-defaults", f"--user={account()}", f"--datadir={self.directory}/data",
                 f"--socket={self.socket}", "--bind-address=127.0.0.1", f"--port={self.port}",
                 "--skip-name-resolve", *settings(STORAGE, SMALL, self.options)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=self.directory)
        if wait_until(self._ready_or_ended, f"{self} answers") == "ready":
            return True
        said = log.read_text(errors="replace")[before:]
        code = self._end(signal.SIGKILL)
        assert BUSY in said and not self.fixed_port, f"{self} ended with {code}:\n{said}"
        return False

    def _ready_or_ended(self):
        if self.process.poll() is not None:
            return "ended"
        try:
            self._connect_as_root().close()
        except pymysql.MySQLError:
            return None
        return "ready"

    def _connect_as_root(self):
        return pymysql.connect(unix_socket=str(self.socket), user="root", connect_timeout=PATIENCE_S)

    def _ensure_user(self):
        with self._connect_as_root() as root, root.cursor() as cursor:
            cursor.execute("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (USER, PASSWORD))
            cursor.execute("GRANT ALL ON *.* TO %s@'%%' WITH GRANT OPTION", (USER,))

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        """SIGTERM: it goes in good order. Gives the exit code."""
        return self._end(signal.SIGTERM)

    def kill(self):
        """SIGKILL: as a crash. Gives the exit code."""
        return self._end(signal.SIGKILL)

    def restart(self, how="stop"):
        """Down and up again, on the same port and directory."""
        getattr(self, how)()
        return self.start()

    def freeze(self):
        """SIGSTOP: it is there and does not answer."""
        self.process.send_signal(signal.SIGSTOP)
        self.frozen = True
        stat = Path(f"/proc/{self.process.pid}/stat")
        wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", f"{self} stops")

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)
        self.frozen = False

    def _end(self, number):
        if self.process is None:
            return None
        process, self.process = self.process, None
        if process.poll() is None:
            process.send_signal(number)
            if self.frozen:
                process.send_signal(signal.SIGCONT)
        self.frozen = False
        try:
            return process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def close(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

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
