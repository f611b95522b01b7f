# SPDX-License-Identifier: Apache-2.0
"""A user's rate: counted over all its connections and both protocols, refused with when to ask
again. The rates here are so many an hour, so that no token comes back while a test runs."""

import pytest

from access_users import Users, reload
from every_request import Request, example_words, rows
from raw_client import Http, encode
from server import Error, Server, wait_until

# What gives back, settles or keeps alive, by hand; the rows say it, too.
GIVES_BACK = """
    IDEM.ABORT IDEM.COMPLETE LOCK.EXTEND LOCK.UNLOCK QUOTA.CANCEL QUOTA.COMMIT QUOTA.REFUND ROOM.DONE
    ROOM.LEAVE SEATS.CONFIRM SEATS.REFUND SEATS.RELEASE SEM.PING SEM.RELEASE STOCK.GIVE STOCK.RETURN
    STOCK.SETTLE
""".split()


@pytest.fixture
def users(tmp_path):
    return Users(tmp_path).add("boss", "admin")


@pytest.fixture
def serve(users):
    """serve(words…): a server whose user `few` has these words."""
    servers = []

    def start(*words):
        users.add("few", "admin", *words)
        servers.append(Server("--auth-file", users.path, "--payment-url", "test:"))
        return servers[-1]
    yield start
    for server in servers:
        server.close()


def is_limited(answer):
    if isinstance(answer, Error):
        return answer.code == "RATE_LIMITED"
    return isinstance(answer, list) and answer[:2] == [0, "RATE_LIMITED"]


def spend(client, count):
    for _ in range(count):
        assert client.call("LOCK.GET", "x") is None
    assert is_limited(client.call("LOCK.GET", "x"))


def test_all_connections_of_a_user_together(serve, users):
    server = serve("rate=4/h")
    with users.connect(server, "few") as one, users.connect(server, "few") as two, \
            Http(server.http_port) as web:
        for client in (one, two):
            assert client.call("LOCK.TRY", "x", "30s", "ID", "me")[0] == "me"
        for status in (200, 200, 429, 429):
            answer = web.call("GET", "/v1/locks/x", headers=users.headers("few"))
            assert answer.status == status
        assert answer.code == "RATE_LIMITED"
        assert 1 <= int(answer.headers["retry-after"]) <= 901
        assert answer.json["error"]["message"].startswith(
            "few may ask 4/h, and 4 at once: ask again in ")
        for client in (one, two):
            assert is_limited(client.call("LOCK.GET", "x"))
            assert is_limited(client.call("LOCK.TRY", "y", "30s"))
    with users.connect(server, "boss") as boss:
        assert boss.call("LOCK.GET", "x")[0] == "me"
        assert boss.call("LOCK.GET", "y") is None
        metrics = boss.call("METRICS")
    assert 'limited_requests_total{family="LOCK",limit="rate"} 6\n' in metrics
    assert 'commands_total{command="LOCK.TRY",outcome="RATE_LIMITED"} 2\n' in metrics
    wait_until(lambda: "few asks more often than 4/h" in server.said())


def test_what_gives_back_is_neither_refused_nor_counted(serve, users):
    server = serve("rate=3/h")
    with users.connect(server, "few") as client, Http(server.http_port) as web:
        assert client.call("LOCK.TRY", "x", "30s", "ID", "me")[0] == "me"
        assert client.call("SEM.ACQUIRE", "s", "w", "1")[0] == 1
        for _ in range(20):
            assert client.call("SEM.PING", "s", "w", "30s", "1h") == [0, 1]
        assert client.call("LOCK.GET", "x")[0] == "me"
        assert is_limited(client.call("LOCK.GET", "x"))
        assert client.call("SEM.PING", "s", "w", "30s", "1h") == [0, 1]
        assert client.call("SEM.RELEASE", "s", "w") == 1
        answer = web.call("POST", "/v1/locks/x/unlock", {"lock_id": "me"},
                          users.headers("few") + ["Idempotency-Key: k"])
        assert answer.status == 200, answer
        assert is_limited(client.call("LOCK.GET", "x"))


def test_without_a_token_only_what_gives_back_is_carried_out(serve, users):
    """Every command of the table, over both protocols."""
    server = serve("rate=1/h")
    table = rows()
    assert sorted(row["name"] for row in table if row["gives_back"]) == GIVES_BACK
    with users.connect(server, "few") as client, Http(server.http_port) as web:
        spend(client, 1)
        for row in table:
            request, limited = Request(row, example_words(row)), row["name"] not in GIVES_BACK
            assert is_limited(client.call(*request.words)) == limited, request
            for more in ([], ["Idempotency-Key: k"] if request.keyable else []):
                answer = web.call(request.method, request.path, request.body,
                                  users.headers("few") + more)
                assert (answer.status == 429 and answer.code == "RATE_LIMITED") == limited, request


