# SPDX-License-Identifier: Apache-2.0
"""With --ledger a confirmed booking is a row of the ledger, and the zone's capacity there has the last
word, also when the engine has been put back to an earlier state."""

import pytest

from server import Error, wait_until
from shop import outcome

EVENT, ZONE = "gala", "floor"


@pytest.fixture
def server(shop):
    server = shop.serve()
    assert server.call("SEATS.OPEN", EVENT, ZONE, 10) == [1, 10, 10]
    return server


def reserve(server, booking, user="ann", quantity=2):
    return server.call("SEATS.RESERVE", EVENT, ZONE, booking, user, quantity, 100)


def confirm(server, booking, *more):
    return server.call("SEATS.CONFIRM", EVENT, booking, *more)


def zone(shop):
    return shop.rows("SELECT capacity, sold FROM zones WHERE event_id = ? AND zone_id = ?", EVENT, ZONE)


def test_confirm_and_refund_are_in_the_ledger(shop, server):
    assert zone(shop) == [(10, 0)]
    assert reserve(server, "b-1")[0] == 1
    assert zone(shop) == [(10, 0)]
    first = confirm(server, "b-1", "USER", "ann", "PAYMENT", "p-1")
    assert first[:2] == [1, "CONFIRMED"] and len(first[2]) == 10
    assert confirm(server, "b-1", "USER", "ann", "PAYMENT", "p-1") == first
    assert zone(shop) == [(10, 2)]
    assert shop.rows("SELECT zone_id, user_id, quantity, status, payment_id FROM bookings") == [
        (ZONE, "ann", 2, "confirmed", "p-1")]
    for _ in range(2):
        assert server.call("SEATS.REFUND", EVENT, "b-1")[:2] == [1, "REFUNDED"]
    assert zone(shop) == [(10, 0)]
    assert shop.rows("SELECT status FROM bookings") == [("refunded",)]


def test_refusals_are_those_of_the_engine(shop, server):
    reserve(server, "b-1")
    assert outcome(confirm(server, "none")) == "RESERVATION_NOT_FOUND"
    assert outcome(confirm(server, "b-1", "USER", "bob")) == "NOT_OWNER"
    assert outcome(server.call("SEATS.REFUND", EVENT, "b-1")) == "INVALID_STATE"
    confirm(server, "b-1", "PAYMENT", "p-1")
    assert outcome(confirm(server, "b-1", "PAYMENT", "p-2")) == "INVALID_STATE"
    assert zone(shop) == [(10, 2)]


def test_the_ledger_has_the_last_word(shop):
    server = shop.serve_uncompared()  # a reconciliation would take the seats from the engine first
    server.call("SEATS.OPEN", EVENT, ZONE, 10)
    shop.rows("UPDATE zones SET sold = 9")
    reserve(server, "b-1")
    assert outcome(confirm(server, "b-1")) == "INSUFFICIENT_STOCK"
    assert zone(shop) == [(10, 9)]
    assert shop.rows("SELECT * FROM bookings WHERE status = 'confirmed'") == []
    assert reserve(server, "b-2", quantity=1)[0] == 1
    assert confirm(server, "b-2")[:2] == [1, "CONFIRMED"]


def test_capacity_follows(shop, server):
    assert server.call("SEATS.OPEN", EVENT, ZONE, 20) == [1, 20, 20]
    assert zone(shop) == [(20, 0)]
    reserve(server, "b-1", quantity=5)
    confirm(server, "b-1")
    assert outcome(server.call("SEATS.OPEN", EVENT, ZONE, 4)) == "CAPACITY_IN_USE"
    assert zone(shop) == [(20, 5)]
    assert server.call("SEATS.OPEN", EVENT, ZONE, 5) == [1, 0, 5]
    assert zone(shop) == [(5, 5)]


def test_an_engine_put_back_sells_no_seat_twice(shop, server):
    server.stop()
    shop.engine.remember()
    server.start()
    for number in range(4):
        assert reserve(server, f"early-{number}", f"u-{number}")[0] == 1
        assert confirm(server, f"early-{number}")[:2] == [1, "CONFIRMED"]
    server.kill()
    shop.engine.roll_back()
    server.start()
    confirmed = 0
    for number in range(10):
        answer = reserve(server, f"late-{number}", f"v-{number}")
        if answer[0] == 1:
            answer = confirm(server, f"late-{number}")
            confirmed += answer[0] == 1
    assert confirmed == 1, "ten seats, eight of them sold before"
    assert zone(shop) == [(10, 10)]


def test_a_database_that_is_away(served_shop):
    shop = served_shop
    server = shop.serve("--ledger-timeout", "1s")
    server.call("SEATS.OPEN", EVENT, ZONE, 10)
    reserve(server, "b-1")
    shop.database.server.pause()
    answer = confirm(server, "b-1")
    shop.database.server.resume()
    assert isinstance(answer, Error) and answer.code in ("LEDGER_DOWN", "TIMEOUT") or \
        answer[1] == "LEDGER_DOWN", answer
    wait_until(lambda: confirm(server, "b-1")[:2] == [1, "CONFIRMED"]
               if not isinstance(confirm(server, "b-1"), Error) else False, "it is back")
    assert zone(shop) == [(10, 2)]
