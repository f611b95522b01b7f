# SPDX-License-Identifier: Apache-2.0
"""What a user who is kept to some scopes learns of the others: nothing. All that is planted in them
has a word in its name, and that word is looked for in all that such a user is answered: in every
page of every list, its cursors too, in what the server tells of itself, in refusals, and where an
id is already another's. A list must not even tell by the number of its pages which names there are."""

import pytest

from access_users import Users, is_forbidden, reload
from every_request import Request, filled, rows
from raw_client import Http, encode
from server import Error, Server
from test_access_matrix import KINDS, SCOPED, with_scope
from test_role_matrix import OWN, ROUTES

WORD = "hush"
COUNTS = (1, 2, 3, 4)
ROWS = {row["name"]: row for row in rows()}
LISTS = [row for row in ROWS.values() if any(arg["keyword"] == "AFTER" for arg in row["args"])]

# Something of each kind in a scope; {0} is the scope, {1} what the ids in it begin with.
PLANTED = """
    SEATS.OPEN {0} {1}-floor 10
    SEATS.RESERVE {0} {1}-floor {1}-b1 {1}-ann 1 9
    SEATS.RESERVE {0} {1}-floor {1}-b2 {1}-bob 1 9
    SEATS.CONFIRM {0} {1}-b2
    STOCK.LOAD {0} 10
    STOCK.TAKE {0} {1}-o1 {1}-ann 1
    STOCK.TAKE {0} {1}-o2 {1}-ann 1
    QUOTA.LIMIT {0} 10
    QUOTA.RESERVE {0} 1 HOLD {1}-h1
    QUOTA.RESERVE {0} 1 HOLD {1}-h2
    LOCK.TRY {0} 1h ID {1}-lock
    SEM.ACQUIRE {0} {1}-w1 2
    SEM.ACQUIRE {0} {1}-w2 2
    ROOM.OPEN {0} RATE 1
    ROOM.JOIN {0} {1}-ann
    IDEM.BEGIN {0} {1}-print
    SEATS.CHECKOUT {0} {1}-floor {1}-ann 1 9 SAGA {2}-{1} PRICE 5 WAIT 30s
"""
# {2} puts the sagas of others before, between and behind the user's own.
SCOPES = [("hush:a", "hush", "a"), ("shop:1", "shop", "b"), ("hush:b", "hush", "c"),
          ("shop:2", "shop", "d"), ("hush:c", "hush", "e"), ("shoe:hush", "hush", "f"),
          ("shop:3", "shop", "g"), ("hush:d", "hush", "h")]
NAMES = {kind: [f"shop:{i}" for i in (1, 2, 3)] for kind in KINDS}
NAMES["zones"] = [f"{name} shop-floor" for name in NAMES["events"]]


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    users = Users(tmp_path_factory.mktemp("users")).add("boss", "admin")
    return users.add("shop", "admin", "scopes=shop:*").add("rest", "read", "scopes=shop:1,shop:2")


@pytest.fixture(scope="module")
def server(users):
    usage = " UNION ".join(f"SELECT '{scope}' AS t, 7 AS n" for scope, _, _ in SCOPES)
    with Server("--auth-file", users.path, "--payment-url", "test:", "--admission-every", "0",
                "--quota-sync-query", f"SELECT t, n FROM ({usage}) AS used WHERE n > 0",
                "--quota-sync-at", "never") as one:
        with users.connect(one, "boss") as boss:
            assert boss.call("CLIENT", "SETNAME", WORD) == "OK"
            for scope, ids, order in SCOPES:
                for line in PLANTED.split("\n"):
                    if line.strip():
                        answer = boss.call(*line.format(scope, ids, order).split())
                        assert not isinstance(answer, Error), (line, answer)
                        assert not isinstance(answer, list) or answer[0] != 0, (line, answer)
            assert boss.call("QUOTA.SYNCALL")[0] == 1
            yield one


