# SPDX-License-Identifier: Apache-2.0
"""Every route of the HTTP port, asked for with the real curl."""

import base64
import json
import re
import time

import pytest

from curl import Document, header
from http_parts import curl, done, name, refused, reserve, room, server

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@pytest.fixture(scope="module")
def document(curl):
    return Document(curl.get("/v1/openapi.json").json)


def is_now(time_ms):
    return abs(time_ms / 1000 - time.time()) < 60


# ---- seats ---------------------------------------------------------------------------------------

RECORD = ("booking_id", "user_id", "zone_id", "event_id", "show_id", "quantity", "unit_price",
          "status", "created_at", "expires_at")
CONFIRMED = ("confirmed_at", "payment_id", "confirmation_code")


def test_a_zone(curl, name):
    zone = f"/v1/events/{name}/zones/floor"
    assert done(curl.put(zone, {"capacity": 10}), 200, "available", "capacity") == {
        "available": 10, "capacity": 10}
    assert curl.put(zone, {"capacity": 12}).json == {"available": 12, "capacity": 12}
    totals = {"capacity": 12, "available": 12, "reserved": 0, "confirmed": 0}
    assert done(curl.get(zone), 200, *totals, "max", "lifetime") == {
        **totals, "max": 0, "lifetime": 0}
    assert curl.put(zone, {"capacity": 12, "max": 2, "lifetime": True}).status == 200
    assert curl.get(zone).json == {**totals, "max": 2, "lifetime": 1}
    assert curl.put(zone, {"capacity": 12, "lifetime": True}).code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("made", [False, True], ids=["by_its_event", "by_itself"])
def test_a_booking_from_beginning_to_end(curl, name, made):
    curl.put(f"/v1/events/{name}/zones/floor", {"capacity": 10})
    ids = {} if made else {"booking_id": "b-1"}
    booked = reserve(curl, name, show_id="late", unit_price=4500, ttl_seconds=60, **ids)
    assert (booked["status"], booked["remaining"], booked["user_reserved"]) == ("reserved", 8, 2)
    assert is_now(booked["expires_at"] - 60_000)
    assert booked["booking_id"].endswith("." + name) if made else booked["booking_id"] == "b-1"
    path = f"/v1/bookings/{booked['booking_id']}" if made else f"/v1/events/{name}/bookings/b-1"

    record = done(curl.get(path), 200, *RECORD)
    assert is_now(record.pop("created_at"))
    assert record == {
        "booking_id": booked["booking_id"], "user_id": "ann", "zone_id": "floor", "event_id": name,
        "show_id": "late", "quantity": 2, "unit_price": 4500, "status": "reserved",
        "expires_at": booked["expires_at"]}

    later = done(curl.post(path + "/extend", {"ttl_seconds": "3m"}), 200, "expires_at_ms")
    assert is_now(later["expires_at_ms"] - 180_000)
    assert curl.get(path).json["expires_at"] == later["expires_at_ms"]

    paid = done(curl.post(path + "/confirm", {"payment_id": "p-1"}), 200, "status",
                "confirmation_code")
    assert paid["status"] == "CONFIRMED"
    assert len(paid["confirmation_code"]) == 10 and set(paid["confirmation_code"]) <= set(CROCKFORD)
    assert curl.post(path + "/confirm", {"payment_id": "p-1"}).json == paid, "and again"
    record = done(curl.get(path), 200, *RECORD, *CONFIRMED)
    assert (record["status"], record["payment_id"]) == ("confirmed", "p-1")
    assert record["confirmation_code"] == paid["confirmation_code"]
    assert curl.get(f"/v1/events/{name}/zones/floor").json == {
        "capacity": 10, "available": 8, "reserved": 0, "confirmed": 2, "max": 0, "lifetime": 0}
    assert done(curl.get(f"/v1/events/{name}/users/ann"), 200, "held", "confirmed") == {
        "held": 0, "confirmed": 2}

    assert curl.post(path + "/refund", {"user_id": "bob"}).code == "NOT_OWNER"
    back = done(curl.post(path + "/refund", {"user_id": "ann"}), 200, "status", "available")
    assert back == {"status": "REFUNDED", "available": 10}
    assert curl.post(path + "/refund").json == back, "and again"
    assert curl.get(path).code == "RESERVATION_NOT_FOUND"


