# SPDX-License-Identifier: Apache-2.0
"""What lets its reader change something is not told to users who may only read: the id of a lock, and
the pass of somebody in a waiting room. On both engines."""

import pytest

from guarded import as_user, on_redis, place, users
from raw_client import Http, transact

HELD = "held-by-writer"


def get(server, token, path):
    with Http(server.http_port) as http:
        return http.call("GET", path, headers=(f"Authorization: Bearer {token}",))


@pytest.fixture
def lock(place):
    server, tokens = place
    with as_user(server, tokens["writer"]) as writer:
        assert writer.call("LOCK.TRY", "seat-9", "600", "ID", HELD)[0] == HELD
    return server, tokens


def test_who_may_only_read_is_not_told_the_id_of_a_lock(lock):
    server, tokens = lock
    with as_user(server, tokens["reader"]) as reader:
        lock_id, fence, ttl_ms = reader.call("LOCK.GET", "seat-9")
        assert lock_id == "" and fence > 0 and 0 < ttl_ms <= 600_000
        assert transact(reader, "LOCK.GET seat-9")[0][:2] == ["", fence]
        assert reader.call("LIST", "locks")[1:] == ["seat-9"]
        assert reader.call("LOCK.GET", "nobody-has-it") is None
    answer = get(server, tokens["reader"], "/v1/locks/seat-9")
    assert answer.status == 200 and set(answer.json) == {"fence", "ttl_ms"}
    listed = get(server, tokens["reader"], "/v1/list/locks").json["items"]
    assert [item["name"] for item in listed] == ["seat-9"]
    assert "lock_id" not in listed[0] and listed[0]["fence"] == fence
    for path in ("/v1/feed", "/v1/openapi.json", "/metrics", "/v1/info"):
        assert HELD.encode() not in get(server, tokens["reader"], path).body


@pytest.mark.parametrize("who", ["writer", "other", "chief"])
def test_who_may_write_is(lock, who):
    server, tokens = lock
    with as_user(server, tokens[who]) as client:
        assert client.call("LOCK.GET", "seat-9")[0] == HELD
    assert get(server, tokens[who], "/v1/locks/seat-9").json["lock_id"] == HELD
    listed = get(server, tokens[who], "/v1/list/locks").json["items"]
    assert [item["lock_id"] for item in listed] == [HELD]


def test_the_pass_is_for_who_shows_the_token(place):
    server, tokens = place
    with as_user(server, tokens["writer"]) as writer:
        _, _, _, token = writer.call("ROOM.JOIN", "gala", "ann")
        admitted = writer.call("ROOM.ADMIT", "gala", 1)
        secret = admitted[1]
        assert admitted[0] == "ann" and secret
    with as_user(server, tokens["reader"]) as reader:
        for words in ((), ("TOKEN", "guess"), ("TOKEN", secret)):
            assert secret not in str(reader.call("ROOM.POSITION", "gala", "ann", *words))
    for shown, told in (("", False), ("?token=guess", False), (f"?token={token}", True)):
        path = "/v1/events/gala/queue/ann"
        assert (secret.encode() in get(server, tokens["reader"], path + shown).body) is told
        with Http(server.http_port) as http:
            http.send("GET", f"{path}/stream{shown}",
                      headers=(f"Authorization: Bearer {tokens['reader']}", "Connection: close"))
            status, _ = http.read_head()
            assert (status == 200) is told
            assert (secret.encode() in http.file.read()) is told
