# SPDX-License-Identifier: Apache-2.0
"""The servers that are measured: ours, Redis or Valkey, pogocache and nginx. Each has a free port, a directory of its
own, is waited for until it answers, and is ended by its pid."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "tests" / "e2e"))
sys.path.append(str(BENCH.parent / "tests" / "redis"))

from server import Connection, Error, Opened, Server, wait_until  # noqa: E402, F401

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SEATS = 2 ** 53 - 1
TTL_S = 600


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def with_children(pid):
    """nginx works in a child."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def cpu_seconds(pid):
    """Processor time of the process and its children, user and system."""
    total = 0
    for each in with_children(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a child that just ended
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def resident_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


class Holdfast:
    """Ours, with a zone that is never full, or with seats=0 always; on Redis, if so told."""

    def __init__(self, program, where, durable=False, seats=SEATS, engine=None):
        flags = ["--fsync", "always"] if durable else []
        flags += ["--engine", engine] if engine else []
        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-", dir=where))
        self.server = Server(*flags, directory=self.directory / "data", memory=not durable,
                             program=program)
        self.port, self.http_port, self.pid = (
            self.server.resp_port, self.server.http_port, self.server.pid)
        assert self.server.call("SEATS.OPEN", "gala", "floor", seats)[0] == 1

    def outcomes(self):
        """How many commands had each outcome since the start: {(command, outcome): number}."""
        found = {}
        for line in self.server.call("METRICS").splitlines():
            if line.startswith("holdfast_commands_total{"):
                labels, _, number = line.partition("{")[2].partition("} ")
                command, outcome = [label.split('"')[1] for label in labels.split(",")]
                found[command, outcome] = int(number)
        return found

    def state_bytes(self):
        info = dict(line.split(":", 1) for line in self.server.call("INFO").split("\r\n")
                    if ":" in line)
        return int(info["memory_bytes"])

    def close(self):
        self.server.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Program:
    """Another server, started by a command line."""

    def __init__(self, command, directory, port):
        self.directory, self.port = directory, port
        self.log = open(directory / "log", "wb")
        self.process = subprocess.Popen([str(word) for word in command], cwd=directory,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.pid = self.process.pid
        try:
            wait_until(self.is_listening, f"{command[0]} on port {port}", timeout=30)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def is_listening(self):
        assert self.process.poll() is None, (self.directory / "log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        except OSError:
            return False

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Redis(Program):
    """With the usual script loaded, and a zone as above."""

    def __init__(self, where, durable=False, seats=SEATS, program="redis-server", prefix=()):
        """`prefix` runs it all, as valgrind does."""
        directory = Path(tempfile.mkdtemp(prefix="redis-", dir=where))
        port = free_port()
        # No snapshot and no rewrite of the log is to begin in the middle of a run.
        super().__init__(
            [*prefix, program, "--port", port, "--bind", "127.0.0.1", "--dir", directory,
             "--save", "", "--appendonly", "yes" if durable else "no", "--appendfsync", "always",
             "--auto-aof-rewrite-percentage", "0", "--daemonize", "no"], directory, port)
        self.sha = self.load(BENCH / "reserve_usual.lua")
        assert self.call("SET", "zone:availability:floor", seats) == "OK"

    def call(self, *words):
        with Connection(self.port) as connection:
            return connection.call(*words)

    def load(self, script, first=""):
        """Loads a script, with what it is to do first, and gives its name for EVALSHA."""
        return self.call("SCRIPT", "LOAD", first + script.read_text())

    def load_function(self, script, first=""):
        """Loads a script as a function, from Redis 7 on, and gives its name for FCALL."""
        name = script.stem
        answer = self.call("FUNCTION", "LOAD", f"#!lua name={name}\nredis.register_function('{name}', "
                           f"function(KEYS, ARGV)\n{first}{script.read_text()}\nend)\n")
        assert not isinstance(answer, Error), answer
        return name

    def used_bytes(self):
        info = self.call("INFO", "memory")
        return int(info.partition("used_memory:")[2].split()[0])


class Pogocache(Program):
    """A cache that speaks Redis' protocol, on one thread."""

    def __init__(self, where, program):
        directory = Path(tempfile.mkdtemp(prefix="pogocache-", dir=where))
        port = free_port()
        super().__init__([program, "-h", "127.0.0.1", "-p", port, "--threads", "1"], directory,
                         port)


class Nginx(Program):
    """One worker that answers everything with a body of the size of ours."""

    CONFIGURATION = """
        daemon off;
        worker_processes 1;
        pid {directory}/pid;
        events {{ worker_connections 1024; }}
        http {{
            access_log off;
            keepalive_requests 1000000000;
            keepalive_timeout 3600s;
            client_body_temp_path {directory}/a;
            proxy_temp_path {directory}/b;
            fastcgi_temp_path {directory}/c;
            uwsgi_temp_path {directory}/d;
            scgi_temp_path {directory}/e;
            server {{
                listen 127.0.0.1:{port};
                location / {{
                    default_type application/json;
                    return 200 '{body}';
                }}
            }}
        }}
        """
    BODY = ('{"booking_id":"00000000-0000-4000-8000-000000000000","status":"reserved",'
            '"remaining":1000000000,"user_reserved":1,"expires_at":1900000000000}')

    def __init__(self, where):
        directory = Path(tempfile.mkdtemp(prefix="nginx-", dir=where))
        port = free_port()
        (directory / "conf").write_text(
            self.CONFIGURATION.format(directory=directory, port=port, body=self.BODY))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        super().__init__([program, "-e", directory / "log", "-p", directory, "-c",
                          directory / "conf"], directory, port)
        self.http_port = port