@pytest.mark.parametrize("made", [False, True], ids=["by_its_event", "by_itself"])
def test_a_booking_that_is_cancelled(curl, name, made):
    curl.put(f"/v1/events/{name}/zones/floor", {"capacity": 10})
    booked = reserve(curl, name, **({} if made else {"booking_id": "b-1"}))
    path = f"/v1/bookings/{booked['booking_id']}" if made else f"/v1/events/{name}/bookings/b-1"
    back = done(curl.post(path + "/cancel"), 200, "status", "available", "user_reserved")
    assert back == {"status": "SUCCESS", "available": 10, "user_reserved": 0}
    assert curl.post(path + "/cancel", {"user_id": "ann"}).json == back, "and again"
    assert curl.get(path).code == "RESERVATION_NOT_FOUND"


def test_a_booking_twice_is_one(curl, name):
    curl.put(f"/v1/events/{name}/zones/floor", {"capacity": 10})
    first = reserve(curl, name, booking_id="b-1")
    assert reserve(curl, name, booking_id="b-1") == first
    assert reserve(curl, name)["remaining"] == 6, "without an id it is another one"


# ---- quotas, semaphores, locks, products ---------------------------------------------------------

def test_a_quota(curl, name):
    quota = f"/v1/quotas/{name}"
    both = ("used", "limit")
    assert done(curl.put(quota, {"limit": 100}), 200, *both) == {"used": 0, "limit": 100}
    steps = [("reserve", {"amount": 30}, 30), ("reserve", {"amount": 20, "hold_id": "h-1"}, 50),
             ("reserve", {"amount": 5, "hold_id": "h-2", "ttl_seconds": 60}, 55),
             ("commit", {"hold_id": "h-1"}, 55), ("cancel", {"hold_id": "h-2"}, 50),
             ("sync", {"actual": 70}, 70)]
    for verb, body, used in steps:
        assert done(curl.post(f"{quota}/{verb}", body), 200, *both) == {
            "used": used, "limit": 100}, verb
    assert done(curl.post(quota + "/refund", {"amount": 90}), 200, "used") == {"used": 0}
    curl.post(quota + "/reserve", {"amount": 7, "hold_id": "h-3"})
    assert done(curl.get(quota), 200, "used", "limit", "held") == {
        "used": 7, "limit": 100, "held": 7}


