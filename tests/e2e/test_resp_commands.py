# SPDX-License-Identifier: Apache-2.0
"""Every command over RESP, by name and in both versions: the shape of each reply, and every error
that a client can get. And what clients say on their own: HELLO, CLIENT, COMMAND, CONFIG, INFO."""

import itertools

import pytest

from harness import COMMANDS
from raw_client import Client, encode, fields
from server import Error, Server

INT, TEXT = int, str
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server():
    with Server("--slow-threshold", "0", memory=True) as one:
        yield one


@pytest.fixture
def client(server):
    with Client(server.resp_port) as one:
        yield one


@pytest.fixture
def scope():
    return f"scope-{next(numbers)}"


def matches(got, want):
    """A reply has the shape wanted: a type stands for any value of it."""
    if isinstance(want, type):
        return type(got) is want
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(matches, got, want))
    if isinstance(want, dict):
        return list(got) == list(want) and all(matches(got[name], want[name]) for name in want)
    return type(got) is type(want) and got == want


BOOKING = {"booking_id": "b1", "user_id": "ann", "zone_id": "floor", "event_id": TEXT,
           "show_id": "", "quantity": 2, "unit_price": 0, "status": "reserved",
           "created_at": INT, "expires_at": INT}
CONFIRMED = {**BOOKING, "status": "confirmed", "expires_at": 0, "confirmed_at": INT,
             "payment_id": "p1", "confirmation_code": TEXT}

# One story with commands of every family and replies of every shape. S is the scope. The suite in
# tests/conformance takes every command through this front.
STORY = [
    ("SEATS.OPEN S floor 10", [1, 10, 10]),
    ("SEATS.RESERVE S floor b1 ann 2 4", [1, 8, 2, INT]),
    ("SEATS.GET S b1", BOOKING),
    ("SEATS.EXTEND S b1 20m", [1, INT]),
    ("SEATS.CONFIRM S b1 USER ann PAYMENT p1", [1, "CONFIRMED", TEXT]),
    ("SEATS.GET S b1", CONFIRMED),
    ("SEATS.RESERVE S floor b2 ben 3 3 SHOW matinee PRICE 1200 TTL 90s LIFETIME", [1, 5, 3, INT]),
    ("SEATS.RELEASE S b2 USER ben", [1, "SUCCESS", 8, 0]),
    ("SEATS.ZONE S floor", {"capacity": 10, "available": 8, "reserved": 0, "confirmed": 2}),
    ("SEATS.USER S ann", [0, 2]),
    ("SEATS.REFUND S b1 USER ann", [1, "REFUNDED", 10]),
    ("SEATS.OPEN S floor 10 MAX 2 LIFETIME", [1, 10, 10]),
    ("QUOTA.LIMIT S 100", [1, 0, 100]),
    ("QUOTA.RESERVE S 30 HOLD h1 TTL 60", [1, 30, 100]),
    ("QUOTA.RESERVE S 20 HOLD h2", [1, 50, 100]),
    ("QUOTA.RESERVE S 60", [-1, 50, 100]),
    ("QUOTA.COMMIT S h1", [1, 50, 100]),
    ("QUOTA.CANCEL S h2", [1, 30, 100]),
    ("QUOTA.REFUND S 10", 20),
    ("QUOTA.SYNC S 55", [1, 55, 100]),
    ("QUOTA.GET S", [55, 100, 0]),
    ("SEM.ACQUIRE S one 1", [1, 1, INT]),
    ("SEM.QUEUE S two 60 120", [1, 1]),
    ("SEM.STATS S", {"in_use": 1, "max": 1, "waiting": 1}),
    ("SEM.WAKE S 2 60 120", 1),
    ("SEM.CONFIRM S two 2 60 120", [1, 2]),
    ("SEM.PING S two 60 120", [0, 1]),
    ("SEM.CARD S", 2),
    ("SEM.RELEASE S one", 1),
    ("SEM.RELEASE S one", 0),
    ("LOCK.TRY S 60", [TEXT, INT]),
    ("LOCK.TRY S-2 60 ID mine", ["mine", INT]),
    ("LOCK.TRY S-2 60 ID other", None),
    ("LOCK.GET S-2", ["mine", INT, INT]),
    ("LOCK.EXTEND S-2 mine 2m", 1),
    ("LOCK.EXTEND S-2 other 2m", 0),
    ("LOCK.UNLOCK S-2 mine", 1),
    ("LOCK.GET S-2", None),
    ("STOCK.LOAD S 10 SHARDS 4 WATERMARK 2 POLICY steal", [1, 10]),
    ("STOCK.TAKE S o1 ann 3 TTL 60", [1, 7]),
    ("STOCK.TAKE S o2 ben 1", [1, 6]),
    ("STOCK.SETTLE S o1", [1, 6]),
    ("STOCK.GIVE S o2", [1, 7]),
    ("STOCK.ADJUST S -2 broken", [1, 5]),
    ("STOCK.GET S", {"available": 5, "taken": 0, "sold": 3, "loaded": 8, "shards": 4,
                     "mode": "single"}),
    ("ROOM.JOIN S ann MAX 100 TTL 60", [1, 1, 1, TEXT]),
    ("ROOM.JOIN S ben", [1, 2, 2, TEXT]),
    ("ROOM.POSITION S ben", [2, 2]),
    ("ROOM.ADMIT S 1 PASS 60", ["ann", TEXT]),
    ("ROOM.CHECK S ann nonsense", 0),
    ("ROOM.LEAVE S ben", 1),
    ("ROOM.ADMIT S 5", []),
    ("IDEM.BEGIN S print", [1, "NEW"]),
    ("IDEM.BEGIN S print", [0, "PROCESSING"]),
    ("IDEM.COMPLETE S done TTL 60", 1),
    ("IDEM.BEGIN S print", [2, "COMPLETED", "done"]),
    ("IDEM.ABORT S", 0),
]