def assert_quiet(answer, what):
    """Neither as it stands nor in an encoding that anybody could read."""
    text = repr(answer)
    for word in (WORD, WORD.encode().hex(), "aHVza", "h1c2", "odXNo"):
        assert word not in text, (what, text)


class Resp:
    def __init__(self, server, users, who):
        self.client = users.connect(server, who)

    def page(self, row, words, count, after):
        answer = self.client.call(row["name"], *words, "COUNT", count,
                                  *(("AFTER", after) if after else ()))
        assert_quiet(answer, (row["name"], words, count, after))
        return answer[0], [item if isinstance(item, str) else item[1] for item in answer[1:]]

    def close(self):
        self.client.close()


class Web:
    def __init__(self, server, users, who):
        self.http, self.headers = Http(server.http_port), users.headers(who)

    def page(self, row, words, count, after):
        more = ["COUNT", str(count), *(("AFTER", after) if after else ())]
        answer = self.http.call("GET", Request(row, [*words, *more]).path, headers=self.headers)
        assert_quiet((answer.headers, answer.body), (row["name"], words, count, after))
        return answer.json["cursor"], [next(iter(item.values())) for item in answer.json["items"]]

    def close(self):
        self.http.close()


def without_pages(words):
    """Words of an example without what asks for a page, a state or a zone."""
    kept = []
    for at, word in enumerate(words):
        if word in ("COUNT", "AFTER", "STATUS", "MATCH", "ZONE", "USER"):
            words[at + 1] = None
        elif word is not None:
            kept.append(word)
    return kept


def questions(row):
    """The words with which a user of shop:* may ask for a list."""
    if row["name"] == "LIST":
        return [[kind] for kind in KINDS]
    if row["scope_arg"] is None:
        return [[]]
    words = without_pages(with_scope(row, "shop:1").words[1:])
    return [["shop-ann", *words[1:]] if row["name"] == "SEATS.BOOKINGS" else words]


def walk(way, row, words, count):
    """The first field of each item, which names it."""
    items, after, cursors = [], "", set()
    while True:
        after, page = way.page(row, words, count, after)
        assert len(page) <= count
        items += page
        if not after:
            return items
        assert after not in cursors, (row["name"], words, after)
        cursors.add(after)


@pytest.fixture(params=[Resp, Web])
def way(request, server, users):
    one = request.param(server, users, "shop")
    yield one
    one.close()


# ---- lists -------------------------------------------------------------------------------------

@pytest.mark.parametrize("row", LISTS, ids=lambda row: row["name"])
def test_no_page_of_a_list_names_what_is_anothers(way, row):
    for words in questions(row):
        whole = walk(way, row, words, 1000)
        for count in COUNTS:
            assert walk(way, row, words, count) == whole, (words, count)
        assert whole, words