def test_a_semaphore(curl, name):
    path = f"/v1/semaphores/{name}"
    body = {"id": "one", "limit": 2, "heartbeat_seconds": 30, "ttl_seconds": "1h"}
    first = done(curl.post(path + "/acquire", body), 200, "id", "in_use", "fence")
    assert (first["id"], first["in_use"]) == ("one", 1)
    assert curl.post(path + "/acquire", body).json == first, "and again"
    second = done(curl.post(path + "/acquire", {"limit": 2}), 200, "id", "in_use", "fence")
    assert second["in_use"] == 2 and second["fence"] > first["fence"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", second["id"])
    assert done(curl.get(path), 200, "in_use", "max", "waiting") == {
        "in_use": 2, "max": 2, "waiting": 0}
    for who, slot in (("one", 1), (second["id"], 1), ("nobody", 0)):
        assert done(curl.post(path + "/ping", {
            "id": who, "heartbeat_seconds": 30, "ttl_seconds": 3600}), 200, "changed_waiting",
            "changed_slot") == {"changed_waiting": 0, "changed_slot": slot}
    for released in (1, 0):
        assert done(curl.post(path + "/release", {"id": "one"}), 200, "released") == {
            "released": released}
    assert curl.get(path).json["in_use"] == 1


def test_several_slots_of_a_semaphore(curl, name):
    path = f"/v1/semaphores/{name}"
    got = done(curl.post(path + "/acquire", {"id": "one", "limit": 3, "slots": 2}), 200, "id",
               "in_use", "fence")
    assert got["in_use"] == 2
    assert curl.post(path + "/acquire", {"id": "two", "limit": 3, "slots": 2}).code == "NO_SLOT"
    refused = curl.post(path + "/acquire", {"id": "two", "limit": 3, "slots": 4})
    assert refused.code == "INVALID_QUANTITY"
    assert curl.post(path + "/acquire", {"id": "one", "limit": 3}).code == "INVALID_STATE"
    assert done(curl.get(path + "/card"), 200, "in_use") == {"in_use": 2}


def test_the_clients_of_a_semaphore(curl, name):
    path = f"/v1/semaphores/{name}"
    fence = curl.post(path + "/acquire", {"id": "one", "limit": 2, "slots": 2}).json["fence"]
    curl.post(path + "/queue", {"id": "two", "heartbeat_seconds": 30, "ttl_seconds": 60})
    page = done(curl.get(path + "/clients"), 200, "cursor", "items")
    assert page["cursor"] == ""
    one, two = sorted(page["items"], key=lambda item: item["id"])
    assert (one["state"], one["slots"], one["fence"]) == ("holding", 2, fence)
    assert (two["state"], two["slots"], two["position"]) == ("waiting", 1, 1)
    assert curl.get(path + "/clients?after=!").code == "INVALID_ARGUMENT"


def test_the_line_of_a_semaphore_by_hand(curl, name):
    path = f"/v1/semaphores/{name}"
    times = {"heartbeat_seconds": 30, "ttl_seconds": "1h"}
    for who, position in (("one", 1), ("two", 2), ("one", 1)):
        assert done(curl.post(path + "/queue", {"id": who, **times}), 200, "position") == {
            "position": position}
    for granted in (1, 0):
        assert done(curl.post(path + "/wake", {"limit": 1, **times}), 200, "granted") == {
            "granted": granted}
    for who, changed in (("one", 1), ("two", 0)):
        assert done(curl.post(path + "/confirm", {"id": who, "limit": 1, **times}), 200, "changed",
                    "in_use") == {"changed": changed, "in_use": 1}
    assert done(curl.get(path + "/card"), 200, "in_use") == {"in_use": 1}


def test_a_lock(curl, name):
    path = f"/v1/locks/{name}"
    lock = done(curl.post(path + "/lock", {"ttl_seconds": 60, "lock_id": "mine"}), 200, "lock_id",
                "fence")
    assert lock["lock_id"] == "mine"
    assert curl.post(path + "/lock", {"ttl_seconds": 60, "lock_id": "mine"}).json == lock
    held = done(curl.get(path), 200, "lock_id", "fence", "ttl_ms")
    assert 0 < held.pop("ttl_ms") <= 60_000
    assert held == lock
    for who, counts in (("yours", 0), ("mine", 1)):
        assert done(curl.post(path + "/extend", {"lock_id": who, "ttl_seconds": 90}), 200,
                    "extended") == {"extended": counts}
        assert curl.get(path).json["ttl_ms"] > 60_000 * counts
        assert done(curl.post(path + "/unlock", {"lock_id": who}), 200, "unlocked") == {
            "unlocked": counts}
    made = curl.post(path + "/lock", {"ttl_seconds": 60}).json
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made["lock_id"])
    assert made["fence"] > lock["fence"]


def test_a_product(curl, name):
    path = f"/v1/products/{name}"
    assert done(curl.put(path, {"quantity": 40}), 200, "available") == {"available": 40}
    body = {"quantity": 50, "shards": 4, "watermark": 10, "policy": "steal"}
    assert curl.put(path, body).json == {"available": 50}
    got = done(curl.get(path), 200, "available", "taken", "sold", "loaded", "shards", "mode")
    assert got == {"available": 50, "taken": 0, "sold": 0, "loaded": 50, "shards": 4,
                   "mode": "single"}


def test_an_order_from_beginning_to_end(curl, name):
    path = f"/v1/products/{name}"
    curl.put(path, {"quantity": 10})
    body = {"order_id": "o-1", "user_id": "ann", "quantity": 3, "ttl_seconds": 60}
    for _ in range(2):
        taken = done(curl.post(path + "/takes", body), 201, "order_id", "remaining")
        assert taken == {"order_id": "o-1", "remaining": 7}
    later = done(curl.post(path + "/takes/o-1/extend", {"ttl_seconds": "3m"}), 200, "expires_at_ms")
    assert is_now(later["expires_at_ms"] - 180_000)
    settled = curl.post(path + "/takes/o-1/settle", {"user_id": "ann"})
    assert done(settled, 200, "remaining") == {"remaining": 7}
    made = done(curl.post(path + "/takes", {"user_id": "bob", "quantity": 2}), 201, "order_id",
                "remaining")
    assert made["remaining"] == 5 and made["order_id"] != "o-1"
    given = done(curl.post(f"{path}/takes/{made['order_id']}/give"), 200, "remaining")
    assert given == {"remaining": 7}
    adjusted = curl.post(path + "/adjust", {"delta": -4, "reason": "recount"})
    assert done(adjusted, 200, "available") == {"available": 3}
    assert curl.get(path).json == {"available": 3, "taken": 0, "sold": 3, "loaded": 6, "shards": 1,
                                   "mode": "single"}
    for sold, left in ((3, 3), (0, 0)):
        assert done(curl.delete(path), 200, "sold", "available") == {
            "sold": sold, "available": left}


