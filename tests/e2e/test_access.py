# SPDX-License-Identifier: Apache-2.0
"""Users who are kept to some scopes and families: what they are shown, what becomes of it when the
users are read again, and what is wrong with a line. What each command does is in
test_access_matrix.py, the rate in test_rate_limit.py."""

import signal

import pytest

from access_users import Users, is_forbidden, reload
from curl import Curl
from raw_client import Client, Http, encode, http
from server import Error, Server, wait_until

OPENED = [f"{line} {more}" for prefix in ("shop", "tour") for line, more in (
    (f"SEATS.OPEN {prefix}:1 floor", "10"), (f"STOCK.LOAD {prefix}:p", "10"),
    (f"QUOTA.LIMIT {prefix}:t", "10"), (f"LOCK.TRY {prefix}:l", "30s"),
    (f"SEM.ACQUIRE {prefix}:s", "w 1"), (f"ROOM.OPEN {prefix}:1", "RATE 1"),
    (f"IDEM.BEGIN {prefix}:k", "f"))]


@pytest.fixture
def users(tmp_path):
    users = Users(tmp_path).add("boss", "admin")
    return users.add("shop", "admin", "scopes=shop:*").add("seats", "admin", "families=SEATS")


@pytest.fixture
def server(users):
    with Server("--auth-file", users.path, "--payment-url", "test:", "--admission-every", "0") as one:
        with users.connect(one, "boss") as boss:
            for line in OPENED:
                assert not isinstance(boss.call(*line.split()), Error), line
        yield one


def header(users, name):
    return ("-H", users.headers(name)[0])


def read_through(stream, mark):
    """All that the stream tells, up to the event that has the mark in it."""
    told = []
    while not told or mark not in told[-1]:
        event = stream.read_event()
        assert event is not None, told
        told.append(str(event))
    return "".join(told)


def listing(server, users, who, path):
    """All items, page by page of one."""
    items, after = [], ""
    with Http(server.http_port) as web:
        while True:
            page = web.call("GET", f"{path}?count=1{after}", headers=users.headers(who)).json
            items += page["items"]
            if not page["cursor"]:
                return items
            after = f"&after={page['cursor']}"


# ---- what they are shown -----------------------------------------------------------------------

@pytest.mark.parametrize("kind, name", [
    ("events", "shop:1"), ("zones", "shop:1 floor"), ("tenants", "shop:t"), ("semaphores", "shop:s"),
    ("locks", "shop:l"), ("products", "shop:p"), ("rooms", "shop:1"), ("keys", "shop:k")])
def test_a_list_has_only_names_of_theirs(server, users, kind, name):
    path = f"/v1/list/{kind}"
    assert [item["name"] for item in listing(server, users, "shop", path)] == [name]
    assert len(listing(server, users, "boss", path)) == 2
    with users.connect(server, "shop") as client:
        assert client.call("LIST", kind) == ["", name]
        assert client.call("LIST", kind, "MATCH", "tour") == [""]


def test_a_checkout_of_another_scope_is_as_unknown_as_any(server, users):
    with users.connect(server, "boss") as boss, users.connect(server, "shop") as shop:
        for prefix in ("shop", "tour"):
            answer = boss.call("SEATS.CHECKOUT", f"{prefix}:1", "floor", "ann", "1", "4", "SAGA",
                               f"{prefix}-saga", "PRICE", "100", "WAIT", "10s")
            assert answer[0] == 1, answer
        shown = shop.call("SAGA.GET", "shop-saga")
        assert shown[shown.index("event_id") + 1] == "shop:1"
        unknown, hidden = shop.call("SAGA.GET", "no-saga"), shop.call("SAGA.GET", "tour-saga")
        assert unknown[:2] == [0, "NOT_FOUND"]
        assert hidden == [text.replace("no-saga", "tour-saga") if isinstance(text, str) else text
                          for text in unknown]
    answer = http(server.http_port, "GET", "/v1/sagas/tour-saga", None, users.headers("shop"))
    assert (answer.status, answer.code) == (404, "NOT_FOUND")


def test_the_feed_shows_what_is_theirs(server, users):
    with Curl(server.http_port).having(*header(users, "shop")).stream("/v1/feed") as shop, \
            Curl(server.http_port).having(*header(users, "seats")).stream("/v1/feed") as seats:
        for stream in (shop, seats):
            assert stream.status == 200
        with users.connect(server, "boss") as boss:
            for line in ("LOCK.TRY tour:x 100ms", "SEATS.OPEN tour:2 floor 5",
                         "LOCK.TRY shop:x 100ms", "SEATS.OPEN shop:2 floor 5",
                         "SEATS.OPEN tour:3 floor 5", "LOCK.TRY shop:end 30s"):
                assert not isinstance(boss.call(*line.split()), Error)
            boss.call("SEATS.OPEN", "shop:end", "floor", "5")
        text = read_through(shop, "shop:end")
        assert "tour:" not in text
        assert "shop:x" in text and "shop:2" in text
        text = read_through(seats, "shop:end")
        assert "LOCK" not in text and "lock" not in text
        assert "tour:2" in text and "shop:2" in text and "tour:3" in text



