# SPDX-License-Identifier: Apache-2.0
"""The page of a product in shards on a real cluster: each shard with what it has and its node, as the
server tells it; of a product that is not in shards there is no such table."""

import pytest

from dashboard import PATIENCE_S
from redis_cluster import RedisCluster
from server import Server, wait_until

SHARDS = 5
NAMES = ["main", *map(str, range(SHARDS))]


@pytest.fixture(scope="module")
def server():
    with RedisCluster(masters=3, replicas=0) as cluster, \
            Server("--engine", cluster.url, memory=True) as one:
        assert one.call("STOCK.LOAD", "shoes", 500, "SHARDS", SHARDS)[0] == 1
        assert one.call("STOCK.LOAD", "hats", 20)[0] == 1
        for number in range(30):
            assert one.call("STOCK.TAKE", "shoes", f"o{number}", "ann", 1)[0] == 1
        yield one


def titles(page):
    return page.script("return [...document.querySelectorAll('main h2')]"
                       ".filter((one) => one.checkVisibility()).map((one) => one.textContent)")


def test_each_shard_has_its_figures_and_its_node(page):
    page.visit("product/shoes", "Product shoes")
    told = {item["shard"]: item for item in page.get("/v1/products/shoes/shards")["items"]}
    assert list(told) == NAMES

    def as_told():
        now = page.get("/v1/products/shoes/shards")["items"]
        return all(page.row(shard["shard"], "Shards") == [
            shard["shard"], f"{shard['available']:,}", f"{shard['taken']:,}", f"{shard['sold']:,}",
            shard["node"]] for shard in now)
    wait_until(as_told, "the shards", PATIENCE_S)
    assert sum(shard["taken"] for shard in told.values()) == 30
    assert len({shard["node"] for shard in told.values()}) > 1


def test_the_table_follows_the_sale(page, server):
    page.visit("product/shoes", "Product shoes")
    wait_until(lambda: page.row("main", "Shards"), "the shards", PATIENCE_S)
    for number in range(30):
        server.call("STOCK.SETTLE", "shoes", f"o{number}")

    def sold():
        rows = [page.row(name, "Shards") for name in NAMES]
        return None not in rows and sum(int(row[3].replace(",", "")) for row in rows) == 30
    wait_until(sold, "what was sold", PATIENCE_S)


def test_a_product_without_shards_has_no_such_table(page):
    page.visit("product/hats", "Product hats")
    wait_until(lambda: page.fact("Mode") == "single", "the totals", PATIENCE_S)
    assert "Shards" not in titles(page) and "Orders that are taken" in titles(page)
