# SPDX-License-Identifier: Apache-2.0
"""The keys of HTTP requests are nobody else's: no command can name them, no list shows them, and
what somebody put in their place is not sent. On both engines."""

import json

import pytest

from guarded import as_user, on_redis, place, users
from raw_client import Http
from server import Error

KEY = "order-17"
NAMES = (f"http:{{}}:{KEY}", f"http {{}}:{KEY}", f"{{}}:{KEY}", KEY)


def post(server, token, path, body, key=KEY):
    with Http(server.http_port) as http:
        return http.call("POST", path, body, (f"Authorization: Bearer {token}",
                                              f"Idempotency-Key: {key}"))


def tried(client, *words):
    """The answer, or None where the request itself is refused."""
    try:
        answer = client.call(*words)
    except Error:
        return None
    return None if isinstance(answer, list) and answer[:2] == [0, "INVALID_ID"] else answer


def test_no_command_names_the_key_of_another_user(place):
    server, tokens = place
    first = post(server, tokens["writer"], "/v1/locks/seat-1/lock", {"ttl_seconds": 600})
    assert first.status == 200
    with as_user(server, tokens["other"]) as thief:
        for form in NAMES:
            name = form.format("writer")
            assert tried(thief, "IDEM.ABORT", name) in (None, 0)
            assert tried(thief, "IDEM.COMPLETE", name, "-54 {}") in (None, 0)
            begun = tried(thief, "IDEM.BEGIN", name, "mine")
            assert begun in (None, [1, "NEW"]), "it is a key of its own, if it can be named at all"
            assert tried(thief, "IDEM.COMPLETE", name, "200 {\"forged\":1}") in (None, 1)
    again = post(server, tokens["writer"], "/v1/locks/seat-1/lock", {"ttl_seconds": 600})
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.status, again.body) == (first.status, first.body)


def test_a_key_that_was_taken_beforehand_is_not_the_one_of_the_request(place):
    server, tokens = place
    with as_user(server, tokens["other"]) as forger:
        for form in NAMES:
            name = form.format("writer").replace(KEY, "forged")
            if tried(forger, "IDEM.BEGIN", name, "f") == [1, "NEW"]:
                forger.call("IDEM.COMPLETE", name, "200 {}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
    answer = post(server, tokens["writer"], "/v1/locks/seat-2/lock", {"ttl_seconds": 600},
                  key="forged")
    assert answer.status == 200 and answer.json["lock_id"]
    assert "idempotency-replayed" not in answer.headers


def test_http_cannot_name_them_either(place):
    server, tokens = place
    post(server, tokens["writer"], "/v1/locks/seat-3/lock", {"ttl_seconds": 600}, key="third")
    for name in ("http%20writer%3Athird", "http%3Awriter%3Athird"):
        with Http(server.http_port) as http:
            answer = http.call("POST", f"/v1/keys/{name}/abort", {},
                               (f"Authorization: Bearer {tokens['other']}",))
        assert answer.status == 400 or answer.json == {"aborted": 0}, answer


def test_no_list_and_no_feed_shows_them(place):
    server, tokens = place
    with Http(server.http_port) as feed, as_user(server, tokens["chief"]) as chief:
        feed.send("GET", "/v1/feed", headers=(f"Authorization: Bearer {tokens['chief']}",))
        assert feed.read_head()[0] == 200
        assert post(server, tokens["writer"], "/v1/locks/seat-4/lock", {"ttl_seconds": 600},
                    key="listed").status == 200
        chief.call("IDEM.BEGIN", "plain", "f")
        names, cursor = [], None
        while cursor != "":
            cursor, *page = chief.call("LIST", "keys", *(("AFTER", cursor) if cursor else ()))
            names += page
        assert "plain" in names and not [name for name in names if "listed" in name]
        assert not [name for name in names if " " in name]
        said = []
        while not said or '"plain"' not in said[-1]:
            said.append(feed.file.readline().decode())
        assert not [line for line in said if "listed" in line]


STORED = [
    "", "200", "200 ", "200 x", "-54 {}", "999 {}", "200 1", "100 {}", "2x0 {}", "200  {}x",
    "200\t{}", "304 {}", "200 {}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]


@pytest.mark.parametrize("stored", STORED, ids=repr)
def test_a_stored_answer_that_is_none_is_not_sent(on_redis, stored):
    """With the state in Redis, others can write what they like there."""
    server, tokens, redis = on_redis
    key = f"stored-{STORED.index(stored)}-"
    first = post(server, tokens["writer"], "/v1/locks/seat-5/lock", {"ttl_seconds": 600}, key)
    found = [name for name in redis.client().scan_iter(match=f"*{key}*")]
    assert first.status in (200, 409) and len(found) == 1, found
    redis.client().hset(found[0], "response", stored)
    answer = post(server, tokens["writer"], "/v1/locks/seat-5/lock", {"ttl_seconds": 600}, key)
    assert answer.status == 500 and "idempotency-replayed" not in answer.headers
    assert json.loads(answer.body)["error"]["code"] == "INTERNAL"
    assert "Idempotency-Key" in json.loads(answer.body)["error"]["message"]
