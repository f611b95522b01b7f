# SPDX-License-Identifier: Apache-2.0
"""Users who are kept to scopes, families and a rate, with the state in Redis, where answers come
later than refusals: the front is the same, and so is what it refuses and leaves out."""

import pytest

from access_users import Users, is_forbidden
from raw_client import Http, encode
from server import Server

RATE = 40


@pytest.fixture
def users(tmp_path):
    users = Users(tmp_path).add("boss", "admin")
    users.add("shop", "write", "scopes=shop:*", "families=LOCK,SEATS")
    return users.add("few", "write", f"rate={RATE}/h")


@pytest.fixture
def server(users, standalone, store):
    with Server("--auth-file", users.path, "--engine", standalone.url, memory=True) as running:
        yield running


def test_a_pipeline_is_answered_in_its_order(server, users):
    with users.connect(server, "shop") as client:
        client.send_raw(b"".join(
            encode("LOCK.TRY", f"{prefix}:{i}", "60s", "ID", "me") + encode("QUOTA.GET", "shop:t")
            for i in range(20) for prefix in ("shop", "tour")))
        answers = [client.read() for _ in range(80)]
        assert [is_forbidden(answer) for answer in answers] == [False, True, True, True] * 20
        listed = client.call("LIST", "locks", "COUNT", "1000")
    assert sorted(listed[1:]) == sorted(f"shop:{i}" for i in range(20))
    with users.connect(server, "boss") as boss:
        assert len(boss.call("LIST", "locks", "COUNT", "1000")) == 21


def test_a_list_leaves_out_what_is_of_others(server, users):
    with users.connect(server, "boss") as boss:
        for i in range(30):
            for prefix in ("shop", "tour"):
                assert boss.call("LOCK.TRY", f"{prefix}:{i}", "60s")[0]
    names, cursor = [], None
    with Http(server.http_port) as web:
        while cursor != "":
            page = web.call("GET", f"/v1/list/locks?count=7&after={cursor or ''}",
                            headers=users.headers("shop")).json
            cursor, names = page["cursor"], names + [item["name"] for item in page["items"]]
            assert "tour" not in cursor
    assert sorted(names) == sorted(f"shop:{i}" for i in range(30))


def test_a_pipeline_is_carried_out_as_far_as_the_tokens_go(server, users):
    with users.connect(server, "few") as client:
        client.send_raw(b"".join(
            encode("LOCK.TRY", f"l-{i}", "60s", "ID", "me") + encode("LOCK.UNLOCK", f"l-{i}", "me")
            for i in range(2 * RATE)))
        answers = [client.read() for _ in range(4 * RATE)]
    assert [answer[0] for answer in answers[::2]] == ["me"] * RATE + [0] * RATE
    assert {answer[1] for answer in answers[2 * RATE::2]} == {"RATE_LIMITED"}
    assert answers[1::2] == [1] * RATE + [0] * RATE
