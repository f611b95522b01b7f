# SPDX-License-Identifier: Apache-2.0
"""Idempotency-Key, asked with the real curl: carried out once, answered alike, also over a crash."""

import pytest

from curl import Curl, keyed
from http_parts import (BOOKING, booking, curl, event, guarded, name, refused, server,
                        unauthorized, users)
from server import Server, wait_until

LONG = 60000  # ms; no test waits for it to run out


def replayed(answer):
    given = answer.headers.get("idempotency-replayed")
    assert given in (None, "true")
    return given is not None


def once(curl, path, body, key, times=3):
    """The first answer to a keyed request; those after it are the same, and say so."""
    first = curl.post(path, body, *keyed(key))
    assert not replayed(first), first
    for _ in range(times - 1):
        again = curl.post(path, body, *keyed(key))
        assert replayed(again)
        assert (again.status, again.body) == (first.status, first.body)
        assert again.headers["content-type"] == first.headers["content-type"]
    return first


def test_a_keyed_request_is_carried_out_once(curl, name):
    path = f"/v1/quotas/{name}"
    curl.put(path, {"limit": 10})
    assert once(curl, path + "/reserve", {"amount": 3}, f"{name}-a").json["used"] == 3
    assert once(curl, path + "/reserve", {"amount": 3}, f"{name}-b").json["used"] == 6
    assert curl.get(path).json["used"] == 6


def test_a_keyed_booking_is_one_booking(curl, event, name):
    first = once(curl, event + "/bookings", BOOKING, name)
    assert first.status == 201
    assert curl.get(event + "/zones/floor").json["reserved"] == 2
    path = f"/v1/bookings/{first.json['booking_id']}"
    assert once(curl, path + "/confirm", {}, name + "-paid").json["status"] == "CONFIRMED"


def test_any_post_of_a_command_may_have_a_key(curl, name):
    for path, body in ((f"events/{name}/queue", {"user_id": "ann"}),
                       (f"events/{name}/queue/admit", {"count": 1}),
                       (f"semaphores/{name}/acquire", {"limit": 1}),
                       (f"locks/{name}/lock", {"ttl_seconds": 60}),
                       (f"quotas/{name}/sync", {"actual": 1})):
        assert once(curl, "/v1/" + path, body, f"{name}-{path.replace('/', '-')}").status < 300


@pytest.mark.parametrize("path, body", [
    ("/reserve", {"amount": 2}), ("/reserve", {"amount": 1, "hold_id": "h"}),
    ("/refund", {"amount": 1}), ("-2/reserve", {"amount": 1})], ids=str)
def test_a_key_for_another_request(curl, name, path, body):
    quota = f"/v1/quotas/{name}"
    curl.put(quota, {"limit": 10})
    once(curl, quota + "/reserve", {"amount": 1}, name, times=1)
    answer = curl.post(quota + path, body, *keyed(name))
    refused(answer, "KEY_REUSED")
    assert not replayed(answer)
    assert curl.get(quota).json["used"] == 1
    assert replayed(curl.post(quota + "/reserve", {"amount": 1}, *keyed(name)))


def test_a_refusal_is_repeated_too(curl, event, name):
    """Also when it would succeed by now."""
    body = booking(quantity=11, max_per_user=20)
    refused(once(curl, event + "/bookings", body, name), "INSUFFICIENT_STOCK")
    curl.put(event + "/zones/floor", {"capacity": 100})
    refused(curl.post(event + "/bookings", body, *keyed(name)), "INSUFFICIENT_STOCK")
    assert curl.get(event + "/zones/floor").json["reserved"] == 0
    assert curl.post(event + "/bookings", body).status == 201, "without the key"


def test_what_was_not_found_is_repeated_too(curl, name):
    path = f"/v1/events/{name}/bookings/b-1/confirm"
    refused(once(curl, path, {}, name), "RESERVATION_NOT_FOUND")


