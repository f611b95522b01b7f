# SPDX-License-Identifier: Apache-2.0
"""Pages of every size over names as long as can be: each has as many items as were asked for and a
cursor, however much room the items have left for that."""

import pytest

from server import Error, Server

COUNT = 40
LONG = 128


@pytest.fixture(scope="module")
def server():
    with Server("--payment-url", "test:") as one, one.connect() as client:
        def call(*words):
            answer = client.call(*words)
            assert not isinstance(answer, Error) and answer[0] != 0, (words, answer)
        call("SEATS.OPEN", "gala", "floor", 1000)
        call("STOCK.LOAD", "sneaker", 1000)
        call("QUOTA.LIMIT", "acme", 1000)
        for i in range(COUNT):
            name = f"{i:03}".ljust(LONG, "x")
            call("SEATS.CHECKOUT", "gala", "floor", "ann", 1, 1000, "BOOKING", name, "SAGA", name,
                 "PRICE", 5, "WAIT", "30s")
            call("STOCK.TAKE", "sneaker", name, "ann", 1)
            call("QUOTA.RESERVE", "acme", 1, "HOLD", name)
            call("SEM.ACQUIRE", "render", name, 1000)
            call("LOCK.TRY", name, "1h")
        yield one


@pytest.mark.parametrize("words", [
    ["SEATS.HISTORY", "gala"], ["SEATS.BOOKINGS", "ann"], ["SAGA.LIST"], ["STOCK.LIST", "sneaker"],
    ["QUOTA.LIST", "acme"], ["SEM.LIST", "render"], ["LIST", "locks"]], ids=" ".join)
def test_a_page_of_any_size_has_a_cursor(server, words):
    with server.connect() as client:
        for count in range(1, COUNT):
            cursor, *items = client.call(*words, "COUNT", count)
            assert cursor and len(items) == count, (count, cursor, len(items))
        cursor, *items = client.call(*words, "COUNT", 1000)
        assert cursor == "" and len(items) >= COUNT