def test_what_concerns_the_connection_or_health_is_not_counted(serve, users):
    server = serve("rate=2/h")
    with users.connect(server, "few") as client, Http(server.http_port) as web:
        for _ in range(5):
            assert client.call("PING") == "PONG"
            assert client.call("CLIENT", "SETNAME", "x") == "OK"
            assert client.call("AUTH", users.tokens["few"]) == "OK"
        for path in ("/livez", "/readyz", "/v1/openapi.json"):
            assert web.call("GET", path, headers=users.headers("few")).status == 200
        spend(client, 2)
        assert client.call("PING") == "PONG"
        assert web.call("GET", "/livez", headers=users.headers("few")).status == 200
        assert client.call("RESET") == "RESET"
        assert client.call("AUTH", users.tokens["boss"]) == "OK"
        assert client.call("LOCK.GET", "x") is None


@pytest.mark.parametrize("words", ["INFO", "METRICS", "DBSIZE", "COMMAND COUNT", "SLOWLOG LEN"])
def test_what_the_server_answers_at_length_is_counted(serve, users, words):
    server = serve("rate=1/h")
    with users.connect(server, "few") as client:
        assert not is_limited(client.call(*words.split()))
        answer = client.call(*words.split())
        assert isinstance(answer, Error) and is_limited(answer)


@pytest.mark.parametrize("path", ["/metrics", "/v1/info", "/v1/me", "/v1/live",
                                  "/v1/events/gala/queue/ann/stream"])
def test_routes_of_the_server_are_counted_once(serve, users, path):
    server = serve("rate=2/h")
    with users.connect(server, "boss") as boss:
        boss.call("ROOM.JOIN", "gala", "ann")
    for status in (200, 200, 429):
        with Http(server.http_port) as web:
            web.send("GET", path, headers=users.headers("few"))
            assert web.read_head()[0] == status


def test_a_request_with_a_key_is_counted_once_and_so_is_its_repetition(serve, users):
    server = serve("rate=3/h")
    with Http(server.http_port) as web:
        def acquire(key):
            return web.call("POST", "/v1/semaphores/s/acquire", {"id": key, "limit": 9},
                            users.headers("few") + [f"Idempotency-Key: {key}"])
        assert acquire("a").status == 200
        answer = acquire("a")
        assert (answer.status, answer.headers["idempotency-replayed"]) == (200, "true")
        assert acquire("b").status == 200
        answer = acquire("c")
        assert (answer.status, answer.code) == (429, "RATE_LIMITED")
        assert "idempotency-replayed" not in answer.headers
        users.add("few", "admin", "rate=1000000/s")
        reload(server)
        assert acquire("c").status == 200, "the key was not taken by what was refused"


def test_a_transaction_is_refused_as_a_whole(serve, users):
    server = serve("rate=3/h")
    with users.connect(server, "few") as client:
        assert client.call("MULTI") == "OK"
        for name in "ab":
            assert client.call("LOCK.TRY", name, "30s") == "QUEUED"
        assert client.call("LOCK.UNLOCK", "a", "x") == "QUEUED"
        assert len(client.call("EXEC")) == 3, "paid when they were queued, and not again"
        assert client.call("MULTI") == "OK"
        assert client.call("LOCK.TRY", "c", "30s") == "QUEUED"
        refused = client.call("LOCK.TRY", "d", "30s")
        assert isinstance(refused, Error) and is_limited(refused)
        assert client.call("EXEC").code == "EXECABORT"
    with users.connect(server, "boss") as boss:
        assert boss.call("LIST", "locks") == ["", "a", "b"]


def test_a_pipeline_is_carried_out_as_far_as_the_tokens_go(serve, users):
    server = serve("rate=1/h", "burst=10")
    with users.connect(server, "few") as client:
        client.send_raw(b"".join(encode("LOCK.TRY", f"l-{i}", "30s", "ID", "me") for i in range(25)))
        answers = [client.read() for _ in range(25)]
    assert [is_limited(answer) for answer in answers] == [False] * 10 + [True] * 15


def test_a_reload_gives_no_new_tokens_and_takes_none(serve, users):
    server = serve("rate=5/h")
    with users.connect(server, "few") as client:
        for _ in range(3):
            assert client.call("LOCK.GET", "x") is None
        reload(server)
        spend(client, 2)
        users.add("few", "admin", "rate=5/h", "burst=100")
        reload(server)
        assert is_limited(client.call("LOCK.GET", "x"))
        users.add("few", "admin")
        reload(server)
        for _ in range(10):
            assert client.call("LOCK.GET", "x") is None


def test_tokens_come_back(serve, users):
    server = serve("rate=1000/s", "burst=1")
    with users.connect(server, "few") as client:
        granted = 0
        while granted < 20:
            granted += not is_limited(client.call("LOCK.GET", "x"))
