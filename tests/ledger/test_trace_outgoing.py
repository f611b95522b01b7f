# SPDX-License-Identifier: Apache-2.0
"""The trace of a request goes on in what is sent because of it: to the payment peer and to the receiver of
webhooks, each time with a parent of its own, also when the message is delivered by another run."""

import re

import pytest

from box_office import EVENT, SECRETS, ZONE, checkout, outcome
from databases import Database
from payment_peer import SECRET, PaymentPeer
from raw_client import Client, http
from server import wait_until
from shop import PRODUCT, EmbeddedEngine, Shop
from webhook_receiver import Receiver

PARENT = "b7ad6b7169203331"


def trace(number):
    return f"{number:032x}"


def given(number):
    return f"00-{trace(number)}-{PARENT}-01"


@pytest.fixture
def shop(started, tmp_path):
    one = Shop(Database("sqlite", started("sqlite"), "traced"), EmbeddedEngine(tmp_path))
    yield one
    one.servers.close()


@pytest.fixture
def receiver():
    with Receiver(SECRET) as one:
        yield one
        assert one.forged == 0


def serve(shop, *flags, lease="60s", timeout="5s"):
    """The lease is long against every wait, so that no checkout leaves the process that began it."""
    server = shop.serve("--saga-lease", lease, "--payment-timeout", timeout, *flags, env=SECRETS)
    server.call("SEATS.OPEN", EVENT, ZONE, 100)
    server.call("STOCK.LOAD", PRODUCT, 10)
    return server


def split(header):
    version, name, parent, flags = re.fullmatch(
        r"(..)-([0-9a-f]{32})-([0-9a-f]{16})-(..)", header).groups()
    assert version == "00" and int(parent, 16) and int(name, 16)
    return name, parent, flags


def told(receiver, subject, kind):
    """The trace, the parent and the data of a message that was heard."""
    def found():
        with receiver.lock:
            for event, (headers, _) in zip(receiver.seen, receiver.raw):
                if event["type"] == kind and subject in event["data"].values():
                    return split(headers["traceparent"])[:2], event["data"]
        return None
    return wait_until(found, f"{kind} of {subject}")


def test_a_checkout_tells_the_peer_and_the_receiver_whose_it_is(shop, receiver):
    with PaymentPeer(lambda payment, verb, times: "pending" if verb == "charge" else "ok") as peer:
        server = serve(shop, "--payment-url", peer.url, "--webhook-url", receiver.url)
        answer = http(server.http_port, "POST", f"/v1/events/{EVENT}/checkout",
                      {"zone_id": ZONE, "user_id": "ann", "quantity": 1, "max_per_user": 9,
                       "unit_price": 4500, "booking_id": "b-1", "saga_id": "s-1"},
                      [f"traceparent: {given(1)}", "tracestate: rojo=1,congo=2", "X-Request-Id: web-1",
                       "Prefer: wait=30"])
        assert answer.status == 202 and answer.json["status"] == "COMPLETED", answer
        requests = list(peer.book.requests)
        assert [verb for verb, _ in requests][:2] == ["charge", "ask"]
        seen = [split(headers["traceparent"]) for _, headers in requests]
        assert {name for name, _, _ in seen} == {trace(1)} and {flags for _, _, flags in seen} == {"01"}
        assert len({parent for _, parent, _ in seen} | {PARENT}) == len(seen) + 1
        assert {headers["tracestate"] for _, headers in requests} == {"rojo=1,congo=2"}
        assert {headers["X-Request-Id"] for _, headers in requests} == {"web-1"}
        for kind in ("booking.reserved", "booking.confirmed"):
            (name, parent), data = told(receiver, "b-1", kind)
            assert name == trace(1) and parent != PARENT and "traceparent" not in data


@pytest.mark.parametrize("bad", [f"00-{trace(0)}-{PARENT}-01", f"ff-{trace(7)}-{PARENT}-01",
                                 f"00-{trace(7)}-{PARENT}-01-more", "a: b"])
