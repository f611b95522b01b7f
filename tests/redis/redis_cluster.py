# SPDX-License-Identifier: Apache-2.0
"""A real Redis cluster: masters that share the slots, each with its replicas."""

import redis
from redis.crc import key_slot

from servers import Group, RedisServer, wait_until

SLOTS = 16_384
CALM_MS = 15_000  # no failover because a busy machine was slow
HASTY_MS = 1_000  # for tests in which nodes die


class RedisCluster(Group):
    """Nodes in the order masters, then replicas: node m + i * masters replicates master m.

        with RedisCluster(node_timeout_ms=HASTY_MS) as cluster:
            cluster.masters[0].kill()
            cluster.wait_ok()                 # a replica has taken over

    `options` are settings for every node.
    """

    def __init__(self, masters=3, replicas=1, node_timeout_ms=CALM_MS, **options):
        super().__init__()
        self.master_count = masters
        settings = {"cluster_enabled": "yes", "cluster_node_timeout": node_timeout_ms,
                    "cluster_replica_validity_factor": 0, **options}
        try:
            self.launch([RedisServer(start=False, **settings)
                         for _ in range(masters * (1 + replicas))])
            self._share_slots()
            self._meet()
            self._replicate()
            self.wait_ok()
        except BaseException:
            self.close()
            raise

    # ---- putting it together

    def _share_slots(self):
        count = self.master_count
        for number, node in enumerate(self.members):
            node.client().execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < count:
                slots = range(SLOTS * number // count, SLOTS * (number + 1) // count)
                node.client().execute_command("CLUSTER", "ADDSLOTS", *slots)

    def _meet(self):
        """Everybody is introduced to everybody: waiting for gossip takes seconds."""
        for number, node in enumerate(self.members):
            for other in self.members[:number]:
                node.client().execute_command("CLUSTER", "MEET", "127.0.0.1", other.port)
        for node in self.members:
            wait_until(lambda: self._knows_all(node), f"{node} knows all nodes")

    def _knows_all(self, node):
        known = node_lines(node)
        return len(known) == len(self.members) and all(
            flags.isdisjoint({"handshake", "noaddr"}) and (linked or "myself" in flags)
            for _, _, flags, linked in known)

    def _replicate(self):
        for number, node in enumerate(self.members[self.master_count:]):
            master = self.members[number % self.master_count]
            identity = master.client().execute_command("CLUSTER", "MYID").decode()
            wait_until(lambda: replicates(node, identity), f"{node} replicates {master}")

    def wait_ok(self):
        """Running nodes own all slots, say cluster_state:ok and agree; replicas are linked."""
        running = [node for node in self.members if node.running]
        ports = {node.port for node in running}
        for node in running:
            wait_until(lambda: {port for port, _ in owned_slots(node)} <= ports,
                       f"{node} knows masters that are alive")
            wait_until(lambda: info(node)["cluster_state"] == "ok", f"{node} says ok")
        wait_until(lambda: len({view(node) for node in running}) == 1, "all nodes agree")
        for node in running:
            wait_until(lambda: linked_to_master(node), f"{node} is linked to its master")
        return self

    # ---- what it looks like now

    @property
    def masters(self):
        """Those that are masters now, in the order of their slots."""
        owners = [(first, port) for node in self.members if node.running
                  for port, first in owned_slots(node)]
        order = [port for _, port in sorted(set(owners))]
        return [node for port in dict.fromkeys(order) for node in self.members if node.port == port]

    @property
    def replicas(self):
        masters = self.masters
        return [node for node in self.members if node.running and node not in masters]

    def master_of(self, key):
        """The node that owns the key's slot now."""
        return self.master_of_slot(key_slot(key.encode()))

    def master_of_slot(self, slot):
        for node in self.masters:
            for start, end, owner, *_ in node.client().execute_command("CLUSTER", "SLOTS"):
                if start <= slot <= end:
                    return next(n for n in self.members if n.port == owner[1])
        raise AssertionError(f"slot {slot} has no owner")

    @property
    def url(self):
        scheme = "rediss+cluster://" if self.members[0].tls else "redis+cluster://"
        return scheme + ",".join(node.address for node in self.members)

    def client(self):
        """redis-py's client of the whole cluster."""
        nodes = [redis.cluster.ClusterNode("127.0.0.1", node.port)
                 for node in self.members if node.running]
        return redis.cluster.RedisCluster(startup_nodes=nodes)

    def flush(self):
        for node in self.masters:
            node.client().flushall()


def info(node):
    text = node.client().execute_command("CLUSTER", "INFO").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def node_lines(node):
    """(id, master's id or -, flags, whether linked) of each node this one knows."""
    text = node.client().execute_command("CLUSTER", "NODES").decode()
    rows = [line.split(" ") for line in text.splitlines()]
    return [(row[0], row[3], frozenset(row[2].split(",")), row[7] == "connected") for row in rows]


def replicates(node, identity):
    """Tells the node to; until it has heard of that master it cannot."""
    return node.client().execute_command("CLUSTER", "REPLICATE", identity)


def owned_slots(node):
    """(port of the master, first slot) of each range, as this node sees it."""
    slots = node.client().execute_command("CLUSTER", "SLOTS")
    return [(row[2][1], row[0]) for row in slots]


def view(node):
    """Who is whose replica and who is alive, to be compared between nodes."""
    return frozenset((identity, master, "master" in flags, bool(flags & {"fail", "fail?"}))
                     for identity, master, flags, _ in node_lines(node))


def linked_to_master(node):
    replication = node.client().info("replication")
    return replication["role"] == "master" or replication["master_link_status"] == "up"
