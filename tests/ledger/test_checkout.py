# SPDX-License-Identifier: Apache-2.0
"""SEATS.CHECKOUT and the sagas behind it, with the payments of test:, on each engine and database."""

import contextlib
import json
import sqlite3

import pytest

from box_office import EVENT, SECRETS, ZONE, booking_status, checkout, fields, outcome, saga, zone
from databases import database_of
from harness import Build
from raw_client import http
from server import Error, Server, wait_until
from shop import Shop, engine_of


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def office(request, started, tmp_path):
    """Each database and each engine once."""
    engine = engine_of("embedded" if request.param == "sqlite" else "redis", request, tmp_path)
    with Shop(database_of(request.param, started), engine) as shop:
        yield opened(shop)


def opened(shop):
    server = shop.serve("--payment-url", "test:")
    server.call("SEATS.OPEN", EVENT, ZONE, 10)
    return shop, server


def test_a_checkout_ends_with_a_confirmed_booking(office):
    shop, server = office
    assert checkout(server, "b1", quantity=2) == [1, "s-b1", "b1", "COMPLETED"]
    shown = saga(server, "s-b1")
    assert (shown["status"], shown["payment"], shown["provider"]) == (
        "COMPLETED", "succeeded", "test")
    assert (shown["amount"], shown["currency"], shown["error_code"]) == (9000, "USD", "")
    assert booking_status(server, "b1") == "confirmed"
    assert zone(server)["confirmed"] == 2
    assert shop.rows("SELECT status, payment_id FROM bookings") == [
        ("confirmed", shown["payment_id"])]


def test_a_declined_payment_gives_the_seats_back(office):
    _, server = office
    refused = checkout(server, "b1", price=4513)
    assert refused[:2] == [0, "PAYMENT_DECLINED"] and "test" in refused[2]
    shown = saga(server, "s-b1")
    assert (shown["status"], shown["payment"], shown["error_code"]) == (
        "COMPENSATED", "declined", "PAYMENT_DECLINED")
    assert zone(server)["available"] == 10
    assert outcome(checkout(server, "b1", price=4513)) == "PAYMENT_DECLINED"


def test_a_pending_payment_is_waited_for(office):
    _, server = office
    assert outcome(checkout(server, "b1", price=4517)) == "COMPLETED"


def test_what_costs_nothing_is_not_charged(office):
    _, server = office
    assert outcome(checkout(server, "b1", price=0)) == "COMPLETED"
    assert saga(server, "s-b1")["payment"] == "none"


@pytest.mark.parametrize("quantity, max_per_user, code", [
    (11, 1000, "INSUFFICIENT_STOCK"), (3, 2, "USER_LIMIT_EXCEEDED")])
def test_what_cannot_be_reserved_is_refused_with_its_reason(office, quantity, max_per_user, code):
    _, server = office
    refused = checkout(server, "b1", quantity=quantity, max_per_user=max_per_user)
    assert refused[:2] == [0, code]
    assert saga(server, "s-b1")["payment"] == "none"
    assert zone(server)["available"] == 10


def test_the_same_booking_again_is_the_same_saga(office):
    shop, server = office
    assert outcome(checkout(server, "b1")) == "COMPLETED"
    assert outcome(checkout(server, "b1")) == "COMPLETED"
    for words in (("bob", 1, 4500), ("ann", 2, 4500), ("ann", 1, 4600)):
        assert outcome(checkout(server, "b1", *words)) == "INVALID_STATE"
    taken = server.call("SEATS.CHECKOUT", EVENT, ZONE, "ann", 1, 10, "BOOKING", "b2", "SAGA", "s-b1")
    assert outcome(taken) == "INVALID_STATE" and "b1" in taken[2]
    assert shop.rows("SELECT COUNT(*) FROM sagas") == [(1,)]
    assert zone(server)["confirmed"] == 1


def test_a_completed_checkout_is_refunded_once(office):
    _, server = office
    checkout(server, "b1", quantity=3)
    assert server.call("SAGA.REFUND", "s-b1")[:2] == [1, "s-b1"]
    assert saga(server, "s-b1", 30000)["status"] == "COMPENSATED"
    assert server.call("SAGA.REFUND", "s-b1") == [1, "s-b1", "COMPENSATED"]
    assert (zone(server)["available"], saga(server, "s-b1")["payment"]) == (10, "refunded")
    assert booking_status(server, "b1") is None


def test_ids_are_made_where_none_are_given(office):
    _, server = office
    made = [server.call("SEATS.CHECKOUT", EVENT, ZONE, "ann", 1, 10, "WAIT", 30000)
            for _ in range(2)]
    assert [outcome(one) for one in made] == ["COMPLETED"] * 2
    assert len({word for one in made for word in one[1:3]}) == 4


def test_a_gate_is_not_passed_by_checking_out(office):
    _, server = office
    server.call("ROOM.OPEN", EVENT, "GATE")
    assert outcome(checkout(server, "b1")) == "NOT_ADMITTED"
    assert server.call("ROOM.JOIN", EVENT, "ann")[0] == 1
    admitted = server.call("ROOM.ADMIT", EVENT, 1)
    assert outcome(checkout(server, "b2", "bob", 1, 4500, "PASS", admitted[1])) == "NOT_ADMITTED"
    assert outcome(checkout(server, "b3", "ann", 1, 4500, "PASS", admitted[1])) == "COMPLETED"