ORDER = ("order_id", "product_id", "user_id", "quantity", "unit_price", "status", "sold_at",
         "returned_at")


def test_a_purchase_from_beginning_to_end(curl, name):
    path, order = f"/v1/products/{name}", f"{name}-o-1"
    curl.put(path, {"quantity": 3})
    body = {"order_id": order, "user_id": "ann", "quantity": 2, "max": 2, "unit_price": 12900}
    for _ in range(2):
        sold = done(curl.post(path + "/orders", body), 201, "order_id", "remaining", "status")
        assert sold == {"order_id": order, "remaining": 1, "status": "SOLD"}
    assert curl.post(path + "/orders", {**body, "quantity": 1}).code == "INVALID_STATE"
    assert curl.post(path + "/orders", {"user_id": "bob", "quantity": 2}).code == "SOLD_OUT"
    more = {"user_id": "ann", "quantity": 1, "max": 2}
    assert curl.post(path + "/orders", more).code == "USER_LIMIT_EXCEEDED"
    found = done(curl.get(f"{path}/orders/{order}"), 200, *ORDER)
    assert is_now(found.pop("sold_at"))
    assert found == {"order_id": order, "product_id": name, "user_id": "ann", "quantity": 2,
                     "unit_price": 12900, "status": "sold", "returned_at": 0}
    for _ in range(2):
        back = done(curl.post(f"{path}/orders/{order}/return"), 200, "status", "available")
        assert back == {"status": "RETURNED", "available": 3}
    found = curl.get(f"{path}/orders/{order}").json
    assert found["status"] == "returned" and is_now(found["returned_at"])
    assert curl.get(path + "/orders/nobody").code == "NOT_FOUND"
    assert curl.post(path + "/orders/nobody/return").code == "NOT_FOUND"
    opened = curl.post(path + "/open", {"shards": 2, "watermark": 1, "policy": "steal"})
    assert done(opened, 200, "available") == {"available": 3}
    assert curl.post(path + "-none/open").code == "PRODUCT_NOT_FOUND"
    for body in ({"product": name}, {"product": name, "dry": True}):
        assert done(curl.post("/v1/reconcile", body), 200, "products", "corrected", "drift") == {
            "products": 1, "corrected": 0, "drift": 0}
    assert curl.post("/v1/reconcile").json["drift"] == 0
    assert curl.post("/v1/reconcile", {"product": name + "-none"}).code == "PRODUCT_NOT_FOUND"
    replayed = curl.post("/v1/webhooks/replay", {"key": order, "type": "order.sold", "since_ms": 1})
    assert done(replayed, 200, "replayed") == {"replayed": 0}


def test_a_checkout_and_its_saga(curl, name):
    path = f"/v1/events/{name}"
    curl.put(path + "/zones/floor", {"capacity": 3})
    body = {"zone_id": "floor", "user_id": "ann", "quantity": 2, "max_per_user": 2, "unit_price": 4500}
    begun = done(curl.post(path + "/checkout", body, *header("Prefer", "wait=30")), 202,
                 "saga_id", "booking_id", "status", "provider")
    assert (begun["status"], begun["provider"]) == ("COMPLETED", "test")
    shown = curl.get(f"/v1/sagas/{begun['saga_id']}")
    assert (shown.status, shown.json["booking_id"], shown.json["amount"]) == (200, begun["booking_id"], 9000)
    late = curl.post(path + "/checkout", {**body, "user_id": "bob"}, *header("Prefer", "wait=30"))
    assert (late.status, late.code) == (409, "INSUFFICIENT_STOCK")
    fraction = curl.post(path + "/checkout", {**body, "unit_price": 4.5})
    assert (fraction.status, fraction.code) == (400, "INVALID_ARGUMENT") and "minor units" in fraction.json[
        "error"]["message"]