def test_a_bad_trace_is_passed_on_to_nobody(shop, bad):
    with PaymentPeer() as peer:
        server = serve(shop, "--payment-url", peer.url)
        http(server.http_port, "POST", f"/v1/events/{EVENT}/checkout",
             {"zone_id": ZONE, "user_id": "ann", "quantity": 1, "max_per_user": 9, "unit_price": 4500},
             [f"traceparent: {bad}", "tracestate: rojo=1", "X-Request-Id: a b", "Prefer: wait=30"])
        (_, headers), = peer.book.requests
        assert split(headers["traceparent"])[0] not in bad and headers["tracestate"] is None
        assert re.fullmatch(r"[0-9a-f]+(-[0-9a-f]+){2}", headers["X-Request-Id"])


def test_each_message_has_the_trace_of_its_own_request(shop, receiver):
    receiver.status = 500
    server = serve(shop, "--webhook-url", receiver.url)
    requests = [
        ("o-1", "order.sold", ["STOCK.BUY", PRODUCT, "o-1", "ann", 1]),
        ("o-1", "order.returned", ["STOCK.RETURN", PRODUCT, "o-1"]),
        ("b-1", "booking.reserved", ["SEATS.RESERVE", EVENT, ZONE, "b-1", "bob", 1, 4]),
        (None, None, ["SEATS.RESERVE", EVENT, ZONE, "b-1", "bob", 1, 4]),  # again: told once
        (None, None, ["SEATS.EXTEND", EVENT, "b-1", "10m"]),
        ("b-1", "booking.confirmed", ["SEATS.CONFIRM", EVENT, "b-1"]),
        ("b-1", "booking.cancelled", ["SEATS.REFUND", EVENT, "b-1"]),
        ("b-2", "booking.reserved", ["SEATS.RESERVE", EVENT, ZONE, "b-2", "bob", 1, 4]),
        ("b-2", "booking.cancelled", ["SEATS.RELEASE", EVENT, "b-2"]),
    ]
    with Client(server.resp_port) as client:
        for number, (_, _, words) in enumerate(requests, 1):
            assert client.call("CLIENT", "TRACEPARENT", given(number)) == "OK"
            assert client.call(*words)[0] == 1, words
            shop_has(shop, number, requests)
    server.restart()  # another run delivers what this one could not
    receiver.status = 200
    for number, (subject, kind, _) in enumerate(requests, 1):
        if kind is not None:
            (name, _), data = told(receiver, subject, kind)
            assert (name, kind, "traceparent" in data) == (trace(number), kind, False)
    wait_until(lambda: receiver.of("b-2") == ["booking.reserved", "booking.cancelled"], "all is heard")
    assert receiver.of("b-1") == ["booking.reserved", "booking.confirmed", "booking.cancelled"]
    assert receiver.of("o-1") == ["order.sold", "order.returned"]


def shop_has(shop, number, requests):
    """The notices of the first so many requests stand in the ledger: rows of holds are written behind
    the answer."""
    wanted = sum(kind is not None for _, kind, _ in requests[:number])
    wait_until(lambda: shop.rows("SELECT COUNT(*) FROM outbox")[0][0] == wanted, f"{wanted} notices")


def test_a_checkout_over_resp_and_one_that_goes_on_after_a_restart(shop):
    fault = {"now": "lost"}
    with PaymentPeer(lambda payment, verb, times: fault["now"]) as peer:
        peer.silence_s = 0.2
        server = serve(shop, "--payment-url", peer.url, lease="1s", timeout="500ms")
        with Client(server.resp_port) as client:
            client.call("CLIENT", "TRACEPARENT", given(5))
            client.call("SEATS.CHECKOUT", EVENT, ZONE, "ann", 1, 9, "BOOKING", "b-1", "SAGA", "s-1",
                        "PRICE", 4500)
            number = client.call("CLIENT", "ID")
        wait_until(lambda: peer.book.requests, "it is charged")
        first = peer.book.requests[0][1]
        assert split(first["traceparent"])[0] == trace(5) and first["X-Request-Id"] == f"c{number}-2"
        server.kill()
        before = len(peer.book.requests)
        fault["now"] = "ok"
        server.start()
        wait_until(lambda: outcome(checkout(server, "b-2")) == "COMPLETED", "payments work")
        wait_until(lambda: server.call("SAGA.GET", "s-1")[3] == "COMPLETED", "it goes on")
        after = [split(headers["traceparent"])[0] for _, headers in peer.book.requests[before:]
                 if headers["X-Request-Id"] is None]
        assert len(set(after)) == 1 and after[0] != trace(5), "a trace of the saga's own"