def test_what_a_user_is_kept_to_is_told_to_it(server, users):
    users.add("both", "write", "scopes=shop:*,gala", "families=SEATS,STOCK", "rate=100/m",
              "burst=20")
    reload(server)
    told = http(server.http_port, "GET", "/v1/me", None, users.headers("both")).json
    assert told == {"name": "both", "role": "write", "sign_in": True, "scopes": ["shop:*", "gala"],
                    "families": ["SEATS", "STOCK"], "rate": "100/m", "burst": 20}


def test_a_refusal_says_why_and_is_counted(server, users):
    with users.connect(server, "shop") as shop, users.connect(server, "seats") as seats:
        answer = shop.call("SEATS.ZONE", "tour:1", "floor")
        assert str(answer) == 'NOPERM "tour:1" is not one of the scopes of shop: shop:*'
        answer = seats.call("LOCK.GET", "tour:l")
        assert str(answer) == "NOPERM LOCK.GET is of the family LOCK, which is not one of seats's"
        answer = shop.call("RECONCILE")
        assert str(answer) == ("NOPERM RECONCILE without a scope concerns all of them, and shop is "
                               "kept to some")
        metrics = shop.call("METRICS")
    for family in ("SEATS", "LOCK", "STOCK"):
        assert f'limited_requests_total{{family="{family}",limit="access"}} 1\n' in metrics
    wait_until(lambda: "shop may not: SEATS.ZONE" in server.said())


# ---- pipelines and keys ------------------------------------------------------------------------

def test_a_pipeline_refuses_what_is_not_theirs_and_no_more(server, users):
    with users.connect(server, "shop") as client:
        client.send_raw(b"".join(encode("SEATS.RESERVE", f"{prefix}:1", "floor", f"b-{i}", "ann", "1",
                                        "9") for i in range(5) for prefix in ("shop", "tour")))
        answers = [client.read() for _ in range(10)]
        assert [is_forbidden(answer) for answer in answers] == [False, True] * 5
        assert [answer[:2] for answer in answers[::2]] == [[1, 9 - i] for i in range(5)]
    with users.connect(server, "boss") as boss:
        assert boss.call("SEATS.USER", "tour:1", "ann") == [0, 0]


def test_a_key_works_without_the_family_of_keys(server, users):
    """What is kept under it belongs to the server."""
    body = {"zone_id": "floor", "user_id": "ann", "quantity": 1, "max_per_user": 4}
    with Http(server.http_port) as web:
        answers = [web.call("POST", "/v1/events/shop:1/bookings", body,
                            users.headers("seats") + ["Idempotency-Key: k"]) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].json == answers[1].json
    assert answers[1].headers["idempotency-replayed"] == "true"


def test_an_answer_under_a_key_is_not_told_once_its_scope_is_anothers(server, users):
    users.add("shop", "admin")
    reload(server)
    body = {"zone_id": "floor", "user_id": "ann", "quantity": 1, "max_per_user": 4}
    with Http(server.http_port) as web:
        def ask():
            return web.call("POST", "/v1/events/tour:1/bookings", body,
                            users.headers("shop") + ["Idempotency-Key: k"])
        assert ask().status == 201
        users.add("shop", "admin", "scopes=shop:*")
        reload(server)
        answer = ask()
        assert (answer.status, answer.code) == (403, "FORBIDDEN")
        users.add("shop", "admin", "scopes=shop:*,tour:*")
        reload(server)
        assert ask().headers["idempotency-replayed"] == "true"


# ---- when the users are read again -------------------------------------------------------------

def test_new_rights_count_on_open_connections(server, users):
    with users.connect(server, "shop") as client, Http(server.http_port) as web:
        def over_http(event):
            return web.call("GET", f"/v1/events/{event}/zones/floor",
                            headers=users.headers("shop")).status
        assert is_forbidden(client.call("SEATS.ZONE", "tour:1", "floor"))
        assert (over_http("shop:1"), over_http("tour:1")) == (200, 403)
        users.add("shop", "admin", "scopes=tour:*")
        reload(server)
        assert not is_forbidden(client.call("SEATS.ZONE", "tour:1", "floor"))
        assert is_forbidden(client.call("SEATS.ZONE", "shop:1", "floor"))
        assert (over_http("shop:1"), over_http("tour:1")) == (403, 200)
        users.add("shop", "admin")
        reload(server)
        assert not is_forbidden(client.call("SEATS.ZONE", "shop:1", "floor"))
        assert (over_http("shop:1"), over_http("tour:1")) == (200, 200)