def test_what_is_wrong_is_named(office):
    _, server = office
    for words, code in [(("CURRENCY", "eur"), "INVALID_ARGUMENT"),
                        (("PRICE", 2 ** 53 - 1), "INVALID_AMOUNT")]:
        answer = server.call("SEATS.CHECKOUT", EVENT, ZONE, "ann", 2, 10, *words)
        found = answer.code if isinstance(answer, Error) else answer[1]
        assert found in (code, "ERR"), answer
    assert server.call("SAGA.GET", "nobody")[:2] == [0, "NOT_FOUND"]
    assert server.call("SAGA.RESUME", "nobody")[:2] == [0, "NOT_FOUND"]


# ---- over HTTP, with the ledger of the data directory

@pytest.fixture(scope="module")
def server():
    with Server("--payment-url", "test:") as one:
        one.call("SEATS.OPEN", EVENT, ZONE, 100)
        yield one


BODY = {"zone_id": ZONE, "user_id": "ann", "quantity": 1, "max_per_user": 100, "unit_price": 4500}


def post(server, body, *headers):
    return http(server.http_port, "POST", f"/v1/events/{EVENT}/checkout", body, headers)


def test_http_accepts_at_once_and_shows_the_end(server):
    accepted = post(server, BODY)
    assert accepted.status == 202
    assert set(accepted.json) == {"saga_id", "booking_id", "status", "provider"}
    path = f"/v1/sagas/{accepted.json['saga_id']}"
    ended = http(server.http_port, "GET", path, headers=["Prefer: wait=30"])
    assert (ended.status, ended.json["status"]) == (200, "COMPLETED")
    assert ended.headers["preference-applied"] == "wait=30"
    assert http(server.http_port, "GET", "/v1/sagas/nobody").status == 404


def test_http_waits_for_the_end_if_asked_to(server):
    ended = post(server, BODY, "Prefer: respond-async, wait=30")
    assert (ended.status, ended.json["status"]) == (202, "COMPLETED")
    assert ended.headers["preference-applied"] == "wait=30"
    declined = post(server, {**BODY, "unit_price": 13}, "Prefer: wait=30")
    assert (declined.status, declined.code) == (402, "PAYMENT_DECLINED")
    assert "preference-applied" not in post(server, BODY).headers


def test_http_repeats_under_an_idempotency_key(server):
    first, second = [post(server, BODY, "Idempotency-Key: k1") for _ in range(2)]
    assert (first.status, second.status) == (202, 202)
    assert first.json["saga_id"] == second.json["saga_id"]
    assert second.headers["idempotency-replayed"] == "true"


def test_money_is_whole_minor_units(server):
    refused = post(server, {**BODY, "unit_price": 45.5})
    assert refused.status == 400 and "whole" in refused.json["error"]["message"]
    assert post(server, {**BODY, "unit_price": -1}).status == 400


def test_without_a_peer_nothing_is_checked_out():
    with Server() as one:
        one.call("SEATS.OPEN", EVENT, ZONE, 10)
        refused = one.call("SEATS.CHECKOUT", EVENT, ZONE, "ann", 1, 10)
        assert refused[:2] == [0, "INVALID_STATE"] and "payment-url" in refused[2]
        assert http(one.http_port, "POST", "/v1/payments/callback", {}).status == 401


def test_without_a_ledger_to_be_had_it_is_said():
    with Server("--payment-url", "test:", memory=True) as one:
        assert outcome(one.call("SEATS.CHECKOUT", EVENT, ZONE, "ann", 1, 10)) == "LEDGER_DOWN"


def test_the_ledger_of_the_directory_guards_no_plain_command(tmp_path):
    """Checkout works with the engine alone as the truth about seats, over a crash, too."""
    with Server("--payment-url", "test:", directory=tmp_path / "data") as one:
        one.call("SEATS.OPEN", EVENT, ZONE, 10)
        assert outcome(checkout(one, "b1", quantity=2)) == "COMPLETED"
        one.restart("kill")
        assert booking_status(one, "b1") == "confirmed" and zone(one)["confirmed"] == 2
        assert outcome(checkout(one, "b1", quantity=2)) == "COMPLETED"


def listed(server, *words):
    """The bookings of a list's first page, as dictionaries."""
    return [fields(item) for item in server.call(*words)[1:]]


