# SPDX-License-Identifier: Apache-2.0
"""What the HTTP port refuses, asked with the real curl: every error code that can be reached
without a ledger or Redis, and every status of the protocol itself."""

import json

import pytest

from curl import Curl, header
from http_parts import (BOOKING, JSON, PASSWORD, STATUS, booking, curl, event, guarded, name,
                        reached, refused, says, server, unauthorized, users)
from raw_client import Http
from server import Server, wait_until


# ---- the request ---------------------------------------------------------------------------------

@pytest.mark.parametrize("method, path, body, code", [
    ("POST", "/bookings", booking(quantity=0), "INVALID_QUANTITY"),
    ("POST", "/bookings", booking(quantity=-1), "INVALID_QUANTITY"),
    ("POST", "/bookings", booking(quantity="0"), "INVALID_QUANTITY"),
    ("POST", "/bookings", booking(quantity=2**53), "INVALID_QUANTITY"),
    ("POST", "/bookings", booking(max_per_user=-1), "INVALID_QUANTITY"),
    ("PUT", "/zones/floor", {"capacity": -1}, "INVALID_QUANTITY"),
    ("PUT", "/zones/floor", {"capacity": 2**53}, "INVALID_QUANTITY"),
    ("POST", "/queue/admit", {"count": 0}, "INVALID_QUANTITY"),
    ("POST", "/queue", {"user_id": "ann", "max": 0}, "INVALID_QUANTITY"),
    ("POST", "/bookings", booking(unit_price=-1), "INVALID_AMOUNT"),
    ("POST", "/bookings", booking(ttl_seconds=0), "INVALID_TTL"),
    ("POST", "/bookings", booking(ttl_seconds="9ms"), "INVALID_TTL"),
    ("POST", "/bookings", booking(ttl_seconds=30 * 86400 + 1), "INVALID_TTL"),
    ("POST", "/bookings", booking(user_id=""), "INVALID_ID"),
    ("POST", "/bookings", booking(user_id="a b"), "INVALID_ID"),
    ("POST", "/bookings", booking(zone_id="{floor}"), "INVALID_ID"),
    ("POST", "/bookings", booking(booking_id="x" * 129), "INVALID_ID"),
    ("POST", "/bookings", booking(show_id="late\n"), "INVALID_ID"),
    ("PUT", "/zones/a%20b", {"capacity": 1}, "INVALID_ID"),
    ("PUT", "/zones/%00", {"capacity": 1}, "INVALID_ID"),
    ("PUT", "/zones/%ff", {"capacity": 1}, "INVALID_ID"),
    ("PUT", "/zones/", {"capacity": 1}, "INVALID_ID"),
    ("PUT", "/zones/" + "x" * 129, {"capacity": 1}, "INVALID_ID"),
    ("PUT", "/zones/%zz", {"capacity": 1}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", {}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", {"capacity": "many"}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", {"capacity": 1.5}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", {"capacity": None}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", {"capacity": [1]}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", {"capacity": 1, "colour": "red"}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor?capacity=1", {}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", {"capacity": 1, "zone": "balcony"}, "INVALID_ARGUMENT"),
    ("PUT", "/zones/floor", [], "INVALID_ARGUMENT"),
    ("POST", "/bookings", booking(lifetime="perhaps"), "INVALID_ARGUMENT"),
    ("POST", "/bookings", booking(ttl_seconds="soon"), "INVALID_ARGUMENT"),
    ("POST", "/bookings", {key: BOOKING[key] for key in BOOKING if key != "user_id"},
     "INVALID_ARGUMENT"),
], ids=lambda value: str(value)[:40])
def test_a_request_that_is_wrong_changes_nothing(curl, event, method, path, body, code):
    refused(curl.call(method, event + path, body), code)
    assert curl.get(event + "/zones/floor").json == {
        "capacity": 10, "available": 10, "reserved": 0, "confirmed": 0, "max": 0, "lifetime": 0}


@pytest.mark.parametrize("body", [
    b"{", b"capacity=1", b'{"capacity":1}x', b'{"capacity":1,"capacity":2}', b"\xff\xfe", b"null",
    b'{"capacity":1,}', b'{"capacity":01}', b"{'capacity':1}"], ids=repr)
