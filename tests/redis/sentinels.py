# SPDX-License-Identifier: Apache-2.0
"""A real master with its replicas, watched by real Sentinels."""

from servers import Group, RedisServer, wait_until


class SentinelProcess(RedisServer):
    """One Sentinel. It keeps what it learns in its configuration file.

    `login` are a user and a password for this end's own client, if it wants some.
    """

    def __init__(self, lines, tls=None, login=None):
        super().__init__(start=False, tls=tls)
        self.options = {}
        self.lines = lines
        self.login = dict(zip(("username", "password"), login)) if login else {}

    def command(self):
        path = self.directory / "sentinel.conf"
        if not path.exists():
            listening = [f"{name} {value}" for name, value in self.listening().items()]
            lines = [*listening, "bind 127.0.0.1", f"dir {self.directory}", *self.lines]
            path.write_text("\n".join(lines) + "\n")
        port = "--tls-port" if self.tls else "--port"
        return [self.program, str(path), port, str(self.port), "--sentinel"]

    def client(self, **more):
        return super().client(decode_responses=True, **{**self.login, **more})


class Sentinels(Group):
    """A master, replicas, and Sentinels that agree on who is who.

        with Sentinels() as group:
            old = group.master
            old.kill()
            new = group.wait_failover(old)

    `options` are settings for master and replicas, `sentinel_lines` for the Sentinels; `login` is
    whom the tests are at them.
    """

    def __init__(self, replicas=2, sentinels=3, quorum=2, down_after_ms=500,
                 failover_timeout_ms=3000, name="mymaster", sentinel_lines=(), login=None,
                 tls=None, **options):
        super().__init__()
        self.name = name
        self.tls = tls
        self.servers, self.sentinels = [], []
        try:
            self._start_servers(replicas, {"tls": tls, **options})
            lines = [f"sentinel monitor {name} 127.0.0.1 {self.servers[0].port} {quorum}",
                     f"sentinel down-after-milliseconds {name} {down_after_ms}",
                     f"sentinel failover-timeout {name} {failover_timeout_ms}",
                     f"sentinel parallel-syncs {name} 1", *sentinel_lines]
            self.sentinels = [SentinelProcess(lines, tls, login) for _ in range(sentinels)]
            self.launch(self.sentinels)
            self.wait_ok()
        except BaseException:
            self.close()
            raise

    def _start_servers(self, replicas, options):
        master = RedisServer(start=False, **options)
        self.launch([master])
        followers = [RedisServer(start=False, replicaof=f"127.0.0.1 {master.port}", **options)
                     for _ in range(replicas)]
        self.servers = [master, *followers]
        self.launch(followers)

    # ---- what it looks like now

    @property
    def master(self):
        """The one the Sentinels name, or None while they do not agree."""
        named = {self._named_by(sentinel) for sentinel in self.sentinels if sentinel.running}
        if len(named) != 1:
            return None
        (port,) = named
        return next((server for server in self.servers if server.port == port), None)

    def _named_by(self, sentinel):
        answer = sentinel.client().execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)
        return int(answer[1]) if answer else None

    @property
    def replicas(self):
        master = self.master
        return [server for server in self.servers if server.running and server is not master]

    @property
    def url(self):
        scheme = "rediss+sentinel" if self.tls else "redis+sentinel"
        return f"{scheme}://{','.join(s.address for s in self.sentinels)}/{self.name}"

    # ---- waiting

    def wait_ok(self):
        """All Sentinels know one another and every server, and the replicas are in step."""
        for sentinel in self.sentinels:
            wait_until(lambda: self._complete(sentinel), f"{sentinel} knows all")
        self._wait_linked()
        return self

    def _complete(self, sentinel):
        flat = sentinel.client().execute_command("SENTINEL", "MASTER", self.name)
        state = flat if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2]))
        return (str(state["flags"]) == "master"
                and int(state["num-slaves"]) >= len(self.servers) - 1
                and int(state["num-other-sentinels"]) == len(self.sentinels) - 1)

    def wait_failover(self, old):
        """Waits until all Sentinels name another master and it takes writes; gives it."""
        def another():
            master = self.master
            return master if master not in (None, old) and role(master) == "master" else None
        master = wait_until(another, f"a failover from {old}")
        self._wait_linked()
        return master

    def _wait_linked(self):
        """Every replica that runs follows the one master."""
        def follows(server, master):
            state = server.client().info("replication")
            return (state["role"] == "slave" and int(state["master_port"]) == master.port
                    and state["master_link_status"] == "up")
        wait_until(lambda: self.master, "a master")
        for server in self.servers:
            if server.running:
                wait_until(lambda: server is self.master or follows(server, self.master),
                           f"{server} follows")


def role(server):
    return server.client().info("replication")["role"]