@pytest.mark.parametrize("spelling", [str.upper, str.lower, str.title])
@pytest.mark.parametrize("version", [2, 3])
def test_every_command_in_both_versions_and_any_case(client, scope, spelling, version):
    client.hello(version)
    for line, want in STORY:
        words = [word.replace("S", scope, 1) if word in ("S", "S-2") else word
                 for word in line.split()]
        got = client.call(spelling(words[0]), *words[1:])
        if isinstance(want, dict):
            assert isinstance(got, dict if version == 3 else list), line
            got = fields(got)
        assert matches(got, want), f"{line}: {got}"


def test_inline_and_array_are_the_same(client, scope):
    client.send_raw(f"SEATS.OPEN {scope} floor 5\r\nSEATS.ZONE {scope} floor\n".encode())
    assert client.read() == [1, 5, 5]
    assert client.read() == client.call("SEATS.ZONE", scope, "floor")
    assert client.call("IDEM.BEGIN", scope, "print") == [1, "NEW"]
    client.send_raw(f"  IDEM.COMPLETE  {scope}  \"a b\\x41\\n'\" \r\n".encode())
    assert client.read() == 1
    assert client.call("IDEM.BEGIN", scope, "print") == [2, "COMPLETED", "a bA\n'"]


def test_an_empty_line_and_an_empty_array_are_nothing(client):
    client.send_raw(b"\r\n\n*0\r\n*-1\r\n" + encode("PING"))
    assert client.read() == "PONG"


# ---- errors ---------------------------------------------------------------------------------------

# What it takes to be refused with each code, and what to do before.
REFUSALS = [
    ("INVALID_QUANTITY", "SEATS.OPEN S floor -1", []),
    ("INVALID_QUANTITY", "SEATS.RESERVE S floor b ann 0 4", []),
    ("INVALID_AMOUNT", "QUOTA.RESERVE S 0", []),
    ("INVALID_AMOUNT", "QUOTA.LIMIT S 9007199254740992", []),
    ("INVALID_TTL", "LOCK.TRY S 9ms", []),
    ("INVALID_TTL", "LOCK.TRY S 721h", []),
    ("INVALID_ID", "SEM.CARD a{b}", []),
    ("INVALID_ARGUMENT", "STOCK.LOAD S 5 POLICY random", []),
    ("INVALID_ARGUMENT", "QUOTA.RESERVE S 5 TTL 60", []),
    ("USER_LIMIT_EXCEEDED", "SEATS.RESERVE S floor b ann 3 2", ["SEATS.OPEN S floor 5"]),
    ("ZONE_NOT_FOUND", "SEATS.ZONE S floor", []),
    ("RESERVATION_NOT_FOUND", "SEATS.CONFIRM S b", ["SEATS.OPEN S floor 5"]),
    ("HOLD_NOT_FOUND", "QUOTA.COMMIT S h", ["QUOTA.LIMIT S 5"]),
    ("PRODUCT_NOT_FOUND", "STOCK.GET S", []),
    ("NOT_IN_QUEUE", "ROOM.POSITION S ann", []),
    ("NOT_FOUND", "STOCK.SETTLE S o", ["STOCK.LOAD S 5"]),
    ("TIMEOUT", "SEM.ACQUIRE S two 1 WAIT 20", ["SEM.ACQUIRE S one 1"]),
    ("NO_SLOT", "SEM.ACQUIRE S two 1", ["SEM.ACQUIRE S one 1"]),
    ("INSUFFICIENT_STOCK", "SEATS.RESERVE S floor b ann 6 9", ["SEATS.OPEN S floor 5"]),
    ("SOLD_OUT", "STOCK.TAKE S o ann 6", ["STOCK.LOAD S 5"]),
    ("INVALID_STATE", "SEATS.RELEASE S b",
     ["SEATS.OPEN S floor 5", "SEATS.RESERVE S floor b ann 1 1", "SEATS.CONFIRM S b"]),
    ("BOOKING_EXISTS", "SEATS.RESERVE S floor b ann 2 9",
     ["SEATS.OPEN S floor 5", "SEATS.RESERVE S floor b ann 1 9"]),
    ("CAPACITY_IN_USE", "SEATS.OPEN S floor 0",
     ["SEATS.OPEN S floor 5", "SEATS.RESERVE S floor b ann 1 1"]),
    ("ALREADY_IN_QUEUE", "ROOM.JOIN S ann", ["ROOM.JOIN S ann"]),
    ("NOT_OWNER", "SEATS.CONFIRM S b USER ben",
     ["SEATS.OPEN S floor 5", "SEATS.RESERVE S floor b ann 1 1"]),
    ("KEY_REUSED", "IDEM.BEGIN S other", ["IDEM.BEGIN S print"]),
    ("QUEUE_FULL", "ROOM.JOIN S ben MAX 1", ["ROOM.JOIN S ann"]),
]