def test_a_body_that_is_no_object(curl, event, body):
    refused(curl.put(event + "/zones/floor", body, *JSON), "INVALID_ARGUMENT")
    assert curl.get(event + "/zones/floor").json["capacity"] == 10


@pytest.mark.parametrize("path, body, code", [
    ("quotas/{}/reserve", {"amount": 0}, "INVALID_AMOUNT"),
    ("quotas/{}/refund", {"amount": -5}, "INVALID_AMOUNT"),
    ("quotas/{}/sync", {"actual": 2**53}, "INVALID_AMOUNT"),
    ("quotas/{}/reserve", {"amount": 1, "ttl_seconds": 60}, "INVALID_ARGUMENT"),
    ("quotas/{}/reserve", {"amount": 1, "hold_id": "h", "ttl_seconds": 0}, "INVALID_TTL"),
    ("semaphores/{}/acquire", {"limit": 0}, "INVALID_QUANTITY"),
    ("semaphores/{}/acquire", {"limit": 1, "heartbeat_seconds": "1ms"}, "INVALID_TTL"),
    ("semaphores/{}/acquire", {"limit": 1, "wait_ms": -1}, "INVALID_TTL"),
    ("locks/{}/lock", {"ttl_seconds": 0}, "INVALID_TTL"),
    ("locks/{}/lock", {"ttl_seconds": 1, "lock_id": "a{b"}, "INVALID_ID"),
    ("locks/{}/unlock", {}, "INVALID_ARGUMENT")], ids=str)
def test_arguments_that_are_out_of_bounds(curl, name, path, body, code):
    refused(curl.post("/v1/" + path.format(name), body), code)


def test_a_product_that_cannot_be(curl, name):
    path = f"/v1/products/{name}"
    refused(curl.put(path, {"quantity": -1}), "INVALID_QUANTITY")
    refused(curl.put(path, {"quantity": 1, "shards": 0}), "INVALID_QUANTITY")
    refused(curl.put(path, {"quantity": 1, "policy": "pray"}), "INVALID_ARGUMENT")
    refused(curl.get(path), "PRODUCT_NOT_FOUND")


def test_an_event_too_long_for_an_id_that_carries_it(curl):
    event = "/v1/events/" + "e" * 102
    assert curl.put(event + "/zones/floor", {"capacity": 10}).status == 200
    assert "booking_id" in refused(curl.post(event + "/bookings", BOOKING), "INVALID_ID")
    assert curl.post(event + "/bookings", booking(booking_id="b-1")).status == 201


# ---- seats ---------------------------------------------------------------------------------------

def test_more_seats_than_there_are(curl, event):
    message = refused(curl.post(event + "/bookings", booking(quantity=11, max_per_user=20)),
                      "INSUFFICIENT_STOCK")
    assert "10" in message and "11" in message, "available and requested"


def test_more_seats_than_one_may_have(curl, event):
    assert curl.post(event + "/bookings", booking(quantity=3)).status == 201
    refused(curl.post(event + "/bookings", booking(quantity=2)), "USER_LIMIT_EXCEEDED")
    assert curl.post(event + "/bookings", booking(quantity=1)).json["user_reserved"] == 4


def test_the_order_of_the_checks(curl, event):
    """Quantity, zone, stock, user: the first that fails is told."""
    wrong = {"max_per_user": 0, "quantity": 11, "zone_id": "balcony"}
    refused(curl.post(event + "/bookings", booking(**{**wrong, "quantity": 0})), "INVALID_QUANTITY")
    refused(curl.post(event + "/bookings", booking(**wrong)), "ZONE_NOT_FOUND")
    refused(curl.post(event + "/bookings", booking(quantity=11, max_per_user=0)),
            "INSUFFICIENT_STOCK")
    refused(curl.post(event + "/bookings", booking(max_per_user=0)), "USER_LIMIT_EXCEEDED")


def test_zones_that_are_not_there(curl, event):
    refused(curl.get(event + "/zones/balcony"), "ZONE_NOT_FOUND")
    refused(curl.get("/v1/events/no-such/zones/floor"), "ZONE_NOT_FOUND")


