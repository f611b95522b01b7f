# SPDX-License-Identifier: Apache-2.0
"""A failover to a replica that had not heard the last of its master sets a place back to what it was.
Of a transfer that leaves one half. Whichever half it is: the totals are right at once, the places
agree again without anybody's help, nothing is sold that was not there, and sold out is sold out.

A place is set back by writing its keys as they were, which is what such a failover does to them.
"""

import itertools
from functools import partial

import pytest

from faults import audit
from shard_books import Books, Past, Transfer
from shard_sale import (LOADED, POLICIES, SHARDS, assert_sold_out, figures, load, sell_out,
                        wait_sold_out)

DIRECTIONS = [("0", "main"), ("main", "1"), ("0", "1")]
FIRST, SECOND = 3, 1  # how much two transfers move
# Two transfers are six steps. A source has changed after 1, 3, 4 and 6 of them, a target after 2 and
# 5. What has been sent and what has arrived then:
SENT = {0: 0, 1: FIRST, 3: FIRST, 4: FIRST + SECOND, 6: FIRST + SECOND}
ARRIVED = {0: 0, 2: FIRST, 5: FIRST + SECOND}
PASTS = list(itertools.product(SENT, ARRIVED))
LOSSES = [(source, target) for source, target in PASTS if SENT[source] != ARRIVED[target]]


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left(cluster, servers):
    """After all of it, every product of every test adds up."""
    yield
    assert audit(cluster.url) == []


def set_back(client, product, direction, source_past, target_past):
    """Moves stock twice, then both places are what they were after so many steps."""
    source, target = direction
    if source == "main":  # which has nothing after a LOAD
        set_back(client, product, ("2", "main"), max(SENT), max(ARRIVED))
    transfer, pasts = Transfer(client, product, source, target), []
    steps = [lambda: None]
    for quantity in (FIRST, SECOND):
        steps += [partial(transfer.send, quantity, quantity), transfer.receive, transfer.forget]
    for number, step in enumerate(steps):
        step()
        if number == source_past:
            pasts.append(Past(client, product, source))
        if number == target_past:
            pasts.append(Past(client, product, target))
    for past in pasts:
        past.come_back()


# ---- each half of a transfer


@pytest.mark.parametrize("direction", DIRECTIONS, ids="-".join)
@pytest.mark.parametrize("policy", POLICIES)
def test_whatever_was_lost_the_totals_are_right_and_the_places_agree_again(
        cluster, servers, product, policy, direction):
    client = cluster.client()
    for number, pasts in enumerate(PASTS):
        name = f"{product}-{number}"
        load(servers[0], name, policy)
        set_back(client, name, direction, *pasts)
        now = figures(servers[number % 2], name)
        assert (now["available"], now["taken"], now["loaded"]) == (LOADED, 0, LOADED), pasts
        assert servers[0].call("STOCK.TAKE", name, "all", "u", LOADED) == [1, 0], pasts
        assert_sold_out(servers, name)
        books = Books(client, name, SHARDS)
        books.assert_conserved()
        assert books.sums["taken"] == LOADED and books.sums["available"] == 0, pasts


@pytest.mark.parametrize("direction", DIRECTIONS, ids="-".join)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_sold_before_anybody_looks_is_no_more_than_was_lost(
        cluster, servers, product, policy, direction):
    client = cluster.client()
    for number, pasts in enumerate(LOSSES):
        twice = max(0, ARRIVED[pasts[1]] - SENT[pasts[0]])
        name = f"{product}-{number}"
        load(servers[0], name, policy)
        set_back(client, name, direction, *pasts)
        orders = sell_out(servers, name)
        assert LOADED <= len(orders) <= LOADED + twice, pasts
        assert_sold_out(servers, name)
        now = figures(servers[1], name)
        assert (now["available"], now["taken"], now["loaded"]) == (0, len(orders), LOADED)
        Books(client, name, SHARDS).assert_conserved()
        for order in orders[LOADED:]:  # what is given back pays the debt
            assert servers[0].call("STOCK.GIVE", name, order)[0] == 1
            wait_sold_out(servers, name)
        assert servers[0].call("STOCK.GIVE", name, orders[0]) == [1, 1]
        assert servers[1].call("STOCK.TAKE", name, "again", "u", 1) == [1, 0]
