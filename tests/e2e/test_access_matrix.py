# SPDX-License-Identifier: Apache-2.0
"""What users who are kept to scopes or families may do: every command of the table with a scope of
theirs and with another's, as a user of its family and of another, over RESP, in a transaction, over
HTTP and with an Idempotency-Key; and all that the server itself does.

The lists here say it a second time, by hand: a command that is in none of them fails."""

import pytest

from access_users import Users, is_forbidden
from every_request import Request, example_words, filled, rows
from raw_client import Http
from server import Server
from test_role_matrix import OPEN, OWN, ROUTES

KINDS = {"events": "SEATS", "zones": "SEATS", "tenants": "QUOTA", "semaphores": "SEM",
         "locks": "LOCK", "products": "STOCK", "rooms": "ROOM", "keys": "IDEM"}
FAMILIES = ["SEATS", "QUOTA", "SEM", "LOCK", "STOCK", "ROOM", "IDEM", "SAGA", "WEBHOOKS"]

# The first argument is the scope.
SCOPED = """
    IDEM.ABORT IDEM.BEGIN IDEM.COMPLETE LOCK.EXTEND LOCK.GET LOCK.TRY LOCK.UNLOCK QUOTA.CANCEL
    QUOTA.CLOSE QUOTA.COMMIT QUOTA.EXTEND QUOTA.GET QUOTA.LIMIT QUOTA.LIST QUOTA.MARK QUOTA.REFUND
    QUOTA.RESERVE QUOTA.SYNC ROOM.ADMIT ROOM.CHECK ROOM.DONE ROOM.JOIN ROOM.LEAVE ROOM.OPEN
    ROOM.POSITION ROOM.STATS ROOM.TICK SEATS.CHECKOUT SEATS.CLOSE SEATS.CONFIRM SEATS.EXTEND
    SEATS.GET SEATS.HISTORY SEATS.LIST SEATS.OPEN SEATS.REFUND SEATS.RELEASE SEATS.RESERVE
    SEATS.SUMMARY SEATS.USER SEATS.ZONE SEM.ACQUIRE SEM.CARD SEM.CONFIRM SEM.LIST SEM.PING SEM.QUEUE
    SEM.RELEASE SEM.STATS SEM.WAKE STOCK.ADJUST STOCK.BUY STOCK.CLOSE STOCK.EXTEND STOCK.GET
    STOCK.GIVE STOCK.LIST STOCK.LOAD STOCK.OPEN STOCK.ORDER STOCK.RETURN STOCK.SETTLE STOCK.SHARDS STOCK.TAKE
""".split()
# An option names it, and without it the command is about all of them: the option's JSON field.
NAMED = {"QUOTA.SYNCALL": "tenant", "RECONCILE": "product", "SEATS.BOOKINGS": "event"}
# What is of other scopes is left out of the answer: test_access.py.
FILTERED = ["LIST", "QUOTA.SYNCED", "SAGA.GET", "SAGA.LIST"]
# About all there is.
WHOLE = ["SAGA.REFUND", "SAGA.RESUME", "SAGA.WAKE", "WEBHOOKS.REPLAY"]

# Of what the server itself does: for users without such limits only.
OWN_WHOLE = {("AUDIT",), ("CLIENT", "KILL"), ("SLOWLOG", "LEN"), ("SNAPSHOT",)}
ROUTES_WHOLE = {"/v1/audit", "/v1/snapshot"}

ROWS = {row["name"]: row for row in rows()}


def family_of(name, words=()):
    if name == "LIST":
        return KINDS[words[0]]
    return "STOCK" if name == "RECONCILE" else name.partition(".")[0]


def with_scope(row, scope):
    """A request of the row about this scope; None: without one."""
    words = example_words(row)
    at, arg = next((at, arg) for at, arg in enumerate(row["args"])
                   if arg["field"] == row["scope_arg"])
    if arg["keyword"] is None:
        words[at] = scope
    else:
        if arg["keyword"] in words:
            place = words.index(arg["keyword"])
            del words[place:place + 2]
        words += [] if scope is None else [arg["keyword"], scope]
    return Request(row, words)


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    users = Users(tmp_path_factory.mktemp("users")).add("boss", "admin")
    users.add("shop", "admin", "scopes=shop:*,gala")
    for family in FAMILIES:
        users.add(f"of-{family}", "admin", f"families={family}")
    return users


@pytest.fixture(scope="module")
def server(users):
    with Server("--auth-file", users.path, "--payment-url", "test:", "--admission-every", "0") as one:
        yield one


@pytest.fixture(scope="module")
def ask(server, users):
    """ask(user, request): the answers of all ways to ask: True where it is forbidden."""
    clients, webs = {}, {}

    def over_resp(user, request):
        if user not in clients:
            clients[user] = users.connect(server, user)
        answers = {"resp": clients[user].call(*request.words)}
        clients[user].call("MULTI")
        answers["queued"] = clients[user].call(*request.words)
        if is_forbidden(answers["queued"]):
            assert clients[user].call("EXEC").code == "EXECABORT"
        else:
            clients[user].call("DISCARD")
        return {way: is_forbidden(answer) for way, answer in answers.items()}

    def over_http(user, request):
        if user not in webs:
            webs[user] = Http(server.http_port)
        ways = {"http": [], **({"key": [f"Idempotency-Key: {user}-{request}".replace(" ", "-")]}
                               if request.keyable else {})}
        answers = {way: webs[user].call(request.method, request.path, request.body,
                                        users.headers(user) + more) for way, more in ways.items()}
        return {way: answer.status == 403 and answer.code == "FORBIDDEN"
                for way, answer in answers.items()}

    yield lambda user, request: {**over_resp(user, request), **over_http(user, request)}
    for opened in [*clients.values(), *webs.values()]:
        opened.close()