def test_a_purchase_is_made_once_for_a_key(curl, name):
    path, key = f"/v1/products/{name}", header("Idempotency-Key", name)
    curl.put(path, {"quantity": 3})
    body = {"user_id": "ann", "quantity": 1}
    first = done(curl.post(path + "/orders", body, *key), 201, "order_id", "remaining", "status")
    again = curl.post(path + "/orders", body, *key)
    assert (again.status, again.json) == (201, first)
    assert again.headers["idempotency-replayed"] == "true"
    assert curl.get(path).json["available"] == 2


# ---- keys ----------------------------------------------------------------------------------------

def test_a_key(curl, name):
    path, begin = f"/v1/keys/{name}", {"fingerprint": "print"}
    assert done(curl.post(path + "/begin", begin), 200, "state") == {"state": "NEW"}
    refused(curl.post(path + "/begin", begin), "IN_PROGRESS")
    refused(curl.post(path + "/begin", {"fingerprint": "other"}), "KEY_REUSED")
    assert done(curl.post(path + "/abort"), 200, "aborted") == {"aborted": 1}
    assert curl.post(path + "/abort").json == {"aborted": 0}
    assert curl.post(path + "/complete", {"response": "late"}).json == {"completed": 0}
    curl.post(path + "/begin", begin)
    response = {"response": '{"status":201}', "ttl_seconds": 60}
    assert done(curl.post(path + "/complete", response), 200, "completed") == {"completed": 1}
    assert done(curl.post(path + "/begin", begin), 200, "state", "response") == {
        "state": "COMPLETED", "response": '{"status":201}'}


@pytest.mark.parametrize("response", [b"", bytes(range(256)), b"nul\0", "gültig".encode()])
def test_a_key_with_a_response_of_any_bytes(curl, name, response):
    """What JSON can carry comes back as a text, all else in base 64; either is taken."""
    path = f"/v1/keys/{name}"
    coded = base64.b64encode(response).decode()
    curl.post(path + "/begin", {"fingerprint": "print"})
    assert curl.post(path + "/complete", {"response_base64": coded}).json == {"completed": 1}
    plain = b"\0" not in response
    field, value = ("response", response.decode()) if plain else ("response_base64", coded)
    assert curl.post(path + "/begin", {"fingerprint": "print"}).json == {
        "state": "COMPLETED", field: value}
    assert curl.post(path + "/complete", {field: value}).json == {"completed": 1}, "the same"


def test_a_list_has_the_totals_of_each_name(curl, name):
    curl.put(f"/v1/events/{name}/zones/floor", {"capacity": 9})
    listed = curl.get(f"/v1/list/zones?match={name}&count=1000").json
    assert listed == {"cursor": "", "items": [
        {"name": f"{name} floor", "event_id": name, "zone_id": "floor", "capacity": 9,
         "available": 9, "reserved": 0, "confirmed": 0}]}


def test_a_response_that_is_no_base_64_or_comes_twice(curl, name):
    path = f"/v1/keys/{name}/complete"
    assert "response_base64" in refused(curl.post(path, {"response_base64": "Zg$="}),
                                        "INVALID_ARGUMENT")
    assert "response" in refused(curl.post(path, {"response": "f", "response_base64": "Zg=="}),
                                 "INVALID_ARGUMENT")
    assert "response" in refused(curl.post(path, {}), "INVALID_ARGUMENT")
    largest = base64.b64encode(b"\xff" * (1 << 20)).decode()
    assert curl.post(path, {"response_base64": largest}).json == {"completed": 0}
    refused(curl.post(path, {"response_base64": largest[:-4] + "/////w=="}), "PAYLOAD_TOO_LARGE")


# ---- the waiting room ----------------------------------------------------------------------------

def test_a_line(curl, server, name, room):
    told = {"estimated_wait_s": None, "in_waiting_room": 1, "refresh_s": 5}
    assert done(curl.get(room + "/cleo"), 200, *told, "position", "total") == {
        "position": 3, "total": 3, **told}
    for left in (1, 0):
        assert done(curl.delete(room + "/bob"), 200, "left") == {"left": left}
    assert curl.get(room + "/cleo").json == {"position": 2, "total": 2, **told}
    let_in = curl.post(room + "/admit", {"count": 5, "pass_seconds": 60})
    assert let_in.status == 200
    assert [one["user"] for one in let_in.json] == ["ann", "cleo"], "oldest first"
    assert len({one["pass"] for one in let_in.json}) == 2
    for one in let_in.json:
        assert set(one) == {"user", "pass"}
        assert server.call("ROOM.CHECK", name, one["user"], one["pass"]) == 1
        assert server.call("ROOM.CHECK", name, "bob", one["pass"]) == 0
    nobody = curl.post(room + "/admit", {"count": 1})
    assert (nobody.status, nobody.json) == (200, [])


