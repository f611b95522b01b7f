# SPDX-License-Identifier: Apache-2.0
"""Checkouts of a test: a shop that sells seats, a payment peer, and whether all books agree."""

from payment_peer import OLD_SECRET, SECRET
from server import Error, wait_until

EVENT, ZONE = "gala", "floor"
FINAL = {"COMPLETED", "COMPENSATED", "NEEDS_ATTENTION"}
QUICK = ["--saga-lease", "1s", "--payment-timeout", "500ms", "--payment-retries", "60"]
SECRETS = {"HOLDFAST_PAYMENT_SECRET": SECRET, "HOLDFAST_PAYMENT_SECRET_OLD": OLD_SECRET,
           "HOLDFAST_WEBHOOK_SECRET": SECRET}


def fields(words):
    assert not isinstance(words, Error) and words[0] != 0, words
    return dict(zip(words[::2], words[1::2]))


def saga(server, name, wait_ms=0):
    return fields(server.call("SAGA.GET", name, "WAIT", wait_ms, timeout=wait_ms / 1000 + 60))


def checkout(server, booking, user="ann", quantity=1, price=4500, *more, wait_ms=30000,
             max_per_user=1000):
    return server.call("SEATS.CHECKOUT", EVENT, ZONE, user, quantity, max_per_user, "BOOKING", booking,
                       "SAGA", f"s-{booking}", "PRICE", price, "WAIT", wait_ms, *more,
                       timeout=wait_ms / 1000 + 60)


def outcome(answer):
    """The status, or the code of the refusal or error."""
    if isinstance(answer, Error):
        return answer.code
    return answer[3] if answer[0] == 1 else answer[1]


def zone(server):
    return fields(server.call("SEATS.ZONE", EVENT, ZONE))


def booking_status(server, booking):
    words = server.call("SEATS.GET", EVENT, booking)
    return None if words[0] == 0 else fields(words)["status"]


def sagas(shop):
    """{saga: (state, payment_id, payment, booking, quantity)}"""
    return {row[0]: row[1:] for row in shop.rows(
        "SELECT saga_id, state, payment_id, payment, booking_id, quantity FROM sagas")}


def wait_ended(shop, count=None, timeout=120):
    def ended():
        found = sagas(shop)
        return (count is None or len(found) >= count) and \
            all(row[0] in FINAL for row in found.values())
    wait_until(ended, "every saga ends", timeout=timeout)


def assert_agreed(shop, server, peer, guarded=True):
    """Seats, ledger and the peer's own book: nothing confirmed unpaid, nothing paid unconfirmed
    without a refund, nobody charged twice."""
    found = sagas(shop)
    known = {row[1]: name for name, row in found.items()}
    seats = 0
    for payment, entry in peer.book.payments.items():
        assert payment in known, f"a charge of nobody's: {payment}"
        assert entry["charged"] <= 1 and entry["refunded"] <= entry["charged"], entry
    for name, (state, payment, charge, booking, quantity) in found.items():
        entry = peer.book.payments.get(payment, {"charged": 0, "refunded": 0, "status": "absent"})
        held = booking_status(server, booking)
        if state == "COMPLETED":
            assert (entry["charged"], entry["refunded"], held) == (1, 0, "confirmed"), (name, entry)
            seats += quantity
        else:
            assert state == "COMPENSATED", (name, state, charge, entry)
            assert entry["charged"] == entry["refunded"] and held is None, (name, entry, held)
            assert entry["status"] != "pending" or entry["charged"] == 0
    now = zone(server)
    assert (now["confirmed"], now["reserved"]) == (seats, 0), now
    assert now["available"] == now["capacity"] - seats
    if guarded:
        sold = shop.rows("SELECT sold FROM zones WHERE event_id = ? AND zone_id = ?", EVENT, ZONE)
        rows = shop.rows("SELECT COALESCE(SUM(quantity), 0) FROM bookings "
                         "WHERE event_id = ? AND status = 'confirmed'", EVENT)
        assert (int(sold[0][0]), int(rows[0][0])) == (seats, seats)
    assert not peer.book.unsigned