def listed(server, users):
    with Http(server.http_port) as web:
        return {kind: web.call("GET", f"/v1/list/{kind}", headers=users.headers("boss")).json["items"]
                for kind in KINDS}


def assert_all(answers, forbidden, what):
    assert set(answers.values()) == {forbidden}, (what, answers)


# ---- the lists ---------------------------------------------------------------------------------

def test_every_command_is_known_here():
    assert sorted([*SCOPED, *NAMED, *FILTERED, *WHOLE]) == sorted(ROWS)


def test_every_row_says_what_stands_here():
    for name, row in ROWS.items():
        field = NAMED.get(name, row["args"][0]["field"] if name in SCOPED else None)
        assert row["scope_arg"] == field, name
        assert (row["scope_field"] is not None) == (name in FILTERED), name


def test_every_family_is_known_here():
    assert {family_of(name, ["events"]) for name in ROWS} == set(FAMILIES)


# ---- scopes ------------------------------------------------------------------------------------

@pytest.mark.parametrize("scope, mine", [("shop:1", True), ("gala", True), ("tour:1", False),
                                         ("gala2", False), ("shop", False)])
def test_a_scope_is_the_users_or_is_refused(server, users, ask, scope, mine):
    before = listed(server, users)
    for name in [*SCOPED, *NAMED]:
        request = with_scope(ROWS[name], scope)
        assert_all(ask("shop", request), not mine, request)
    if not mine:
        assert listed(server, users) == before


def test_what_names_no_scope_is_refused_to_users_of_some(server, users, ask):
    before = listed(server, users)
    for name in NAMED:
        request = with_scope(ROWS[name], None)
        assert_all(ask("shop", request), True, request)
    for name in WHOLE:
        assert_all(ask("shop", Request(ROWS[name], example_words(ROWS[name]))), True, name)
    assert listed(server, users) == before


def test_what_is_filtered_is_refused_to_nobody(ask):
    for name in FILTERED:
        assert_all(ask("shop", Request(ROWS[name], example_words(ROWS[name]))), False, name)


def test_an_id_that_carries_another_scope_is_no_way_in(server, users):
    aliases = [row for row in ROWS.values() if row["alias"]]
    assert aliases
    with Http(server.http_port) as web:
        for row in aliases:
            for scope, status in (("tour:1", 403), ("shop:9", 404)):
                path = row["alias"].replace("{id}", f"P0CKAN24T02FZJ758YGZBG87M7.{scope}")
                body = None if row["method"] == "GET" else {
                    "SEATS.EXTEND": {"ttl_seconds": 60}}.get(row["name"], {})
                answer = web.call(row["method"], path, body, users.headers("shop"))
                assert answer.status == status, (path, answer)


# ---- families ----------------------------------------------------------------------------------

def requests_of_families():
    for name, row in ROWS.items():
        words = example_words(row)
        variants = [[kind, *words[1:]] for kind in KINDS] if name == "LIST" else [words]
        for variant in variants:
            yield Request(row, variant), family_of(name, variant)


def test_a_command_of_the_users_family_is_carried_out(ask):
    for request, family in requests_of_families():
        assert_all(ask(f"of-{family}", request), False, request)


def test_a_command_of_another_family_is_refused(server, users, ask):
    before = listed(server, users)
    for at, (request, family) in enumerate(requests_of_families()):
        others = [other for other in FAMILIES if other != family]
        other = others[at % len(others)]
        assert_all(ask(f"of-{other}", request), True, (request, other))
    assert listed(server, users) == before


# ---- what the server itself does ----------------------------------------------------------------

@pytest.mark.parametrize("user", ["shop", "of-SEATS", "boss"])
def test_what_the_server_does_over_resp(server, users, user):
    for words in OWN:
        assert words[0] not in OPEN
        with users.connect(server, user) as client:
            answer = client.call(*words)
        assert is_forbidden(answer) == (user != "boss" and words[:2] in OWN_WHOLE), (words, answer)


@pytest.mark.parametrize("user", ["shop", "of-SEATS"])
def test_other_clients_are_not_shown_to_them(server, users, user):
    with users.connect(server, "boss") as boss, users.connect(server, user) as client:
        theirs = boss.call("CLIENT", "ID")
        assert f"id={theirs} " not in client.call("CLIENT", "LIST")
        assert is_forbidden(client.call("CLIENT", "KILL", "ID", theirs))
        assert boss.call("PING") == "PONG"


@pytest.mark.parametrize("user", ["shop", "of-ROOM", "boss"])
def test_what_the_server_does_over_http(server, users, user):
    for method, path in ROUTES:
        if path == "/v1/payments/callback":
            continue  # of nobody: it is signed
        with Http(server.http_port) as web:
            web.send(method, filled(path), None if method == "GET" else {}, users.headers(user))
            status, _ = web.read_head()
        assert (status == 403) == (user != "boss" and path in ROUTES_WHOLE), (path, user, status)
