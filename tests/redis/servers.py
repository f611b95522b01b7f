# SPDX-License-Identifier: Apache-2.0
"""Real Redis servers of a test's own: free ports, temporary directories, ended by their pids.

    with RedisServer(maxmemory="3mb") as server:          # --maxmemory 3mb
        server.client().set("a", 1)

RedisServer is one of them; RedisCluster and Sentinels (in their own files) put several together.
A program other than redis-server, such as valkey-server, can be named by HOLDFAST_REDIS_SERVER; its
client of the command line is the one beside it (command_line_client).
"""

import os
import tempfile

import redis

import own_server
from own_server import PortServer, free_port  # noqa: F401

PATIENCE_S = 30

# Nothing on disk unless a test asks for it, and a replica is served at once.
DEFAULTS = {"bind": "127.0.0.1", "save": "", "appendonly": "no", "repl_diskless_sync": "yes",
            "repl_diskless_sync_delay": "0", "daemonize": "no"}


def wait_until(condition, what, timeout=PATIENCE_S):
    """As everywhere; a Redis that cannot be reached, or not yet, counts as no."""
    return own_server.wait_until(condition, what, timeout, not_yet=redis.RedisError)


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


class RedisServer(PortServer):
    """One redis-server. Options are its settings, with _ for -; `with` ends it.

    start=False leaves it to the caller to launch() and wait_ready(): many come up faster together.
    With `tls` it speaks nothing else.
    """

    def __init__(self, *, program=None, port=None, env=None, start=True, tls=None, **options):
        self.program = program or server_program()
        self.options = {**DEFAULTS, **options}
        self.tls = tls
        self.env = env or {}
        super().__init__(tempfile.mkdtemp(prefix="holdfast-redis-"), port)
        self.clients = []
        if start:
            self.start()

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

    def started_as(self):
        return {"env": {**os.environ, **self.env}}

    def is_ready(self):
        try:
            return self.client().ping()
        except redis.RedisError:
            return False

    def _end(self, number):
        for client in self.clients:
            client.connection_pool.disconnect()
        self.clients.clear()
        return super()._end(number)

    # ---- talking to it

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def url(self):
        password = self.options.get("requirepass")
        scheme = "rediss" if self.tls else "redis"
        return f"{scheme}://{f':{password}@' if password else ''}{self.address}"

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
