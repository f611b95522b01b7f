# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every command, of the table and of the server itself, and every route, as nobody
and in every role, over RESP, in a transaction and over HTTP.

The lists here say it a second time, by hand: a command or a route that is in none of them, or whose
row says something else, fails. What is refused must have changed nothing."""

import re

import pytest

from every_request import every_request, every_route, filled, own_routes
from harness import ROOT
from raw_client import Client, Http, transact
from server import Error, Server

ROLES = {None: 0, "read": 1, "write": 2, "admin": 3}

READ = """
    LIST LOCK.GET QUOTA.GET QUOTA.LIST QUOTA.MARK QUOTA.SYNCED ROOM.POSITION ROOM.STATS SAGA.GET SAGA.LIST
    SEATS.BOOKINGS SEATS.GET SEATS.HISTORY SEATS.LIST SEATS.SUMMARY SEATS.USER SEATS.ZONE SEM.CARD
    SEM.LIST SEM.STATS STOCK.GET STOCK.LIST STOCK.ORDER STOCK.SHARDS
""".split()
WRITE = """
    IDEM.ABORT IDEM.BEGIN IDEM.COMPLETE LOCK.EXTEND LOCK.TRY LOCK.UNLOCK QUOTA.CANCEL QUOTA.CLOSE
    QUOTA.COMMIT QUOTA.EXTEND QUOTA.LIMIT QUOTA.REFUND QUOTA.RESERVE QUOTA.SYNC QUOTA.SYNCALL
    RECONCILE ROOM.ADMIT ROOM.CHECK ROOM.DONE ROOM.JOIN ROOM.LEAVE ROOM.OPEN ROOM.TICK
    SEATS.CHECKOUT SEATS.CLOSE SEATS.CONFIRM SEATS.EXTEND SEATS.OPEN SEATS.REFUND SEATS.RELEASE
    SEATS.RESERVE SEM.ACQUIRE SEM.CONFIRM SEM.PING SEM.QUEUE SEM.RELEASE SEM.WAKE STOCK.ADJUST
    STOCK.BUY STOCK.CLOSE STOCK.EXTEND STOCK.GIVE STOCK.LOAD STOCK.OPEN STOCK.RETURN STOCK.SETTLE
    STOCK.TAKE