def test_bookings_that_are_not_there(curl, event):
    for path in (event + "/bookings/none", "/v1/bookings/none",
                 "/v1/bookings/0123456789ABCDEFGHJKMNPQRS.no-such"):
        refused(curl.get(path), "RESERVATION_NOT_FOUND")
        for verb, body in (("confirm", {}), ("cancel", {}), ("extend", {"ttl_seconds": 60})):
            refused(curl.post(f"{path}/{verb}", body), "RESERVATION_NOT_FOUND")


def test_a_booking_that_is_due_is_gone(curl, event):
    path = event + "/bookings/b-1"
    curl.post(event + "/bookings", booking(booking_id="b-1", ttl_seconds="20ms"))
    wait_until(lambda: curl.get(path).status == 404, "due")
    refused(curl.post(path + "/confirm"), "RESERVATION_NOT_FOUND")
    assert curl.get(event + "/zones/floor").json["available"] == 10
    refused(curl.post(event + "/bookings", booking(quantity=3)), "USER_LIMIT_EXCEEDED")


def test_an_id_that_is_in_use(curl, event):
    assert curl.post(event + "/bookings", booking(booking_id="b-1")).status == 201
    for other in ({"quantity": 1}, {"user_id": "bob"}, {"ttl_seconds": 5}, {"unit_price": 1}):
        refused(curl.post(event + "/bookings", booking(booking_id="b-1", **other)),
                "BOOKING_EXISTS")


def test_what_is_confirmed_stays(curl, event):
    path = event + "/bookings/b-1"
    curl.post(event + "/bookings", booking(booking_id="b-1"))
    assert curl.post(path + "/confirm", {"payment_id": "p-1"}).status == 200
    refused(curl.post(path + "/confirm", {"payment_id": "p-2"}), "INVALID_STATE")
    refused(curl.post(path + "/cancel"), "INVALID_STATE")
    refused(curl.post(path + "/extend", {"ttl_seconds": 60}), "INVALID_STATE")


def test_the_booking_of_somebody_else(curl, event):
    path = event + "/bookings/b-1"
    curl.post(event + "/bookings", booking(booking_id="b-1"))
    refused(curl.post(path + "/confirm", {"user_id": "bob"}), "NOT_OWNER")
    refused(curl.post(path + "/cancel", {"user_id": "bob"}), "NOT_OWNER")
    assert curl.post(path + "/confirm", {"user_id": "ann"}).status == 200


def test_a_zone_that_is_too_full_to_shrink(curl, event):
    curl.post(event + "/bookings", BOOKING)
    refused(curl.put(event + "/zones/floor", {"capacity": 1}), "CAPACITY_IN_USE")
    assert curl.put(event + "/zones/floor", {"capacity": 2}).json["available"] == 0


# ---- the others ----------------------------------------------------------------------------------

def test_quotas(curl, name):
    path = f"/v1/quotas/{name}"
    refused(curl.post(path + "/reserve", {"amount": 1}), "QUOTA_EXCEEDED")
    curl.put(path, {"limit": 10})
    assert curl.post(path + "/reserve", {"amount": 10, "hold_id": "h"}).status == 200
    answer = curl.post(path + "/reserve", {"amount": 1})
    refused(answer, "QUOTA_EXCEEDED")
    assert int(answer.headers["retry-after"]) > 0
    refused(curl.post(path + "/reserve", {"amount": 9, "hold_id": "h"}), "INVALID_STATE")
    for verb in ("commit", "cancel"):
        refused(curl.post(f"{path}/{verb}", {"hold_id": "none"}), "HOLD_NOT_FOUND")
    assert curl.post(path + "/commit", {"hold_id": "h"}).status == 200
    refused(curl.post(path + "/cancel", {"hold_id": "h"}), "INVALID_STATE")


def test_semaphores(curl, name):
    path = f"/v1/semaphores/{name}"
    assert curl.post(path + "/acquire", {"id": "one", "limit": 1}).status == 200
    answer = curl.post(path + "/acquire", {"id": "two", "limit": 1})
    refused(answer, "NO_SLOT")
    assert int(answer.headers["retry-after"]) > 0
    refused(curl.post(path + "/acquire", {"limit": 1, "wait_ms": 30}), "TIMEOUT")
    assert curl.get(path).json == {"in_use": 1, "max": 1, "waiting": 0}, "no trace of them"
    refused(curl.post(path + "/acquire", {"id": "one", "limit": 1, "ttl_seconds": 5}),
            "INVALID_STATE")