def test_the_stream_of_a_place_until_it_is_admitted(curl, room):
    with curl.stream(room + "/bob/stream") as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = '"estimated_wait_s":null,"in_waiting_room":1,"refresh_s":5}'
        assert stream.read_event() == {
            "event": "position", "data": '{"position":2,"total":3,' + told}
        curl.delete(room + "/ann")
        assert place(stream) == (1, 2)
        given = curl.post(room + "/admit", {"count": 1}).json
        assert stream.read_until("admitted") == {}, "the pass is for who shows the token"
        assert given[0]["user"] == "bob"
        assert stream.read_event() is None, "that was the last"
        assert stream.process.wait(10) == 0, "and curl is content"


def place(stream):
    """The position and the total of the next event that tells them."""
    event = stream.read_until("position")
    return event["position"], event["total"]


def test_the_stream_tells_the_pass_to_who_shows_the_token(curl, server, name, room):
    token = curl.post(room, {"user_id": "dan"}).json["token"]
    with curl.stream(f"{room}/dan/stream?token={token}") as stream, \
            curl.stream(f"{room}/dan/stream?token={'0' * 32}") as other:
        assert place(stream) == place(other) == (4, 4)
        given = {one["user"]: one["pass"] for one in curl.post(room[:-5] + "room/tick", {}).json}
        assert stream.read_until("admitted") == {"pass": given["dan"]}
        assert other.read_until("admitted") == {}
        assert stream.read_event() is None and other.read_event() is None
    with curl.stream(f"{room}/dan/stream?token={token}") as stream:
        assert stream.read_until("admitted") == {"pass": given["dan"]}, "who comes late, too"
    assert curl.get(f"{room}/dan?token={token}").json["pass"] == given["dan"]
    assert curl.get(f"{room}/dan").code == "NOT_IN_QUEUE"
    assert curl.get(f"{room}/dan/stream?user=dan").code == "INVALID_ARGUMENT"


def test_a_room_and_its_gate(curl, server, name, room):
    opened = curl.put(room[:-5] + "room", {"rate": 2, "inside": 2, "gate": True})
    assert done(opened, 200, "waiting", "inside") == {"waiting": 3, "inside": 0}
    server.call("SEATS.OPEN", name, "floor", 9)
    seats = {"zone_id": "floor", "user_id": "ann", "quantity": 1, "max_per_user": 2}
    refused = curl.post(f"/v1/events/{name}/bookings", seats)
    assert (refused.status, refused.code) == (403, "NOT_ADMITTED")
    given = curl.post(room[:-5] + "room/tick", {}).json
    assert [one["user"] for one in given] == ["ann", "bob"]
    ann = {"user_id": "ann", "pass": given[0]["pass"]}
    booking = curl.post(f"/v1/events/{name}/bookings", {**seats, "pass": ann["pass"]})
    assert booking.status == 201
    for valid, body in ((1, ann), (1, {**ann, "renew": True}), (0, {**ann, "user_id": "bob"})):
        assert curl.post(room[:-5] + "room/check", body).json == {"valid": valid}
    for ended in (1, 0):
        assert curl.post(room[:-5] + "room/done", {"user_id": "bob"}).json == {"done": ended}
    assert curl.get(room[:-5] + "room").json == {
        "waiting": 1, "inside": 1, "admitted": 2, "rate": 2, "inside_max": 2, "started": 1,
        "paused": 0, "estimated_wait_s": 1, "start_ms": 0, "random": 0, "pass_ms": 600000,
        "gate": 1}


def test_the_stream_of_a_place_that_is_left(curl, room):
    with curl.stream(room + "/cleo/stream") as stream:
        assert place(stream) == (3, 3)
        curl.delete(room + "/cleo")
        assert stream.read_until("gone") == {}
        assert stream.read_event() is None
    assert curl.get(room + "/cleo/stream").code == "NOT_IN_QUEUE"


