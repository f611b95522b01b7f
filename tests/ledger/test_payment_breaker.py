# SPDX-License-Identifier: Apache-2.0
"""A payment peer that does not answer: no seats are held for payments that nobody takes."""

import itertools

import pytest

from box_office import EVENT, ZONE, booking_status, checkout, outcome, saga
from databases import database_of
from raw_client import http
from server import Error, wait_until
from shop import Shop, engine_of, metrics

SILENT = 4519  # test: does not answer for such an amount at first


@pytest.fixture
def office(request, started, tmp_path):
    engine = engine_of("embedded", request, tmp_path)
    with Shop(database_of("sqlite", started), engine) as shop:
        server = shop.serve("--payment-url", "test:", "--breaker-open-for", "1s")
        server.call("SEATS.OPEN", EVENT, ZONE, 100)
        yield server


def next_refusal(server, numbers=itertools.count()):
    """Of a checkout that is begun now, or None; a refused one holds no seat."""
    booking = f"late-{next(numbers)}"
    answer = checkout(server, booking, price=SILENT, wait_ms=0)
    if not isinstance(answer, Error):
        return None
    assert booking_status(server, booking) is None
    return answer


def test_nothing_is_begun_until_the_peer_answers_again(office):
    server = office
    begun = [f"b{number}" for number in range(4)]  # their questions are calls, too
    for booking in begun:
        assert outcome(checkout(server, booking, price=SILENT, wait_ms=0)) == "STARTED"
    refused = wait_until(lambda: next_refusal(server), "the breaker opens")
    assert refused.code == "BUSY" and "payment peer" in refused.message
    assert metrics(server)["holdfast_payment_breaker_opened_total"] >= 1
    assert "; payments " in http(server.http_port, "GET", "/readyz").body.decode()
    assert outcome(checkout(server, begun[0], price=SILENT, wait_ms=0)) == "PAYING", "it was begun"
    assert outcome(checkout(server, "gift", price=0)) == "COMPLETED", "there is nothing to pay"

    for booking in begun:
        assert saga(server, f"s-{booking}", 60000)["status"] == "COMPLETED"
    wait_until(lambda: outcome(checkout(server, "late")) == "COMPLETED", "it is begun again")
    for number in range(10):  # the trials, of which enough must succeed
        wait_until(lambda: outcome(checkout(server, f"c{number}")) == "COMPLETED")
    assert metrics(server)["holdfast_payment_breaker_state"] == 0