@pytest.mark.parametrize("code, line, before", REFUSALS, ids=lambda value: str(value)[:40])
def test_a_refusal_is_an_ordinary_reply(client, scope, code, line, before):
    for words in [*before, line]:
        got = client.call(*(scope if word == "S" else word for word in words.split()))
    assert matches(got, [0, code, TEXT]) and got[2], got


def test_a_response_that_is_too_large(client, scope):
    assert client.call("IDEM.BEGIN", scope, "print") == [1, "NEW"]
    assert client.call("IDEM.COMPLETE", scope, "x" * (1 << 20)) == 1
    assert client.call("IDEM.BEGIN", scope, "print") == [2, "COMPLETED", "x" * (1 << 20)]
    assert client.call("IDEM.COMPLETE", scope, "x" * ((1 << 20) + 1))[1] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize("words", [
    ["NO.SUCH"], ["GET", "key"], [""], ["SEATS.OPEN", "gala", "floor"],
    ["SEATS.OPEN", "gala", "floor", "five"], ["SEATS.OPEN", "gala", "floor", "5", "6"],
    ["SEM.ACQUIRE", "s", "a", "1", "WAIT"], ["SEM.ACQUIRE", "s", "a", "1", "SPEED", "9"],
    ["SEM.ACQUIRE", "s", "a", "1", "WAIT", "1", "WAIT", "2"], ["LOCK.TRY", "r", "1y"],
    ["PING", "a", "b"], ["ECHO"], ["CLIENT", "KILL", "x"], ["CONFIG", "SET", "dir", "/"],
    ["SLOWLOG", "GET", "many"], ["COMMAND", "GETKEYS"], ["SELECT", "1"], ["HELLO", "2", "FOO"],
    ["no\r\nsuch\x00command"], ["x" * 5000]], ids=lambda words: words[0][:20] or "empty")
def test_what_is_wrong_with_the_request_is_an_error(client, words):
    got = client.call(*words)
    assert isinstance(got, Error) and got.code == "ERR" and got.message
    assert client.call("PING") == "PONG", "the connection goes on"


def test_a_protocol_error_is_answered_and_ends_the_connection(server):
    for bad in (b"*1\r\n+PING\r\n", b"*1\r\n$-2\r\n", b"*-2\r\n", b"*x\r\n", b"*1\r\n$4\r\nPINGxx",
                b"*2147483647\r\n", b"*1\r\n$999999999\r\n", b"\"unbalanced\r\n", b"x" * 20000):
        with Client(server.resp_port) as client:
            client.send_raw(encode("PING") + bad)
            assert client.read() == "PONG"
            assert str(client.read()).startswith("ERR Protocol error"), bad
            assert client.read_nothing_more() == b"", bad


def test_an_unknown_version_is_refused(client):
    for version in ("1", "4", "x"):
        assert client.hello(version).code == "NOPROTO"
    assert client.call("PING") == "PONG"


def test_authentication_that_nobody_asked_for(client):
    assert client.call("AUTH", "secret").code == "ERR"


# ---- what clients say on their own -----------------------------------------------------------------

def test_hello_says_who_the_server_is(client):
    plain = fields(client.call("HELLO"))
    assert (plain["server"], plain["proto"], plain["role"]) == ("holdfast", 2, "master")
    three = client.hello(3, "SETNAME", "tester")
    assert isinstance(three, dict) and three["proto"] == 3
    assert client.call("CLIENT", "GETNAME") == "tester"
    two = client.hello(2)
    assert isinstance(two, list) and fields(two)["proto"] == 2