""".split()
ADMIN = "SAGA.REFUND SAGA.RESUME SAGA.WAKE WEBHOOKS.REPLAY".split()
EXPECTED = {**dict.fromkeys(READ, "read"), **dict.fromkeys(WRITE, "write"),
            **dict.fromkeys(ADMIN, "admin")}

# What the server itself does: words to send, and who may. AUTH, HELLO, QUIT and RESET are how one
# comes in and leaves.
OPEN = {"AUTH", "HELLO", "QUIT", "RESET"}
OWN = {
    ("AUDIT",): "admin", ("CLIENT", "GETNAME"): "read", ("CLIENT", "KILL", "ID", "999999"): "admin",
    ("COMMAND", "COUNT"): "read", ("CONFIG", "GET", "bind"): "read", ("DBSIZE",): "read",
    ("DISCARD",): "read", ("ECHO", "x"): "read", ("EXEC",): "read", ("INFO",): "read",
    ("METRICS",): "read", ("MULTI",): "read", ("PING",): "read", ("SELECT", "0"): "read",
    ("SLOWLOG", "LEN"): "admin", ("SNAPSHOT",): "admin", ("UNWATCH",): "read",
    ("WATCH", "x"): "read",
}

# The routes that are no command's. The callback is open to whoever can sign it.
ROUTES = {
    ("GET", "/"): None, ("GET", "/livez"): None, ("GET", "/readyz"): None,
    ("GET", "/v1/openapi.json"): None, ("POST", "/v1/payments/callback"): None,
    ("GET", "/assets/{name}"): None,
    ("GET", "/metrics"): "read", ("GET", "/v1/info"): "read", ("GET", "/v1/live"): "read",
    ("GET", "/v1/me"): "read",
    ("GET", "/v1/events/{event}/queue/{user}/stream"): "read",
    ("GET", "/v1/feed"): "admin", ("POST", "/v1/audit"): "admin", ("POST", "/v1/snapshot"): "admin",
}

REQUESTS = every_request()
KINDS = ("events", "zones", "tenants", "semaphores", "locks", "products", "rooms", "keys")


@pytest.fixture(scope="module")
def tokens(holdfast, tmp_path_factory):
    """The file of users, and the token of each role."""
    path, tokens, lines = tmp_path_factory.mktemp("users") / "users", {None: None}, []
    for role in ("read", "write", "admin"):
        ended = holdfast("auth", f"the-{role}", role)
        lines.append(ended.out)
        tokens[role] = ended.err.split()[-1]
    path.write_text("".join(lines))
    path.chmod(0o600)
    return path, tokens


@pytest.fixture(scope="module")
def server(tokens):
    """With a ledger, payments and all that carries out what spans them."""
    with Server("--auth-file", tokens[0], "--payment-url", "test:", "--admission-every", "0") as one:
        yield one


@pytest.fixture
def resp(server, tokens):
    """resp(role): a connection in that role."""
    opened = []

    def connect(role):
        client = Client(server.resp_port)
        opened.append(client)
        if role is not None:
            assert client.call("AUTH", tokens[1][role]) == "OK"
        return client
    yield connect
    for client in opened:
        client.close()


def headers(tokens, role):
    return [] if role is None else [f"Authorization: Bearer {tokens[1][role]}"]


def may(role, needed):
    return ROLES[role] >= ROLES[needed]


def is_cut_off(answer, role):
    """A stranger may not even send a long request, and is hung up on."""
    return role is None and isinstance(answer, Error) and answer.message.startswith("Protocol error")


def assert_resp(answer, role, needed, what):
    code = answer.code if isinstance(answer, Error) else None
    if may(role, needed):
        assert code not in ("NOAUTH", "NOPERM"), (what, role, answer)
    else:
        refused = code == ("NOAUTH" if role is None else "NOPERM") or is_cut_off(answer, role)
        assert refused, (what, role, answer)


def assert_http(answer, role, needed, what):
    if may(role, needed):
        assert answer.status < 400 or answer.code not in ("UNAUTHORIZED", "FORBIDDEN"), (
            what, role, answer)
    else:
        refusal = (401, "UNAUTHORIZED") if role is None else (403, "FORBIDDEN")
        assert (answer.status, answer.code) == refusal, (what, role, answer)


def listed(server, tokens):
    """The names of everything that is there."""
    with Http(server.http_port) as web:
        answers = {kind: web.call("GET", f"/v1/list/{kind}", headers=headers(tokens, "admin"))
                   for kind in KINDS}
    return {kind: answer.json["items"] for kind, answer in answers.items()}


# ---- the lists ---------------------------------------------------------------------------------

def test_every_row_has_the_role_that_stands_here():
    assert {request.name: request.role for request in REQUESTS} == EXPECTED


def test_every_command_of_the_server_is_known_here(resp):
    """What the server's own are called only its source lists."""
    table = {name.upper() for name in resp("admin").call("COMMAND", "LIST")}
    assert table == set(EXPECTED)
    source = (ROOT / "src/server/resp/resp_commands.c").read_text()
    rows = source[source.index("own_commands[] = {"):]
    own = set(re.findall(r'(?m)^    \{"([A-Z]+)", "', rows))
    assert own == {*OPEN, *(words[0] for words in OWN)}


def test_every_route_of_the_server_is_known_here(server):
    assert set(own_routes(server.http_port)) == set(ROUTES)


# ---- refused -----------------------------------------------------------------------------------

@pytest.mark.parametrize("role", [None, "read", "write"])
def test_what_is_refused_changes_nothing(server, tokens, resp, role):
    before = listed(server, tokens)
    refused = [request for request in REQUESTS if not may(role, EXPECTED[request.name])]
    assert refused
    for request in refused:
        assert_resp(resp(role).call(*request.words), role, EXPECTED[request.name], request)
    with Http(server.http_port) as web:
        for request in refused:
            for more in ([], ["Idempotency-Key: k"]):
                answer = web.call(request.method, request.path, request.body,
                                  headers(tokens, role) + more)
                assert_http(answer, role, EXPECTED[request.name], request)
    assert listed(server, tokens) == before