def test_locks(curl, name):
    path = f"/v1/locks/{name}"
    refused(curl.get(path), "NOT_FOUND")
    assert curl.post(path + "/lock", {"ttl_seconds": 60, "lock_id": "mine"}).status == 200
    refused(curl.post(path + "/lock", {"ttl_seconds": 60}), "LOCKED")
    refused(curl.post(path + "/lock", {"ttl_seconds": 60, "lock_id": "yours"}), "LOCKED")


def test_products(curl, server, name):
    path = f"/v1/products/{name}"
    refused(curl.get(path), "PRODUCT_NOT_FOUND")
    curl.put(path, {"quantity": 5})
    server.call("STOCK.TAKE", name, "order", "ann", 3)
    refused(curl.put(path, {"quantity": 2}), "CAPACITY_IN_USE")
    refused(curl.delete(path), "INVALID_STATE")
    assert curl.get(path).json["available"] == 2


def test_orders(curl, name):
    path = f"/v1/products/{name}"
    take = {"order_id": "o-1", "user_id": "ann", "quantity": 3}
    refused(curl.post(path + "/takes", take), "PRODUCT_NOT_FOUND")
    curl.put(path, {"quantity": 5})
    refused(curl.post(path + "/takes", {**take, "quantity": 0}), "INVALID_QUANTITY")
    refused(curl.post(path + "/takes", {**take, "quantity": 6}), "SOLD_OUT")
    refused(curl.post(path + "/takes/o-1/settle"), "NOT_FOUND")
    refused(curl.post(path + "/takes/o-1/give"), "NOT_FOUND")
    assert curl.post(path + "/takes", take).status == 201
    refused(curl.post(path + "/takes", {**take, "user_id": "bob"}), "INVALID_STATE")
    refused(curl.post(path + "/adjust", {"delta": -3, "reason": "lost"}), "CAPACITY_IN_USE")
    assert "reason" in refused(curl.post(path + "/adjust", {"delta": 1}), "INVALID_ARGUMENT")
    refused(curl.post(path + "/takes", {**take, "order_id": "o-2", "quantity": 1, "max": 3}),
            "USER_LIMIT_EXCEEDED")
    for verb, more in (("settle", {}), ("give", {}), ("extend", {"ttl_seconds": 60})):
        refused(curl.post(f"{path}/takes/o-1/{verb}", {"user_id": "bob", **more}), "NOT_OWNER")
    refused(curl.post(path + "/takes/o-1/extend", {"ttl_seconds": 0}), "INVALID_TTL")
    refused(curl.post(path + "/takes/o-2/extend", {"ttl_seconds": 60}), "NOT_FOUND")
    assert curl.post(path + "/takes/o-1/settle").status == 200
    refused(curl.post(path + "/takes/o-1/give"), "INVALID_STATE")
    refused(curl.post(path + "/takes/o-1/extend", {"ttl_seconds": 60}), "INVALID_STATE")


def test_lines(curl, name):
    path = f"/v1/events/{name}/queue"
    refused(curl.get(path + "/ann"), "NOT_IN_QUEUE")
    refused(curl.get(path + "/ann/stream"), "NOT_IN_QUEUE")
    assert curl.post(path, {"user_id": "ann", "max": 1}).status == 201
    refused(curl.post(path, {"user_id": "ann"}), "ALREADY_IN_QUEUE")
    refused(curl.post(path, {"user_id": "bob", "max": 1}), "QUEUE_FULL")
    assert curl.delete(path + "/bob").json == {"left": 0}


# ---- who may -------------------------------------------------------------------------------------

def test_strangers_are_asked_who_they_are(guarded):
    stranger = guarded(None)
    for method, path, body in (("GET", "/v1/quotas/acme", None),
                               ("PUT", "/v1/quotas/acme", {"limit": 1}),
                               ("POST", "/v1/quotas/acme/reserve", {"amount": 1}),
                               ("DELETE", "/v1/events/gala/queue/ann", None),
                               ("GET", "/v1/events/gala/queue/ann/stream", None),
                               ("GET", "/v1/feed", None), ("GET", "/metrics", None),
                               ("GET", "/v1/info", None), ("POST", "/v1/audit", b""),
                               ("POST", "/v1/snapshot", b"")):
        unauthorized(stranger.call(method, path, body))
    for path in ("/", "/livez", "/readyz", "/v1/openapi.json"):
        assert stranger.get(path).status == 200


