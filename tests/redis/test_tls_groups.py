# SPDX-License-Identifier: Apache-2.0
"""A cluster, and Sentinel with a master and replicas, that speak nothing but TLS, also among
themselves. They announce their addresses, which their certificates have."""

from faults import audit, until_known, wait_replicated
from redis_cluster import HASTY_MS, RedisCluster
from sentinels import Sentinels
from server import Server
from servers import Tls

TIMEOUT_MS = 1000


def reserve_all(server, count, prefix):
    for number in range(count):
        event = f"{prefix}{number}"
        until_known(lambda: server.call("SEATS.OPEN", event, "floor", 5), "opened")
        answer, _ = until_known(
            lambda: server.call("SEATS.RESERVE", event, "floor", "b", "ann", 2, 5), "reserved")
        assert answer[:3] == [1, 3, 2], event


def test_a_cluster_is_found_and_a_failover_followed(tls):
    with RedisCluster(masters=3, replicas=1, node_timeout_ms=HASTY_MS, tls=tls) as cluster:
        url = f"{cluster.url}?tls_ca={tls.ca}&timeout={TIMEOUT_MS}"
        with Server("--engine", url) as server:
            reserve_all(server, 12, "before")
            assert all(node.client().dbsize() > 0 for node in cluster.masters)
            cluster.masters[0].kill()
            cluster.wait_ok()
            reserve_all(server, 12, "after")
        assert audit(url) == []


def test_a_master_is_named_by_sentinels_and_a_failover_followed(tls, authority):
    """Certificates name no address here: all prove that they are the one name."""
    named = Tls(authority.cert, *authority.issue("group", names="DNS:redis.example"))
    with Sentinels(replicas=1, tls=named) as group:
        url = (f"{group.url}?tls_ca={authority.cert}&tls_server_name=redis.example"
               f"&timeout={TIMEOUT_MS}")
        with Server("--engine", url) as server:
            reserve_all(server, 3, "before")
            old = group.master
            wait_replicated(old)
            old.kill()
            group.wait_failover(old)
            reserve_all(server, 3, "after")
            assert server.call("SEATS.USER", "before0", "ann") == [2, 0]
        assert audit(url) == []