@pytest.mark.parametrize("role", [None, "read", "write"])
def test_a_transaction_refuses_as_well(server, tokens, resp, role):
    """One that is refused is so when it is queued, or its reply says so."""
    before = listed(server, tokens)
    for request in REQUESTS:
        needed = EXPECTED[request.name]
        if may(role, needed):
            continue
        client = resp(role)
        answers = [client.call("MULTI"), client.call(*request.words)]
        if not is_cut_off(answers[1], role):
            answers.append(client.call("EXEC"))
            answers += answers[2] if isinstance(answers[2], list) else []
        codes = [answer.code for answer in answers if isinstance(answer, Error)]
        assert ("NOAUTH" if role is None else "NOPERM") in codes, (request, answers)
    assert listed(server, tokens) == before


# ---- allowed -----------------------------------------------------------------------------------

@pytest.mark.parametrize("role", list(ROLES))
def test_every_command_over_resp(resp, role):
    for request in REQUESTS:
        assert_resp(resp(role).call(*request.words), role, EXPECTED[request.name], request)


@pytest.mark.parametrize("role", ["read", "write", "admin"])
def test_every_command_in_a_transaction(resp, role):
    for request in REQUESTS:
        if may(role, EXPECTED[request.name]):
            answer = transact(resp(role), " ".join(request.words))
            assert_resp(answer[0], role, EXPECTED[request.name], request)


@pytest.mark.parametrize("role", list(ROLES))
def test_every_command_over_http(server, tokens, role):
    with Http(server.http_port) as web:
        for request in REQUESTS:
            for more in ([], [f"Idempotency-Key: {request.name}"] if request.keyable else []):
                answer = web.call(request.method, request.path, request.body,
                                  headers(tokens, role) + more)
                assert_http(answer, role, EXPECTED[request.name], request)


@pytest.mark.parametrize("role", list(ROLES))
def test_the_short_routes_of_commands(server, tokens, role):
    """Those without a scope, whose ids carry it."""
    aliases = [request for request in REQUESTS if request.alias]
    assert aliases
    with Http(server.http_port) as web:
        for request in aliases:
            body = None if request.method in ("GET", "DELETE") else request.body
            answer = web.call(request.method, filled(request.alias), body, headers(tokens, role))
            assert_http(answer, role, EXPECTED[request.name], request)


# ---- what the server itself does ----------------------------------------------------------------

@pytest.mark.parametrize("role", list(ROLES))
def test_what_the_server_does_over_resp(resp, role):
    for words, needed in OWN.items():
        assert_resp(resp(role).call(*words), role, needed, words)


@pytest.mark.parametrize("role", list(ROLES))
def test_what_the_server_does_over_http(server, tokens, role):
    for (method, path), needed in ROUTES.items():
        with Http(server.http_port) as web:
            web.send(method, filled(path), None if method == "GET" else {}, headers(tokens, role))
            status, _ = web.read_head()
        if path == "/v1/payments/callback":
            assert status == 401, "it is not signed, whoever sends it"
        elif may(role, needed):
            assert status not in (401, 403), (path, role, status)
        else:
            assert status == (401 if role is None else 403), (path, role, status)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PATCH", "TRACE", "get"])
def test_no_other_method_is_a_way_around(server, method):
    """As nobody: HEAD asks for what GET does, the others reach nothing."""
    for _, path in every_route(server.http_port):
        with Http(server.http_port) as web:
            web.send(method, filled(path))
            status, _ = web.read_head()
        open_to_all = method == "HEAD" and ROUTES.get(("GET", path), "read") is None
        assert status in ((200, 404) if open_to_all else (204,) if method == "OPTIONS" else
                          (400, 401, 405, 501)), (method, path, status)