def test_what_was_queued_is_refused_once_it_is_no_longer_theirs(server, users):
    with users.connect(server, "shop") as client:
        assert client.call("MULTI") == "OK"
        for event in ("shop:1", "shop:2"):
            assert client.call("SEATS.OPEN", event, "balcony", "5") == "QUEUED"
        users.add("shop", "admin", "scopes=shop:2")
        reload(server)
        answers = client.call("EXEC")
        assert is_forbidden(answers[0]) and answers[1] == [1, 5, 5], answers


def test_a_waiter_loses_its_place_with_its_scope(server, users):
    with users.connect(server, "shop") as client, users.connect(server, "boss") as boss:
        client.send_raw(encode("SEM.ACQUIRE", "shop:s", "me", "1", "WAIT", "10m"))

        def waiting():
            stats = boss.call("SEM.STATS", "shop:s")
            return stats[stats.index("waiting") + 1]
        wait_until(lambda: waiting() == 1)
        users.add("shop", "admin", "scopes=tour:*")
        reload(server)
        assert client.read_nothing_more() == b""
        wait_until(lambda: waiting() == 0)


@pytest.mark.parametrize("path", ["/v1/feed", "/v1/events/shop:1/queue/ann/stream"])
def test_a_stream_ends_with_the_rights_to_it(server, users, path):
    with users.connect(server, "boss") as boss:
        boss.call("ROOM.JOIN", "shop:1", "ann")
    with Curl(server.http_port).having(*header(users, "shop")).stream(path) as stream:
        assert stream.status == 200
        users.add("shop", "admin", "scopes=shop:*,tour:*")
        reload(server)
        users.add("shop", "admin", "scopes=tour:*")
        reload(server)
        while stream.read_event() is not None:
            pass
    answer = http(server.http_port, "GET", "/v1/events/shop:1/queue/ann/stream", None,
                  users.headers("shop"))
    assert (answer.status, answer.code) == (403, "FORBIDDEN")


def test_a_mistake_in_a_line_changes_nothing(server, users):
    users.add("shop", "admin", "scopes=tour:*", "colour=red")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "users stay as they were" in server.said())
    wait_until(lambda: 'shop: "colour" is none of scopes=, families=, rate= and burst=' in
               server.said())
    with users.connect(server, "shop") as client:
        assert is_forbidden(client.call("SEATS.ZONE", "tour:1", "floor"))


# ---- the file ----------------------------------------------------------------------------------

def test_settings_are_checked_with_the_line(holdfast, tmp_path):
    users = Users(tmp_path).add("boss", "admin").add("shop", "write", "families=SEAT")
    ended = holdfast("serve", "--memory", "--check-config", "--auth-file", users.path)
    assert ended.code == 2
    assert f'{users.path}:2: shop: "SEAT" in families= is none' in ended.err
    users.add("shop", "write", "families=SEATS")
    assert holdfast("serve", "--memory", "--check-config", "--auth-file", users.path).code == 0


def test_the_program_writes_such_lines(holdfast, tmp_path):
    ended = holdfast("auth", "shop", "write", "--scopes", "shop:*,gala", "--families", "SEATS,stock",
                     "--rate", "100/s", "--burst", "200")
    assert ended.code == 0
    assert ended.out.endswith(" scopes=shop:*,gala families=SEATS,stock rate=100/s burst=200\n")
    path = tmp_path / "users"
    path.write_text(ended.out)
    path.chmod(0o600)
    with Server("--auth-file", path, memory=True) as server, Client(server.resp_port) as client:
        assert client.call("AUTH", ended.err.split()[-1]) == "OK"
        assert client.call("SEATS.OPEN", "gala", "floor", "5") == [1, 5, 5]
        assert is_forbidden(client.call("SEATS.OPEN", "galas", "floor", "5"))


@pytest.mark.parametrize("words, said", [
    (["--scopes", "a b"], "--scopes is too long or has a space in it"),
    (["--families", "SEAT"], '"SEAT" in families= is none'), (["--rate", "0"], "rate=0 is no rate"),
    (["--burst", "5"], "burst= makes no sense without rate=")])
def test_the_program_refuses_what_the_server_would(holdfast, words, said):
    ended = holdfast("auth", "shop", "write", *words)
    assert ended.code == 2 and said in ended.err and not ended.out, ended