@pytest.mark.parametrize("words", [
    ("--oauth2-bearer", "wrong"), ("--basic", "--user", "ann:wrong"),
    ("--basic", "--user", "nobody:" + PASSWORD), header("Authorization", "Bearer"),
    header("Authorization", "Digest x"), header("Authorization", "Basic ?")], ids=str)
def test_wrong_secrets(guarded, words):
    unauthorized(guarded(None).get("/v1/quotas/acme", *words))


def test_a_user_with_a_password(guarded):
    ann = guarded(None).having("--basic", "--user", "ann:" + PASSWORD)
    assert ann.put("/v1/quotas/of-ann", {"limit": 1}).status == 200


def test_each_role_may_do_what_those_before_it_may(guarded):
    rank = {"reader": 0, "writer": 1, "chief": 2}
    for who in rank:
        one = guarded(who)
        for needed, method, path, body in (
                (0, "GET", "/v1/quotas/acme", None), (0, "GET", "/v1/info", None),
                (0, "GET", "/metrics", None), (1, "PUT", "/v1/quotas/acme", {"limit": 1}),
                (1, "DELETE", "/v1/events/gala/queue/ann", None), (2, "POST", "/v1/audit", b"")):
            answer = one.call(method, path, body)
            if rank[who] >= needed:
                assert answer.status == 200, (who, path)
            else:
                refused(answer, "FORBIDDEN")
    refused(guarded("writer").get("/v1/feed"), "FORBIDDEN")
    refused(guarded("writer").post("/v1/snapshot"), "FORBIDDEN")
    with guarded("chief").stream("/v1/feed") as stream:
        assert stream.status == 200


def test_pages_of_other_sites(curl, name):
    path = f"/v1/quotas/{name}"
    refused(curl.put(path, {"limit": 1}, *header("Origin", "https://evil.example")), "FORBIDDEN")
    assert curl.get(path).json["limit"] == 0
    own = header("Origin", f"http://127.0.0.1:{curl.port}")
    assert curl.put(path, {"limit": 1}, *own).status == 200


# ---- HTTP itself ---------------------------------------------------------------------------------

def test_paths_that_are_not_there(curl):
    for method, path in (("GET", "/v2/info"), ("GET", "/v1"), ("GET", "/v1/"), ("GET", "/livez/"),
                         ("GET", "//livez"), ("POST", "/v1/quotas/acme/reserve/now"),
                         ("DELETE", "/nowhere"), ("GET", "/V1/info"), ("OPTIONS", "/nowhere")):
        refused(curl.call(method, path, b"" if method == "POST" else None), "NOT_FOUND")


@pytest.mark.parametrize("method, path, allowed", [
    ("DELETE", "/v1/events/gala/zones/floor", "GET HEAD PUT OPTIONS"),
    ("DELETE", "/v1/events/gala/bookings", "GET HEAD POST OPTIONS"),
    ("POST", "/v1/events/gala/queue/ann", "GET HEAD DELETE OPTIONS"),
    ("PATCH", "/v1/quotas/acme", "GET HEAD PUT DELETE OPTIONS"), ("GET", "/v1/audit", "POST OPTIONS"),
    ("POST", "/livez", "GET HEAD OPTIONS"), ("TRACE", "/", "GET HEAD OPTIONS"),
    ("GET", "/v1/locks/r/unlock", "POST OPTIONS")])
def test_405_methods_that_a_path_does_not_have(curl, method, path, allowed):
    answer = curl.call(method, path, b"" if method == "POST" else None)
    assert answer.status == 405 and says(answer)
    assert set(answer.headers["allow"].split(", ")) == set(allowed.split())


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_411_a_body_of_unknown_length(curl, method):
    answer = curl.call(method, "/v1/quotas/acme", None)
    assert answer.status == 411 and says(answer)
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("words", [
    header("Expect", "100-continue"), header("Expect", ""), header("Transfer-Encoding", "chunked")],
    ids=["asked_first", "sent_at_once", "in_chunks"])