def test_the_ledger_of_the_directory_has_the_bookings_of_checkouts(tmp_path):
    """The row comes with the saga's end, over a crash, too; a refund by whatever command is noted in it."""
    with Server("--payment-url", "test:", directory=tmp_path / "data") as one:
        one.call("SEATS.OPEN", EVENT, ZONE, 10)
        for booking in ("b1", "b2"):
            assert outcome(checkout(one, booking, quantity=2)) == "COMPLETED"
        assert outcome(checkout(one, "b3", price=4513)) == "PAYMENT_DECLINED"
        one.restart("kill")
        mine = listed(one, "SEATS.BOOKINGS", "ann")
        assert [(row["booking_id"], row["status"], row["quantity"], row["unit_price"]) for row in mine] == [
            ("b1", "confirmed", 2, 4500), ("b2", "confirmed", 2, 4500)]
        assert mine == listed(one, "SEATS.HISTORY", EVENT, "STATUS", "confirmed")
        held = fields(one.call("SEATS.GET", EVENT, "b1"))
        assert mine[0]["confirmation_code"] == held["confirmation_code"]
        assert mine[0]["payment_id"] == saga(one, "s-b1")["payment_id"]
        assert mine[0]["confirmed_at"] > 0 and "ended_at" not in mine[0]
        assert one.call("SAGA.REFUND", "s-b1")[0] == 1
        assert saga(one, "s-b1", 30000)["status"] == "COMPENSATED"
        assert one.call("SEATS.REFUND", EVENT, "b2")[:2] == [1, "REFUNDED"]
        mine = listed(one, "SEATS.BOOKINGS", "ann")
        assert [row["status"] for row in mine] == ["refunded", "refunded"]
        assert all(row["ended_at"] >= row["confirmed_at"] for row in mine)
        assert zone(one)["available"] == 10
        # What was booked past a checkout has no row, and is refunded as ever.
        one.call("SEATS.RESERVE", EVENT, ZONE, "plain", "bob", 1, 4)
        assert one.call("SEATS.CONFIRM", EVENT, "plain")[1] == "CONFIRMED"
        assert one.call("SEATS.REFUND", EVENT, "plain")[:2] == [1, "REFUNDED"]
        assert one.call("SEATS.REFUND", EVENT, "nobody")[:2] == [0, "RESERVATION_NOT_FOUND"]
        assert listed(one, "SEATS.BOOKINGS", "bob") == []


def test_a_confirmed_checkout_is_told_without_a_ledger_that_was_given(tmp_path):
    """In the outbox with the move itself; nobody listens there."""
    data = tmp_path / "data"
    with Server("--payment-url", "test:", "--webhook-url", "http://127.0.0.1:9/", directory=data,
                env=SECRETS) as one:
        one.call("SEATS.OPEN", EVENT, ZONE, 10)
        assert outcome(checkout(one, "b1")) == "COMPLETED"
        payment = saga(one, "s-b1")["payment_id"]
        one.call("SAGA.REFUND", "s-b1")
        assert saga(one, "s-b1", 30000)["status"] == "COMPENSATED"
    with contextlib.closing(sqlite3.connect(data / "ledger.db")) as ledger:
        told = ledger.execute("SELECT type, payload FROM outbox ORDER BY outbox_id").fetchall()
    assert [row[0] for row in told] == ["booking.confirmed", "booking.cancelled"]
    confirmed = json.loads(told[0][1])
    assert confirmed.pop("traceparent").startswith("00-")  # for whoever is told, not of what
    assert confirmed == {
        "booking_id": "b1", "event_id": EVENT, "zone_id": ZONE, "user_id": "ann", "quantity": 1,
        "unit_price": 4500, "payment_id": payment, "status": "confirmed"}


# ---- kill -9

POINTS = ["saga_started", "saga_seats_held", "saga_reserved", "saga_paying", "saga_charged",
          "saga_paid", "saga_confirmed", "saga_completed"]
BACK = ["saga_compensating", "saga_released", "saga_refunded", "saga_compensated"]


@pytest.mark.parametrize("point, own_ledger", [
    *((point, False) for point in POINTS + BACK),
    *((point, True) for point in ["saga_paying", "saga_paid", "saga_confirmed", "saga_released"])])
def test_killed_at_any_point_it_goes_on(tmp_path, point, own_ledger):
    flags = [] if own_ledger else ["--ledger", f"sqlite:{tmp_path}/shop.db"]
    quantity, price = (1, 4513) if point in BACK else (2, 4500)
    with Server("--payment-url", "test:", "--saga-lease", "200ms", "--payment-timeout", "100ms",
                "--reconcile-every", "200ms", *flags, directory=tmp_path / "data",
                program=Build().path / "tests" / "holdfast-faults") as one:
        one.call("SEATS.OPEN", EVENT, ZONE, 10)
        one.stop()
        one.env = {"HOLDFAST_FAULT": point}
        one.start()
        try:
            checkout(one, "b1", quantity=quantity, price=price)
        except (ConnectionError, OSError):
            pass
        wait_until(lambda: one.process.poll() is not None, f"it dies at {point}")
        one.kill()
        one.env = {}
        one.start()
        expected = "COMPENSATED" if point in BACK else "COMPLETED"
        wait_until(lambda: saga(one, "s-b1", 30000)["status"] == expected, point)
        assert zone(one)["confirmed"] == (0 if point in BACK else 2)
        assert zone(one)["reserved"] == 0
        rows = one.call("SEATS.HISTORY", EVENT, "STATUS", "confirmed")[1:]
        assert [fields(row)["booking_id"] for row in rows] == ([] if point in BACK else ["b1"])
