# SPDX-License-Identifier: Apache-2.0
"""Real Redis servers of a test's own: free ports, temporary directories, ended by their pids.

    with RedisServer(maxmemory="3mb") as server:          # --maxmemory 3mb
        server.client().set("a", 1)

RedisServer is one of them; RedisCluster and Sentinels (in their own files) put several together.
A program other than redis-server, such as valkey-server, can be named by HOLDFAST_REDIS_SERVER; its
client of the command line is the one beside it (command_line_client).
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import redis

PATIENCE_S = 30
BUS_OFFSET = 10_000  # where the nodes of a cluster talk to each other
FIRST_PORT, LAST_PORT = 12_000, 22_000  # with those, below what outgoing connections are given
BUSY = "Address already in use"

# Nothing on disk unless a test asks for it, and a replica is served at once.
DEFAULTS = {"bind": "127.0.0.1", "save": "", "appendonly": "no", "repl_diskless_sync": "yes",
            "repl_diskless_sync_delay": "0", "daemonize": "no"}


def wait_until(condition, what, timeout_s=PATIENCE_S):
    """Asks again and again until the answer is true, and gives it; fails when that never comes.

    A server that cannot be reached, or not yet, counts as no.
    """
    end = time.monotonic() + timeout_s
    while True:
        try:
            answer = condition()
        except redis.RedisError as error:
            answer, what = None, f"{what.split(' (')[0]} ({error})"
        if answer:
            return answer
        assert time.monotonic() < end, f"{what}: not within {timeout_s} s"
        time.sleep(0.01)


def free_port():
    """A port that nobody uses now, nor the one where a cluster's node would talk to the others."""
    while True:
        port = random.SystemRandom().randrange(FIRST_PORT, LAST_PORT)
        try:
            for number in (port, port + BUS_OFFSET):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
        except OSError:
            continue
        return port


def server_program():
    return os.environ.get("HOLDFAST_REDIS_SERVER") or "redis-server"


def command_line_client():
    """redis-cli, or what the server's own is called: /opt/valkey-server has /opt/valkey-cli."""
    path, _, name = server_program().rpartition("/")
    client = name.replace("-server", "-cli")
    return f"{path}/{client}" if path else client


class Tls:
    """What a server needs to speak TLS: whom to trust, its certificate and the key of that."""

    def __init__(self, ca, cert, key):
        self.ca, self.cert, self.key = ca, cert, key

    def settings(self, port):
        """The server's, of which the last two are for those that belong together."""
        return {"port": 0, "tls-port": port, "tls-ca-cert-file": self.ca,
                "tls-cert-file": self.cert, "tls-key-file": self.key, "tls-auth-clients": "no",
                "tls-replication": "yes", "tls-cluster": "yes"}

    def for_client(self):
        return {"ssl": True, "ssl_ca_certs": str(self.ca), "ssl_certfile": str(self.cert),
                "ssl_keyfile": str(self.key)}


class RedisServer:
    """One redis-server. Options are its settings, with _ for -; `with` ends it.

    start=False leaves it to the caller to launch() and wait_ready(): many come up faster together.
    With `tls` it speaks nothing else.
    """

    def __init__(self, *, program=None, port=None, env=None, start=True, tls=None, **options):
        self.program = program or server_program()
        self.options = {**DEFAULTS, **options}
        self.tls = tls
        self.env = env or {}
        self.directory = Path(tempfile.mkdtemp(prefix="holdfast-redis-"))
        self.fixed_port = port is not None
        self.port = port or free_port()
        self.process = None
        self.paused = False
        self.clients = []
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return f"{self.program} 127.0.0.1:{self.port}"

    # ---- its life

    def command(self):
        words = [self.program, "--dir", str(self.directory)]
        for name, value in {**self.listening(), **self.options}.items():
            words += ["--" + name.replace("_", "-"), *str(value).split(" ")]
        return words

    def listening(self):
        return self.tls.settings(self.port) if self.tls else {"port": self.port}

    def launch(self):
        """Starts the process, without waiting until it answers."""
        assert self.process is None, f"{self} is running"
        self.log = open(self.directory / "log", "ab")
        self.log_start = self.log.tell()
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            cwd=self.directory, env={**os.environ, **self.env})

    def wait_ready(self):
        """Waits until it answers PING, on another port if somebody was faster to take this one."""
        while not wait_until(self._ready_or_ended, f"{self} answers") == "ready":
            said = self.said(self.log_start)
            code = self._end(signal.SIGKILL)
            if BUSY not in said or self.fixed_port:
                raise AssertionError(f"{self} ended with {code}:\n{said}")
            self.port = free_port()
            self.launch()
        self.fixed_port = True  # a restart() keeps it
        return self

    def start(self):
        self.launch()
        try:
            return self.wait_ready()
        except BaseException:
            self.close()
            raise

    def _ready_or_ended(self):
        if self.process.poll() is not None:
            return "ended"
        return self.client().ping() and "ready"

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

    def pause(self):
        """SIGSTOP: it is there and does not answer."""
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True
        stat = Path(f"/proc/{self.process.pid}/stat")
        wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", f"{self} stops")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def _end(self, number):
        if self.process is None:
            return None
        for client in self.clients:
            client.connection_pool.disconnect()
        self.clients.clear()
        process, self.process = self.process, None
        if process.poll() is None:
            process.send_signal(number)
            if self.paused:
                process.send_signal(signal.SIGCONT)
        self.paused = False
        try:
            return process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            self.log.close()

    def close(self):
        """Ends it, if it still runs, and takes its directory away."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- talking to it

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        password = self.options.get("requirepass")
        scheme = "rediss" if self.tls else "redis"
        return f"{scheme}://{f':{password}@' if password else ''}{self.address}"

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        """Started, not ended, and not paused."""
        return self.process is not None and self.process.poll() is None and not self.paused

    def client(self, **more):
        """redis-py's client. Without arguments always the same one; it ends with the server."""
        if not more and self.clients:
            return self.clients[0]
        settings = {"socket_timeout": PATIENCE_S, "password": self.options.get("requirepass"),
                    **(self.tls.for_client() if self.tls else {}), **more}
        client = redis.Redis("127.0.0.1", self.port, **settings)
        if more:
            self.clients.append(client)
        else:
            self.clients.insert(0, client)
        return client

    def said(self, start=0):
        """Its log, from a position on."""
        with open(self.directory / "log", "rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")


class Group:
    """Servers that belong together: launched at once, ended with the `with` block."""

    def __init__(self):
        self.members = []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def launch(self, servers):
        """Brings servers up side by side, each made with start=False, and takes them in."""
        self.members += servers
        for server in servers:
            server.launch()
        for server in servers:
            server.wait_ready()

    def close(self):
        for server in reversed(self.members):
            server.close()
