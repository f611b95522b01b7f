# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL of a test's own: a free port, a temporary directory, ended by its pids.

    with PostgresServer() as server:
        server.create_database("shop")
        server.connect("shop").cursor().execute("SELECT 1")

Its first directory is made by initdb once, at the first server of a test run, and copied for each
server. Durability is as PostgreSQL has it by default, so that kill() is a crash that loses nothing.
Each connection is served by a process of its own, so that to freeze or kill the server is to do
so to all of them. HOLDFAST_POSTGRES names another directory of programs than the newest of Debian's.
"""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg2

from servers import free_port, wait_until

PATIENCE_S = 60
BUSY = "Address already in use"
USER, PASSWORD = "holdfast", "p@ss:/word"  # which a URL has to escape
URL_PASSWORD = "p%40ss%3A%2Fword"
ACCOUNT = "postgres"  # the server refuses to be root's

SETTINGS = {"listen_addresses": "127.0.0.1", "shared_buffers": "32MB", "max_connections": "40",
            "logging_collector": "off", "autovacuum": "off", "lc_messages": "C"}


def program(name):
    """One of the server's programs, which Debian does not put on the PATH."""
    chosen = os.environ.get("HOLDFAST_POSTGRES")
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    folders = [chosen] if chosen else [str(path) for path in newest[-1:]]
    found = shutil.which(name, path=os.pathsep.join([*folders, os.environ["PATH"]]))
    assert found, f"there is no {name}: install postgresql"
    return found


def as_server():
    """Arguments of subprocess that make a process the server's user's, where root runs the tests."""
    return {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []} if os.getuid() == 0 else {}


def own_directory(prefix):
    """A temporary directory that the server can write to."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    if os.getuid() == 0:
        shutil.chown(path, ACCOUNT, ACCOUNT)
    return path


@functools.lru_cache(maxsize=None)
def first_directory():
    """The directory of a server that never ran, with the user that tests log in as."""
    path = own_directory("holdfast-postgres-template-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    (path / "password").write_text(PASSWORD)
    (path / "password").chmod(0o644)
    made = subprocess.run(
        [program("initdb"), "--no-sync", "--auth=scram-sha-256", f"--username={USER}",
         "--encoding=UTF8", "--locale=C.UTF-8", f"--pwfile={path / 'password'}", "-D", path / "data"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=path,
        **as_server())
    assert made.returncode == 0, made.stdout
    return path / "data"


def state_of(pid):
    """The letter of /proc; "" if there is no such process any more."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def children_of(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


class PostgresServer:
    """One PostgreSQL. Options are its settings; `with` ends it."""

    def __init__(self, *, start=True, **options):
        self.options = {**SETTINGS, **options}
        self.directory = own_directory("holdfast-postgres-")
        self.port = free_port()
        self.fixed_port = False
        self.process = None
        self.frozen = []
        subprocess.run(["cp", "-a", first_directory(), self.directory / "data"], check=True)
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return f"postgres 127.0.0.1:{self.port}"

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
        return self

    def _start_once(self):
        log = self.directory / "log"
        before = log.stat().st_size if log.exists() else 0
        words = [program("postgres"), "-D", self.directory / "data", "-p", str(self.port),
                 "-k", self.directory]
        for name, value in self.options.items():
            words += ["-c", f"{name}={value}"]
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                cwd=self.directory, **as_server())
        if wait_until(self._ready_or_ended, f"{self} answers", PATIENCE_S) == "ready":
            return True
        said = log.read_text(errors="replace")[before:]
        code = self._end(signal.SIGQUIT)
        assert BUSY in said and not self.fixed_port, f"{self} ended with {code}:\n{said}"
        return False

    def _ready_or_ended(self):
        if self.process.poll() is not None:
            return "ended"
        try:
            self.connect().close()
        except psycopg2.OperationalError:
            return None
        return "ready"

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        """In good order, but without waiting for clients to leave. Gives the exit code."""
        return self._end(signal.SIGINT)

    def kill(self):
        """SIGKILL to all of it: as a crash. Gives the exit code."""
        if self.process is None:
            return None
        self.freeze()
        for pid in self.frozen:
            os.kill(pid, signal.SIGKILL)
        pids, self.frozen = self.frozen, []
        process, self.process = self.process, None
        code = process.wait(PATIENCE_S)
        wait_until(lambda: all(state_of(pid) in "Z" for pid in pids), f"{self} is gone", PATIENCE_S)
        return code

    def restart(self, how="stop"):
        """Down and up again, on the same port and directory."""
        getattr(self, how)()
        return self.start()

    def freeze(self):
        """SIGSTOP to all of it: it is there and does not answer. The parent first, which could
        otherwise have another child."""
        for pids in ([self.process.pid], children_of(self.process.pid)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            wait_until(lambda pids=pids: all(state_of(pid) in "TZ" for pid in pids), f"{self} stops")
            self.frozen += pids

    def thaw(self):
        for pid in self.frozen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.frozen = []

    def _end(self, number):
        if self.process is None:
            return None
        process, self.process = self.process, None
        if process.poll() is None:
            process.send_signal(number)
        self.thaw()
        try:
            return process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def close(self):
        """Ends it at once, if it still runs, and takes its directory away. Unlike a crash, that
        gives its shared memory back."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- what it holds

    def url(self, database="postgres"):
        return f"postgres://{USER}:{URL_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def connect(self, database="postgres"):
        """A connection on which each statement is its own transaction."""
        connection = psycopg2.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname=database,
            connect_timeout=PATIENCE_S)
        connection.autocommit = True
        return connection

    def create_database(self, name):
        """A new, empty one. One that is there is emptied, which is quicker than to make another."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s",
                           (name,))
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
            if not cursor.fetchone():
                cursor.execute(f'CREATE DATABASE "{name}"')
        with contextlib.closing(self.connect(name)) as connection, connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        return name