def test_a_listener_that_hangs_up_keeps_the_place(curl, room):
    with curl.stream(room + "/ann/stream") as stream:
        stream.read_until("position")
    assert curl.get(room + "/ann").json["position"] == 1


# ---- the server's own ----------------------------------------------------------------------------

def test_the_feed_tells_what_happens(curl, server, name):
    with curl.stream("/v1/feed") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert "retry" in stream.read_event(), "it listens from now on"
        lock = curl.post(f"/v1/locks/{name}/lock", {"ttl_seconds": "50ms"}).json
        told = stream.read_until("LOCK.TRY")
        assert told["command"] == "LOCK.TRY" and is_now(told["time_ms"])
        assert told["args"] == {"resource": name, "ttl_seconds": "50ms"}
        assert told["reply"] == lock
        due = stream.read_until("lock_expired")
        assert (due["scope"], due["event"]) == (name, "lock_expired")
        server.call("QUOTA.LIMIT", name, 5)
        assert stream.read_until("QUOTA.LIMIT")["args"]["tenant"] == name, "of every front"


def test_the_feed_of_one_scope_and_what_was_missed(curl, name):
    def limit(tenant, amount):
        assert curl.put(f"/v1/quotas/{tenant}", {"limit": amount}).status == 200

    with curl.stream(f"/v1/feed?scope={name}") as stream:
        stream.read_event()
        limit(name + "-other", 1)
        limit(name, 2)
        event = stream.read_event()
        assert json.loads(event["data"])["reply"] == {"used": 0, "limit": 2}
    limit(name, 3)
    last = header("Last-Event-ID", event["id"])
    with curl.stream(f"/v1/feed?scope={name}", *last) as stream:
        assert stream.read_until("QUOTA.LIMIT")["reply"]["limit"] == 3


@pytest.mark.parametrize("path, said", [("/livez", "alive"), ("/readyz", "ready")])
def test_health(curl, path, said):
    answer = curl.get(path)
    assert (answer.status, answer.body.decode().splitlines()[0]) == (200, said)
    assert answer.headers["content-type"].startswith("text/plain")


def test_figures(curl):
    answer = curl.get("/metrics")
    assert answer.status == 200 and "version=0.0.4" in answer.headers["content-type"]
    assert re.search(rb"(?m)^# TYPE holdfast_\w+ counter$", answer.body)
    info = done(curl.get("/v1/info"), 200, "version", "engine", "ledger", "state", "uptime_seconds",
                "connections", "client_memory_bytes", "memory_bytes", "holds", "waiting", "expired",
                "memory_limit_bytes", "bookings_confirmed")
    assert (info["engine"], info["state"]) == ("embedded", "ready")
    assert info["connections"] >= 1


def test_the_list_of_all_that_can_be_asked(curl, document):
    answer = curl.get("/")
    listed = re.findall(r"(?m)^([A-Z]+) +(/\S*) +\S", answer.body.decode())
    assert sorted(listed) == sorted(document.routes)


def test_audit_and_snapshot(curl):
    assert done(curl.post("/v1/audit"), 200, "list", "findings") == {"list": [], "findings": 0}
    assert done(curl.post("/v1/snapshot"), 202, "status") == {"status": "begun"}


# ---- the document --------------------------------------------------------------------------------

def references(part):
    if isinstance(part, dict):
        for key, value in part.items():
            yield from [value] if key == "$ref" else references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def test_the_document_holds_together(document):
    content = document.content
    assert content["openapi"].startswith("3.0.") and content["info"]["title"] == "Holdfast"
    names = [operation["operationId"] for operation in document.routes.values()
             if "operationId" in operation]
    assert names and len(set(names)) == len(names)
    for reference in set(references(content)):
        place, part = reference.split("/"), content
        assert place[0] == "#"
        for step in place[1:]:
            part = part[step]
        assert part
    for (method, path), operation in document.routes.items():
        given = {one["name"] for one in operation.get("parameters", ()) if one.get("in") == "path"}
        assert given == set(re.findall(r"\{(\w+)\}", path)), (method, path)
        assert any(status.startswith("2") for status in operation["responses"])