def test_413_a_body_that_is_too_large(curl, name, words):
    path = f"/v1/quotas/{name}"
    curl.put(path, {"limit": 9})
    body = json.dumps({"amount": 1}).encode() + b" " * (2 << 20)
    answer = curl.post(path + "/reserve", body, *JSON, *words)
    refused(answer, "PAYLOAD_TOO_LARGE")
    assert answer.headers["connection"] == "close"
    assert curl.get(path).json["used"] == 0


def test_413_is_as_large_as_it_was_told():
    with Server("--max-body", "2k", memory=True) as server:
        curl = Curl(server.http_port)
        body = json.dumps({"limit": 1}).encode()
        assert curl.put("/v1/quotas/acme", body + b" " * (2048 - len(body)), *JSON).status == 200
        refused(curl.put("/v1/quotas/acme", body + b" " * (2049 - len(body)), *JSON),
                "PAYLOAD_TOO_LARGE")


def test_414_a_path_that_is_too_long(curl):
    assert curl.get("/v1/quotas/" + "a" * 8000).code == "INVALID_ID", "long, but not too long"
    answer = curl.get("/v1/quotas/" + "a" * 9000)
    assert answer.status == 414 and says(answer)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded",
                                  "application/jsonx", "text/json"])
def test_415_a_body_of_another_kind(curl, name, kind):
    path = f"/v1/quotas/{name}"
    answer = curl.put(path, b'{"limit":5}', *header("Content-Type", kind))
    assert answer.status == 415 and says(answer)
    assert curl.get(path).json["limit"] == 0


def test_417_an_expectation_that_nobody_meets(curl):
    answer = curl.put("/v1/quotas/acme", {"limit": 5}, *header("Expect", "a-miracle"))
    assert answer.status == 417 and says(answer)


def test_431_headers_that_are_too_large(curl):
    assert curl.get("/livez", *header("X-Long", "a" * 15_000)).status == 200
    for words in (header("X-Long", "a" * 17_000),
                  [word for i in range(20) for word in header(f"X-{i}", "a" * 1000)]):
        answer = curl.get("/livez", *words)
        assert answer.status == 431 and says(answer)


def test_501_methods_and_codings_that_are_none(curl):
    for method in ("BREW", "get", "X" * 40):
        answer = curl.call(method, "/v1/quotas/acme")
        assert answer.status == 501 and says(answer)
    gzip = header("Transfer-Encoding", "gzip, chunked")
    answer = curl.put("/v1/quotas/acme", {"limit": 5}, *gzip)
    assert answer.status == 501 and says(answer)


@pytest.mark.parametrize("version", ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9"])
def test_505_other_versions(server, version):
    """Which curl does not send."""
    with Http(server.http_port) as connection:
        connection.socket.sendall(f"GET /livez {version}\r\nHost: x\r\n\r\n".encode())
        answer = connection.read()
        assert answer.status == 505 and says(answer)
        assert connection.file.read() == b"", "and the connection ends"


def test_408_a_request_that_does_not_come_to_its_end():
    with Server("--request-timeout", "100ms", memory=True) as server:
        with Http(server.http_port) as connection:
            connection.socket.sendall(b"GET /livez HTTP/1.1\r\nHost:")
            refused(connection.read(), "TIMEOUT")
            assert connection.file.read() == b""


@pytest.mark.parametrize("words", [
    header("Transfer-Encoding", "chunked") + header("Content-Length", "3"), header("Host", ""),
    header("Transfer-Encoding", "gzip"), header("Content-Length", "x"),
    header("Content-Type", "text/plain") + JSON], ids=[
        "two_lengths", "no_host", "no_end", "no_length", "two_types"])
def test_400_what_could_be_read_in_two_ways(curl, name, words):
    answer = curl.put(f"/v1/quotas/{name}", {"limit": 5}, *words)
    assert answer.status == 400 and says(answer)
    assert answer.headers["connection"] == "close"
    assert curl.get(f"/v1/quotas/{name}").json["limit"] == 0


# ---- all of it -----------------------------------------------------------------------------------

def test_no_code_was_left_out(request):
    """The codes of the contract; the last test of this file."""
    ran = {item.originalname for item in request.session.items if item.module is request.module}
    if not {name for name in vars(request.module) if name.startswith("test_")} <= ran:
        pytest.skip("not all tests of this file were run")
    of_keys = {"IN_PROGRESS", "KEY_REUSED"}  # test_http_keys.py has them
    assert sorted(set(STATUS) - of_keys - reached) == []