def test_the_small_ones(client):
    assert client.call("PING") == "PONG"
    assert client.call("PING", "a\r\nb") == "a\r\nb"
    assert client.call("ECHO", "") == ""
    assert client.call("SELECT", "0") == "OK"
    assert isinstance(client.call("DBSIZE"), int)
    assert client.call("AUDIT") == [1, 0]


def test_quit_answers_what_came_before_and_closes(client):
    client.send_raw(encode("PING") + encode("QUIT") + encode("PING"))
    assert (client.read(), client.read()) == ("PONG", "OK")
    assert client.read_nothing_more() == b""


def test_reset_is_a_new_beginning(client):
    client.hello(3, "SETNAME", "tester")
    assert client.call("RESET") == "RESET"
    assert client.call("CLIENT", "GETNAME") is None
    assert isinstance(client.call("HELLO"), list)


OF_NO_SCOPE = ("list", "reconcile", "webhooks.replay", "quota.syncall", "quota.synced",
               "saga.list")


def test_command_describes_them_all(client):
    assert client.call("COMMAND", "COUNT") == len(COMMANDS)
    listed = client.call("COMMAND", "LIST")
    assert {name.upper() for name in listed} == set(COMMANDS)
    everything = client.call("COMMAND")
    assert [entry[0] for entry in everything] == listed
    for name, arity, flags, first, last, step, *_ in everything:
        assert arity < 0 or arity > 1, name
        assert "write" in flags or "readonly" in flags, name
        assert (first, last, step) == (
            (0, 0, 0) if name in OF_NO_SCOPE else (1, 1, 1)), name
    one, unknown = client.call("COMMAND", "INFO", "seats.reserve", "get")
    assert one[0] == "seats.reserve" and unknown is None
    client.hello(3)
    docs = client.call("COMMAND", "DOCS")
    assert set(docs) == set(listed)
    assert all(doc["summary"] and doc["arguments"] for doc in docs.values())
    assert all(argument["summary"] for doc in docs.values() for argument in doc["arguments"])
    assert set(client.call("COMMAND", "DOCS", "sem.card", "nothing")) == {"sem.card"}


def test_command_help_is_the_page_of_the_program(client, holdfast):
    assert client.call("COMMAND", "HELP", "seats.reserve") == holdfast("help", "SEATS.RESERVE").lines
    assert client.call("COMMAND", "HELP")[0].startswith("COMMAND <subcommand>")
    assert "unknown command" in str(client.call("COMMAND", "HELP", "SEATS.RESRVE"))
    assert "unknown subcommand" in str(client.call("COMMAND", "HELP", "SEATS.OPEN", "SEATS.ZONE"))


def test_config_get(client):
    assert fields(client.call("CONFIG", "GET", "maxclients")) == {"maxclients": "10000"}
    both = fields(client.call("CONFIG", "GET", "appendonly", "databases", "nothing"))
    assert both == {"appendonly": "no", "databases": "1"}
    client.hello(3)
    assert isinstance(client.call("CONFIG", "GET", "*"), dict)


def test_info_has_sections_of_figures(client):
    text = client.call("INFO")
    figures = dict(line.split(":", 1) for line in text.splitlines() if line and line[0] != "#")
    assert figures["state"] == "ready" and int(figures["connected_clients"]) >= 1
    assert all(section in text for section in ("# Server", "# Clients", "# Persistence", "# Stats"))
    assert client.call("INFO", "clients").startswith("# Clients\r\n")
    assert "# Server" not in client.call("INFO", "clients")


def test_the_slow_log_keeps_what_took_long(client, scope):
    assert client.call("SLOWLOG", "RESET") == "OK"
    client.call("SEATS.OPEN", scope, "floor", 5)
    entry = client.call("SLOWLOG", "GET", 1)[0]
    assert matches(entry, [INT, INT, INT, [TEXT], TEXT, TEXT])
    assert entry[3][0].startswith(f"SEATS.OPEN {scope} floor 5")
    assert client.call("SLOWLOG", "LEN") >= 1
    client.call("SLOWLOG", "RESET")
    assert client.call("SLOWLOG", "LEN") == 0


def test_whoever_shows_the_token_gets_the_pass(client, scope):
    token = client.call("ROOM.JOIN", scope, "ann")[3]
    assert client.call("ROOM.POSITION", scope, "ann", "TOKEN", token) == [1, 1]
    passed = client.call("ROOM.ADMIT", scope, 1)[1]
    assert client.call("ROOM.POSITION", scope, "ann", "TOKEN", token) == [0, 0, passed]
    assert client.call("ROOM.POSITION", scope, "ann", "TOKEN", "another")[:2] == [0, "NOT_IN_QUEUE"]
    assert client.call("ROOM.POSITION", scope, "ann")[:2] == [0, "NOT_IN_QUEUE"]
