# SPDX-License-Identifier: Apache-2.0
"""STOCK.SHARDS on a real cluster: every counter of a product with what it has and the node that has
it, also while one of the nodes does not answer."""

from raw_client import Http
from server import Server, wait_until
from redis_cluster import RedisCluster

SHARDS = 7
NAMES = ["main", *map(str, range(SHARDS))]


def load(server, product, *options, shards=SHARDS, quantity=700):
    assert server.call("STOCK.LOAD", product, quantity, "SHARDS", shards, *options)[0] == 1


def shards(servers, product, count=100):
    """{shard: its fields}, in their order, page by page; the servers take turns."""
    found, cursor, turn = {}, "", 0
    while True:
        server = servers[turn % len(servers)]
        cursor, *items = server.call("STOCK.SHARDS", product, "AFTER", cursor, "COUNT", count)
        assert 0 < len(items) <= count
        for item in items:
            fields = dict(zip(item[::2], item[1::2]))
            assert fields["shard"] not in found
            found[fields.pop("shard")] = fields
        if not cursor:
            return found
        turn += 1


def total(found, name):
    return sum(fields[name] for fields in found.values())


def owners(cluster, product):
    """{shard: the node that has its keys}, as Redis itself says."""
    client = cluster.client()
    return {name: "{host}:{port}".format(**vars(client.get_node_from_key(f"stock:{{{product}_{name}}}")))
            for name in NAMES}


def test_every_shard_with_its_figures_and_its_node(servers, cluster, product):
    load(servers[0], product)
    for number in range(60):
        assert servers[number % 2].call("STOCK.TAKE", product, f"o{number}", "ann", 1)[0] == 1
    for number in range(20):
        assert servers[0].call("STOCK.SETTLE", product, f"o{number}")[0] == 1
    for count in (1, 3, 100):
        found = shards(servers, product, count)
        assert list(found) == NAMES
        assert (total(found, "taken"), total(found, "sold")) == (40, 20)
    wait_until(lambda: total(shards(servers, product), "available") == 640)
    assert {name: fields["node"] for name, fields in found.items()} == owners(cluster, product)
    assert len({fields["node"] for fields in found.values()}) > 1


def test_a_product_that_is_not_in_shards_has_one(servers, product):
    assert servers[0].call("STOCK.SHARDS", product)[:2] == [0, "PRODUCT_NOT_FOUND"]
    assert servers[0].call("STOCK.LOAD", product, 10)[0] == 1
    assert servers[1].call("STOCK.TAKE", product, "o", "ann", 3)[0] == 1
    assert servers[1].call("STOCK.SHARDS", product) == [
        "", ["shard", "main", "available", 7, "taken", 3, "sold", 0, "node", ""]]
    assert servers[1].call("STOCK.SHARDS", product, "AFTER", "0")[:2] == [0, "INVALID_ARGUMENT"]


def test_what_is_no_cursor_and_no_product_is_refused(servers, product):
    load(servers[0], product)
    for after in ("!", str(SHARDS), "-1", "main ", "0:o", "99999999999999999999"):
        answer = servers[1].call("STOCK.SHARDS", product, "AFTER", after)
        assert answer[:2] == [0, "INVALID_ARGUMENT"] and f'"{after}"' in answer[2], answer
    assert servers[0].call("STOCK.CLOSE", product)[0] == 1
    for server in servers:
        assert server.call("STOCK.SHARDS", product, "AFTER", "3")[:2] == [0, "PRODUCT_NOT_FOUND"]


def test_a_product_that_is_loaded_anew_is_read_anew(servers, product):
    load(servers[0], product)
    assert list(shards(servers[1:], product)) == NAMES
    assert servers[0].call("STOCK.CLOSE", product)[0] == 1
    load(servers[0], product, shards=2)
    assert list(shards(servers[1:], product)) == ["main", "0", "1"]


def test_a_page_over_http(servers, product):
    load(servers[0], product)
    with Http(servers[0].http_port) as http:
        page = http.call("GET", f"/v1/products/{product}/shards?count=2").json
        assert page["cursor"] == "1" and [item["shard"] for item in page["items"]] == ["main", "0"]
        assert list(page["items"][0]) == ["shard", "available", "taken", "sold", "node"]
        rest = http.call("GET", f"/v1/products/{product}/shards?after=1").json
        assert rest["cursor"] == "" and len(rest["items"]) == SHARDS - 1


def test_a_shard_that_does_not_answer_is_shown_as_unknown():
    """A node is stopped: its shards are there without figures, those of the others with theirs."""
    with RedisCluster(masters=3, replicas=0) as cluster, \
            Server("--engine", f"{cluster.url}?timeout=2s", memory=True) as server:
        load(server, "shoes")
        known = shards([server], "shoes")
        away = next(fields["node"] for fields in known.values()
                    if fields["node"] != known["main"]["node"])
        stopped = next(node for node in cluster.masters if away.endswith(f":{node.port}"))
        stopped.pause()
        try:
            found = {}

            def seen():
                cursor = ""
                while True:
                    answer = server.call("STOCK.SHARDS", "shoes", "AFTER", cursor)
                    if answer[0] == 0:  # the cluster is told to be down for a moment
                        return False
                    cursor, *items = answer
                    found.update({item[1]: dict(zip(item[2::2], item[3::2])) for item in items})
                    if not cursor:
                        return True
            wait_until(seen, timeout=60)
            for name, fields in known.items():
                unknown = found[name]["available"] == -1
                assert unknown == (fields["node"] == away), (name, found[name])
                assert found[name]["taken"] == (-1 if unknown else 0)
        finally:
            stopped.resume()
        wait_until(lambda: server.call("STOCK.SHARDS", "shoes")[0] == "" and
                   total(shards([server], "shoes"), "available") == 700, timeout=60)