def test_a_key_is_free_after_a_mistake(curl, event, name):
    """400: the same key serves the request that was put right."""
    for _ in range(2):
        answer = curl.post(event + "/bookings", booking(quantity=0), *keyed(name))
        refused(answer, "INVALID_QUANTITY")
        assert not replayed(answer)
    refused(curl.post(event + "/bookings", booking(max_per_user=1), *keyed(name)),
            "USER_LIMIT_EXCEEDED")
    assert once(curl, event + "/bookings", BOOKING, name).status == 201


def test_a_key_is_free_after_a_limit(curl, name):
    """408 and 429: the same request again may well succeed."""
    path, key = f"/v1/semaphores/{name}", keyed(name)
    curl.post(path + "/acquire", {"id": "one", "limit": 1})
    wanted = {"id": "two", "limit": 1}
    refused(curl.post(path + "/acquire", wanted, *key), "NO_SLOT")
    refused(curl.post(path + "/acquire", {**wanted, "wait_ms": 20}, *key), "TIMEOUT")
    curl.post(path + "/release", {"id": "one"})
    assert once(curl, path + "/acquire", wanted, name).json["in_use"] == 1

    quota = f"/v1/quotas/{name}"
    refused(curl.post(quota + "/reserve", {"amount": 1}, *keyed(name + "-q")), "QUOTA_EXCEEDED")
    curl.put(quota, {"limit": 1})
    assert once(curl, quota + "/reserve", {"amount": 1}, name + "-q").json["used"] == 1


def test_while_the_first_is_under_way(curl, name):
    path, key = f"/v1/semaphores/{name}", keyed(name)
    curl.post(path + "/acquire", {"id": "one", "limit": 1})
    body = {"limit": 1, "wait_ms": LONG}
    with curl.start("POST", path + "/acquire", body, *key) as first:
        wait_until(lambda: curl.get(path).json["waiting"] == 1, "in line")
        refused(curl.post(path + "/acquire", body, *key), "IN_PROGRESS")
        refused(curl.post(path + "/acquire", {"limit": 2}, *key), "KEY_REUSED")
        curl.post(path + "/release", {"id": "one"})
        answer = first.read()
    assert answer.status == 200
    again = curl.post(path + "/acquire", body, *key)
    assert replayed(again) and again.json == answer.json, "the id that was made, too"


def test_the_keys_of_different_users_have_nothing_to_do_with_each_other(guarded, name):
    path = f"/v1/quotas/{name}"
    guarded("chief").put(path, {"limit": 10})
    assert once(guarded("writer"), path + "/reserve", {"amount": 1}, name).json["used"] == 1
    assert once(guarded("other"), path + "/reserve", {"amount": 2}, name).json["used"] == 3
    answer = guarded("reader").post(path + "/reserve", {"amount": 1}, *keyed(name))
    refused(answer, "FORBIDDEN")
    unauthorized(guarded(None).post(path + "/reserve", {"amount": 1}, *keyed(name)))
    assert guarded("chief").get(path).json["used"] == 3


@pytest.mark.parametrize("key", ["two words", "x" * 256, '"open', '""', '"a"b'],
                         ids=lambda key: key[:10])
def test_keys_that_are_none(curl, name, key):
    path = f"/v1/quotas/{name}"
    curl.put(path, {"limit": 1})
    refused(curl.post(path + "/reserve", {"amount": 1}, *keyed(key)), "INVALID_ID")
    refused(curl.post(path + "/reserve", {"amount": 1}, "-H", "Idempotency-Key;"), "INVALID_ID")
    assert curl.get(path).json["used"] == 0


@pytest.mark.parametrize("key", ["k" * 255, '"two words"', "{x}", '"' + "q" * 255 + '"'],
                         ids=lambda key: key[:10])
def test_any_text_may_be_a_key(curl, name, key):
    path = f"/v1/quotas/{name}"
    curl.put(path, {"limit": 1})
    assert once(curl, path + "/reserve", {"amount": 1}, key).status == 200


