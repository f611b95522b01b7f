# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL of a test's own: a free port, a temporary directory, ended by its pids.

    with PostgresServer() as server:
        server.create_database("shop")
        server.connect("shop").cursor().execute("SELECT 1")

Its first directory is made by initdb once, at the first server of a test run, and copied for each
server. Durability is as PostgreSQL has it by default, so that kill() is a crash that loses nothing.
Each connection is served by a process of its own, so that to pause or kill the server is to do
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

from own_server import PortServer, state_of, wait_until

PATIENCE_S = 60
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


def children_of(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


class PostgresServer(PortServer):
    """One PostgreSQL. Options are its settings; `with` ends it."""

    STOP = signal.SIGINT  # without waiting for clients to leave

    def __init__(self, *, start=True, **options):
        self.options = {**SETTINGS, **options}
        super().__init__(own_directory("holdfast-postgres-"))
        self.stopped = []  # the pids of those that are paused
        subprocess.run(["cp", "-a", first_directory(), self.directory / "data"], check=True)
        if start:
            self.start()

    def __repr__(self):
        return f"postgres 127.0.0.1:{self.port}"

    # ---- its life

    def command(self):
        words = [program("postgres"), "-D", self.directory / "data", "-p", self.port, "-k", self.directory]
        for name, value in self.options.items():
            words += ["-c", f"{name}={value}"]
        return words

    def started_as(self):
        return as_server()

    def is_ready(self):
        try:
            self.connect().close()
        except psycopg2.OperationalError:
            return False
        return True

    def kill(self):
        """SIGKILL to all of it: as a crash. Gives the exit code."""
        if self.process is None:
            return None
        self.pause()
        pids, self.stopped = self.stopped, []
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        code = self._end(signal.SIGKILL)
        wait_until(lambda: all(state_of(pid) in "Z" for pid in pids), f"{self} is gone")
        return code

    def pause(self):
        """SIGSTOP to all of it: it is there and does not answer. The parent first, which could
        otherwise have another child."""
        for pids in ([self.pid], children_of(self.pid)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            wait_until(lambda pids=pids: all(state_of(pid) in "TZ" for pid in pids), f"{self} stops")
            self.stopped += pids
        self.paused = True

    def resume(self):
        for pid in self.stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.stopped, self.paused = [], False

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
