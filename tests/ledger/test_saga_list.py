# SPDX-License-Identifier: Apache-2.0
"""SAGA.LIST: the ledger's checkouts page by page, all or those in one state, on each database."""

import pytest

from box_office import EVENT, ZONE, checkout, fields, saga
from raw_client import http
from server import Error
from shop import Shop, engine_of

STRETCH = 10000  # rows that a page of one state reads at most
AT_ONCE = 500    # rows of one INSERT
COLUMNS = ("saga_id", "event_id", "booking_id", "zone_id", "user_id", "quantity", "max_per_user", "unit_price",
           "currency", "pass", "payment_id", "payment_token", "state", "owner", "lease_until")
NEVER = 2 ** 53 - 1


@pytest.fixture
def shop(request, database, tmp_path):
    """On every database; the engine has no part in it."""
    with Shop(database, engine_of("embedded", request, tmp_path)) as shop:
        yield shop


@pytest.fixture
def server(shop):
    server = shop.serve("--payment-url", "test:")
    server.call("SEATS.OPEN", EVENT, ZONE, 100)
    return server


def add(shop, sagas):
    """Rows of checkouts that nobody drives: [(id, state)]."""
    for start in range(0, len(sagas), AT_ONCE):
        some = sagas[start:start + AT_ONCE]
        values = [value for name, state in some for value in (
            name, EVENT, f"b-{name}", ZONE, "ann", 1, 1, 4500, "EUR", "", f"p-{name}", "", state, "", NEVER)]
        mark = f"({', '.join('?' * len(COLUMNS))})"
        shop.rows(f"INSERT INTO sagas ({', '.join(COLUMNS)}) VALUES {', '.join([mark] * len(some))}", *values)


def page(server, *words):
    """The cursor, and the sagas as dictionaries."""
    cursor, *items = server.call("SAGA.LIST", *words)
    assert cursor != 0, items
    return cursor, [fields(item) for item in items]


def pages(server, *words):
    """The ids of all pages, and how many pages there were."""
    found, cursor, count = [], "", 0
    while count == 0 or cursor:
        cursor, items = page(server, *words, *(["AFTER", cursor] if cursor else []))
        found += [item["saga_id"] for item in items]
        count += 1
    return found, count


def test_each_is_listed_once_as_get_shows_it(shop, server):
    assert page(server) == ("", [])
    for booking, price in (("b1", 4500), ("b2", 4513), ("b3", 4500)):
        checkout(server, booking, price=price)
    add(shop, [("s-b4", "NEEDS_ATTENTION")])
    _, listed = page(server)
    assert listed == [saga(server, f"s-b{number}") for number in (1, 2, 3, 4)]
    assert pages(server, "COUNT", 1) == (["s-b1", "s-b2", "s-b3", "s-b4"], 5)
    assert pages(server, "STATUS", "COMPLETED", "COUNT", 1)[0] == ["s-b1", "s-b3"]
    assert pages(server, "STATUS", "COMPENSATED")[0] == ["s-b2"]
    assert pages(server, "STATUS", "NEEDS_ATTENTION")[0] == ["s-b4"]
    assert pages(server, "STATUS", "any")[0] == ["s-b1", "s-b2", "s-b3", "s-b4"]
    assert pages(server, "STATUS", "PAYING") == ([], 1)
    answer = http(server.http_port, "GET", "/v1/sagas?status=COMPLETED&count=1")
    assert (answer.status, answer.json["cursor"]) == (200, "s-b1")
    assert [one["saga_id"] for one in answer.json["items"]] == ["s-b1"]


def test_a_page_of_one_state_reads_a_stretch_and_no_more(shop, server):
    add(shop, [(f"s{number:05}", "COMPLETED") for number in range(STRETCH + 20)])
    add(shop, [("s00003x", "NEEDS_ATTENTION"), (f"s{STRETCH + 10}x", "NEEDS_ATTENTION")])
    cursor, items = page(server, "STATUS", "NEEDS_ATTENTION")
    assert [one["saga_id"] for one in items] == ["s00003x"]
    assert cursor == f"s{STRETCH - 2:05}"  # with s00003x it is the stretch's last
    assert pages(server, "STATUS", "NEEDS_ATTENTION") == (["s00003x", f"s{STRETCH + 10}x"], 2)
    cursor, items = page(server, "STATUS", "PAID")
    assert items == [] and cursor != ""
    assert page(server, "STATUS", "PAID", "AFTER", cursor) == ("", [])


def test_what_is_wrong_with_the_request_is_said(server):
    refused = server.call("SAGA.LIST", "AFTER", "two words")
    assert refused[:2] == [0, "INVALID_ARGUMENT"] and "two words" in refused[2]
    for words in (["STATUS", "LOST"], ["COUNT", 0], ["COUNT", 1001]):
        answer = server.call("SAGA.LIST", *words)
        assert isinstance(answer, Error) or answer[0] == 0, answer