# All but checkouts and sagas, which come with the booking service.
@pytest.mark.parametrize("method, path", [
    route.split() for route in (
        "PUT /v1/events/{event}/zones/{zone}", "GET /v1/events/{event}/zones/{zone}",
        "POST /v1/events/{event}/bookings", "GET /v1/events/{event}/bookings/{id}",
        "POST /v1/events/{event}/bookings/{id}/confirm",
        "POST /v1/events/{event}/bookings/{id}/cancel",
        "POST /v1/events/{event}/bookings/{id}/extend", "POST /v1/bookings/{id}/cancel",
        "POST /v1/bookings/{id}/confirm", "GET /v1/bookings/{id}", "PUT /v1/quotas/{tenant}",
        "GET /v1/quotas/{tenant}", "POST /v1/quotas/{tenant}/reserve",
        "POST /v1/quotas/{tenant}/refund", "POST /v1/quotas/{tenant}/commit",
        "POST /v1/quotas/{tenant}/cancel", "POST /v1/quotas/{tenant}/sync",
        "POST /v1/semaphores/{name}/acquire", "POST /v1/semaphores/{name}/release",
        "POST /v1/semaphores/{name}/ping", "GET /v1/semaphores/{name}",
        "POST /v1/semaphores/{name}/queue", "POST /v1/semaphores/{name}/wake",
        "POST /v1/semaphores/{name}/confirm", "GET /v1/semaphores/{name}/card",
        "GET /v1/semaphores/{name}/clients",
        "POST /v1/locks/{resource}/lock", "POST /v1/locks/{resource}/unlock",
        "POST /v1/locks/{resource}/extend", "GET /v1/locks/{resource}",
        "PUT /v1/products/{product}", "GET /v1/products/{product}", "DELETE /v1/products/{product}",
        "POST /v1/products/{product}/takes", "POST /v1/products/{product}/takes/{order}/settle",
        "POST /v1/products/{product}/takes/{order}/give",
        "POST /v1/products/{product}/takes/{order}/extend", "POST /v1/products/{product}/adjust",
        "POST /v1/products/{product}/orders", "GET /v1/products/{product}/orders/{order}",
        "POST /v1/products/{product}/orders/{order}/return", "POST /v1/products/{product}/open",
        "POST /v1/reconcile", "POST /v1/webhooks/replay", "POST /v1/events/{event}/checkout",
        "GET /v1/sagas/{saga}", "POST /v1/sagas/{saga}/resume", "POST /v1/sagas/{saga}/refund",
        "POST /v1/payments/callback", "GET /v1/users/{user}/bookings", "POST /v1/quotas/sync",
        "GET /v1/events/{event}/users/{user}", "POST /v1/keys/{key}/begin",
        "POST /v1/keys/{key}/complete", "POST /v1/keys/{key}/abort", "GET /v1/list/{kind}",
        "POST /v1/events/{event}/queue", "GET /v1/events/{event}/queue/{user}",
        "DELETE /v1/events/{event}/queue/{user}", "GET /v1/events/{event}/queue/{user}/stream",
        "POST /v1/events/{event}/queue/admit", "PUT /v1/events/{event}/room",
        "GET /v1/events/{event}/room", "POST /v1/events/{event}/room/tick",
        "POST /v1/events/{event}/room/check", "POST /v1/events/{event}/room/done", "GET /livez", "GET /readyz", "GET /metrics",
        "GET /v1/info", "GET /")])
def test_the_document_has_every_route_of_the_contract(document, method, path):
    assert (method, path) in document.routes


# ---- all of it -----------------------------------------------------------------------------------

def test_no_route_of_the_document_was_left_out(request, curl, document):
    """What curl was answered with 2xx in the tests above; the last one of this file. The suite in
    tests/conformance takes each command over its own route."""
    ran = {item.originalname for item in request.session.items if item.module is request.module}
    if not {name for name in vars(request.module) if name.startswith("test_")} <= ran:
        pytest.skip("not all tests of this file were run")
    called = {document.find(method, path) for method, path in curl.succeeded}
    of_commands = {route for route, operation in document.routes.items()
                   if not operation.get("operationId", ".MADE").endswith(".MADE")}
    signed = {("POST", "/v1/payments/callback")}  # tests/ledger/test_checkout_peer.py has it
    page = {("GET", "/assets/{name}"), ("GET", "/v1/me"), ("GET", "/v1/live")}  # test_page.py
    assert sorted(set(document.routes) - of_commands - called - signed - page) == []
    families = {tag for operation in document.routes.values() for tag in operation["tags"]}
    assert families == {tag for route in called if route for tag in document.routes[route]["tags"]}