def test_the_lists_have_all_that_is_theirs(server, users):
    """The walk above would be as quiet over nothing."""
    with users.connect(server, "shop") as client:
        for kind, names in NAMES.items():
            assert client.call("LIST", kind)[1:] == names
        assert [saga[1] for saga in client.call("SAGA.LIST")[1:]] == ["b-shop", "d-shop", "g-shop"]
        assert [item[1] for item in client.call("QUOTA.SYNCED")[1:]] == ["shop:1", "shop:2", "shop:3"]
    with users.connect(server, "rest") as client:
        for kind, names in NAMES.items():
            assert client.call("LIST", kind)[1:] == names[:2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_tells_of_no_prefix_whether_names_begin_so(server, users, kind):
    """With the page's size a count of what was found would show."""
    def told(who, match):
        with users.connect(server, who) as client:
            return [client.call("LIST", kind, "MATCH", match, "COUNT", count) for count in COUNTS]
    for who in ("shop", "rest"):
        for match in ("h", "hush:", "hush:a", "hush:a h", "shoe:", "shoe:hush", "shop:9"):
            assert told(who, match) == told(who, "nosuch") == [[""]] * len(COUNTS), (who, match)
    assert told("rest", "shop:3") == told("rest", "shop:3 ") == told("rest", "shop:1x")
    for match in ("s", "sho", "shop:", ""):
        assert told("shop", match)[-1][1:] == NAMES[kind], match
    assert told("shop", "shop:2")[0][1:] == told("rest", "shop:2")[0][1:] == NAMES[kind][1:2]


def test_only_cursors_that_the_user_was_given_are_taken(server, users):
    """Otherwise a saga of another's between two ids of one's choice would show."""
    with users.connect(server, "shop") as shop, users.connect(server, "rest") as rest, \
            users.connect(server, "boss") as boss:
        mine = shop.call("SAGA.LIST", "COUNT", 1)[0]
        theirs = rest.call("SAGA.LIST", "COUNT", 1)[0]
        listed = shop.call("LIST", "events", "COUNT", 1)[0]
        assert shop.call("SAGA.LIST", "COUNT", 2, "AFTER", mine)[1][1] == "b-shop"
        plain = boss.call("SAGA.LIST", "COUNT", 1)[0]
        assert plain == "a-hush"
        wrong = [theirs, listed, plain, "b-shop", "0", mine[:-4], mine[4:], mine.swapcase(),
                 "A" * len(mine), "="]
        for after in wrong:
            answer = shop.call("SAGA.LIST", "COUNT", 1, "AFTER", after)
            assert answer[:2] == [0, "INVALID_ARGUMENT"], (after, answer)
            assert_quiet(answer, after)
        assert shop.call("LIST", "events", "AFTER", mine)[:2] == [0, "INVALID_ARGUMENT"]
        assert shop.call("LIST", "events", "AFTER", "0.9")[:2] == [0, "INVALID_ARGUMENT"]
        assert boss.call("SAGA.LIST", "AFTER", mine)[:2] != ["", []]


def test_a_cursor_is_good_on_another_server_of_the_same_users(server, users):
    with users.connect(server, "shop") as client:
        cursor = client.call("SAGA.LIST", "COUNT", 1)[0]
    with Server("--auth-file", users.path) as other, users.connect(other, "shop") as client:
        assert client.call("SAGA.LIST", "COUNT", 1, "AFTER", cursor) == [""]


def test_a_cursor_is_good_after_a_reload(server, users):
    with users.connect(server, "shop") as client:
        cursor = client.call("SAGA.LIST", "COUNT", 1)[0]
        reload(server)
        assert client.call("SAGA.LIST", "COUNT", 2, "AFTER", cursor)[1][1] == "b-shop"


def test_a_page_in_a_transaction_and_in_a_pipeline_is_filtered(server, users):
    """Also if the client is nobody any more by the time of the answer."""
    with users.connect(server, "shop") as client:
        client.send_raw(encode("SAGA.LIST") + encode("LIST", "events", "COUNT", 1) + encode("RESET"))
        answers = [client.read() for _ in range(3)]
        assert_quiet(answers, "a pipeline")
        assert len(answers[0]) == 4 and answers[2] == "RESET"
    with users.connect(server, "shop") as client:
        client.call("MULTI")
        for words in (("SAGA.LIST", "COUNT", 1), ("SAGA.GET", "a-hush")):
            assert client.call(*words) == "QUEUED"
        answers = client.call("EXEC")
        assert_quiet(answers[0], "a transaction")
        assert answers[1][:2] == [0, "NOT_FOUND"]
        client.call("MULTI")
        assert client.call("SAGA.LIST", "COUNT", 2, "AFTER", answers[0][0]) == "QUEUED"
        assert client.call("EXEC")[0][1][1] == "b-shop"


# ---- everything else ---------------------------------------------------------------------------

def test_no_command_about_another_scope_tells_what_is_in_it(server, users):
    """The request names the scope in another way than what is in it."""
    with users.connect(server, "boss") as boss, users.connect(server, "shop") as shop, \
            Http(server.http_port) as web:
        for line in PLANTED.split("\n"):
            if line.strip() and "CHECKOUT" not in line:
                boss.call(*line.format("vault", WORD, "x").split())
        for name in SCOPED:
            request = with_scope(ROWS[name], "vault")
            answer = shop.call(*request.words)
            assert is_forbidden(answer), request
            assert_quiet(answer, request)
            answer = web.call(request.method, request.path, request.body, users.headers("shop"))
            assert answer.status == 403
            assert_quiet((answer.headers, answer.body), request)


def test_an_id_that_is_anothers_tells_nothing_of_it(server, users):
    """Sagas, orders of the ledger, payments and keys have one space of names for all scopes."""
    with users.connect(server, "boss") as boss, users.connect(server, "shop") as shop, \
            Http(server.http_port) as web:
        boss.call("SEATS.CHECKOUT", "hush:a", "hush-floor", "hush-ann", 1, 9, "SAGA", "taken",
                  "BOOKING", "taken", "PRICE", 5, "WAIT", "30s")
        boss.call("STOCK.OPEN", "hush:a", 10)
        boss.call("STOCK.BUY", "hush:a", "taken", "hush-ann", 1)
        boss.call("STOCK.OPEN", "shop:1", 10)
        for words in (("SAGA.GET", "taken"), ("SAGA.RESUME", "taken"), ("SAGA.REFUND", "taken"),
                      ("SEATS.CHECKOUT", "shop:1", "shop-floor", "ann", 1, 9, "SAGA", "taken",
                       "PRICE", 5, "WAIT", "30s"),
                      ("SEATS.CHECKOUT", "shop:1", "shop-floor", "ann", 1, 9, "BOOKING", "taken",
                       "PRICE", 5, "WAIT", "30s"),
                      ("STOCK.BUY", "shop:1", "taken", "ann", 1), ("STOCK.ORDER", "shop:1", "taken"),
                      ("STOCK.RETURN", "shop:1", "taken"), ("STOCK.TAKE", "shop:1", "taken", "ann", 1),
                      ("SEATS.GET", "shop:1", "taken"), ("SEATS.SUMMARY", "shop:1", "ann", "shop-floor"),
                      ("RECONCILE", "PRODUCT", "shop:1"), ("QUOTA.SYNCALL", "TENANT", "shop:1")):
            assert_quiet(shop.call(*words), words)
        body = {"zone_id": "hush-floor", "user_id": "hush-ann", "quantity": 1, "max_per_user": 9}
        path = "/v1/events/{}/bookings"
        key = ["Idempotency-Key: taken"]
        assert web.call("POST", path.format("hush:a"), body, users.headers("boss") + key).status < 300
        body = {"zone_id": "shop-floor", "user_id": "ann", "quantity": 1, "max_per_user": 9}
        answer = web.call("POST", path.format("shop:1"), body, users.headers("shop") + key)
        assert answer.status == 201 and "idempotency-replayed" not in answer.headers
        assert_quiet((answer.headers, answer.body), "a key")


MORE = [("CLIENT", "LIST"), ("CLIENT", "INFO"), ("COMMAND",), ("COMMAND", "DOCS"), ("CONFIG", "GET", "*"),
        ("INFO", "everything"), ("SLOWLOG", "GET", "1000")]


def test_what_the_server_tells_of_itself_names_nothing(server, users):
    for words in [*OWN, *MORE]:
        if words[0] in ("SNAPSHOT", "EXEC", "DISCARD"):
            continue
        with users.connect(server, "shop") as client:
            assert_quiet(client.call(*words), words)


def test_no_route_of_the_server_names_anything(server, users):
    for method, path in ROUTES:
        if path in ("/v1/payments/callback", "/assets/{name}", "/v1/snapshot"):
            continue
        with Http(server.http_port) as web:
            web.send(method, filled(path), None if method == "GET" else {}, users.headers("shop"))
            status, headers = web.read_head()
            size = int(headers.get("content-length", 0))
            text = web.file.read(size) if size else b""
            if status == 200 and path == "/v1/live":
                while b"data:" not in text:
                    text += web.file.readline()
            assert_quiet((headers, text), path)