def test_quotes_are_not_part_of_a_key(curl, name):
    path = f"/v1/quotas/{name}"
    curl.put(path, {"limit": 1})
    once(curl, path + "/reserve", {"amount": 1}, f'"{name}"', times=1)
    assert replayed(curl.post(path + "/reserve", {"amount": 1}, *keyed(name)))


def test_routes_that_are_no_commands_have_no_keys(curl):
    for _ in range(2):
        answer = curl.post("/v1/audit", b"", *keyed("audit"))
        assert answer.status == 200 and not replayed(answer)


def test_put_needs_no_key(curl, name):
    for limit in (1, 2):
        answer = curl.put(f"/v1/quotas/{name}", {"limit": limit}, *keyed(name))
        assert not replayed(answer) and answer.json["limit"] == limit


def test_keys_outlive_a_crash():
    with Server() as server:
        curl = Curl(server.http_port)
        curl.put("/v1/events/gala/zones/floor", {"capacity": 10})
        curl.put("/v1/quotas/acme", {"limit": 10})
        asked = [("/v1/events/gala/bookings", BOOKING, "made"),
                 ("/v1/quotas/acme/reserve", {"amount": 4}, "quota"),
                 ("/v1/semaphores/s/acquire", {"limit": 1}, "slot"),
                 ("/v1/locks/r/lock", {"ttl_seconds": 600}, "lock"),
                 ("/v1/events/gala/bookings", booking(quantity=11), "refused")]
        before = [curl.post(path, body, *keyed(key)) for path, body, key in asked]
        assert [answer.status for answer in before] == [201, 200, 200, 200, 409]
        assert server.kill() == -9
        server.start()
        for (path, body, key), first in zip(asked, before):
            again = curl.post(path, body, *keyed(key))
            assert replayed(again), key
            assert (again.status, again.body) == (first.status, first.body)
        refused(curl.post("/v1/quotas/acme/reserve", {"amount": 5}, *keyed("quota")), "KEY_REUSED")
        assert curl.get(f"/v1/bookings/{before[0].json['booking_id']}").status == 200
        assert curl.get("/v1/events/gala/zones/floor").json["reserved"] == 2
        assert curl.get("/v1/quotas/acme").json["used"] == 4
        assert curl.post("/v1/audit").json == {"list": [], "findings": 0}


def test_keys_outlive_a_snapshot_and_can_be_dumped(holdfast):
    with Server() as server:
        curl = Curl(server.http_port)
        first = curl.post("/v1/locks/r/lock", {"ttl_seconds": 600}, *keyed("lock"))
        dumped = holdfast("journal", "dump", server.directory)
        assert dumped.code == 0 and "IDEM.COMPLETE" in dumped.out
        assert curl.post("/v1/snapshot", b"").status == 202
        wait_until(lambda: list(server.directory.glob("snapshot-*")), "the snapshot")
        server.restart("kill")
        again = curl.post("/v1/locks/r/lock", {"ttl_seconds": 600}, *keyed("lock"))
        assert replayed(again) and again.body == first.body


def test_a_crash_between_the_booking_and_the_keeping_of_its_answer(curl, event, name):
    """The id that the server makes is that of the key and the request. So a server that has the
    booking, but not the answer, finds it when the request comes again."""
    path = event + "/bookings"
    made = curl.post(path, BOOKING, *keyed("crash")).json
    assert curl.post(path, booking(user_id="bob"), *keyed("other")).json[
        "booking_id"] != made["booking_id"]
    with Server() as server:
        server.call("SEATS.OPEN", name, "floor", 10)
        server.call("SEATS.RESERVE", name, "floor", made["booking_id"], "ann", 2, 4)
        server.restart("kill")
        curl = Curl(server.http_port)
        answer = curl.post(path, BOOKING, *keyed("crash"))
        assert answer.status == 201 and not replayed(answer)
        assert (answer.json["booking_id"], answer.json["remaining"]) == (made["booking_id"], 8)
        assert curl.get(event + "/zones/floor").json["reserved"] == 2, "one booking"
