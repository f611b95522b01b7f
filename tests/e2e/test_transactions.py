# SPDX-License-Identifier: Apache-2.0
"""MULTI, EXEC and DISCARD over RESP: what is queued, what is refused, what becomes of it."""

import itertools
import socket
import threading

import pytest

from harness import COMMANDS, run
from raw_client import Client, encode, fields, transact
from resp_parts import client, other, server
from server import Error, Server, wait_until

numbers = itertools.count(1)
ABORTED = Error("EXECABORT Transaction discarded because of previous errors.")
MOST = 1024  # commands in a transaction


@pytest.fixture
def scope():
    return f"transaction-{next(numbers)}"


# ---- queued, then carried out ---------------------------------------------------------------------

def test_what_is_queued_is_carried_out_by_exec_in_its_order(client, other, scope):
    assert client.call("MULTI") == "OK"
    assert client.call("SEATS.OPEN", scope, "floor", 5) == "QUEUED"
    assert client.call("SEATS.RESERVE", scope, "floor", "b", "ann", 2, 4) == "QUEUED"
    assert client.call("SEATS.USER", scope, "ann") == "QUEUED"
    assert other.call("SEATS.ZONE", scope, "floor")[1] == "ZONE_NOT_FOUND", "not before EXEC"
    opened, reserved, user = client.call("EXEC")
    assert (opened, reserved[:3], user) == ([1, 5, 5], [1, 3, 2], [2, 0])
    assert client.call("PING") == "PONG", "the transaction is over"


def test_an_empty_transaction_answers_an_empty_array(client):
    assert transact(client) == []


def test_all_of_it_happens_at_one_moment(client, scope):
    answers = transact(client, f"SEATS.OPEN {scope} floor 1000",
                       *[f"SEATS.RESERVE {scope} floor b{i} ann 1 1000" for i in range(500)],
                       *[f"SEATS.GET {scope} b{i}" for i in range(500)])
    assert len({fields(one)["created_at"] for one in answers[501:]}) == 1


def test_nothing_of_another_client_comes_in_between(server, client, scope):
    """Each transaction takes all and gives it back: nobody else ever sees a part of it."""
    client.call("STOCK.LOAD", scope, 10)
    ended = threading.Event()
    seen = set()

    def watch():
        with Client(server.resp_port) as watcher:
            while not ended.is_set():
                seen.add(fields(watcher.call("STOCK.GET", scope))["available"])

    watcher = threading.Thread(target=watch)
    watcher.start()
    for i in range(50):
        answers = transact(client, *[f"STOCK.TAKE {scope} {i}-{n} ann 1" for n in range(10)],
                           *[f"STOCK.GIVE {scope} {i}-{n}" for n in range(10)])
        assert [one[1] for one in answers] == [*range(9, -1, -1), *range(1, 11)]
    ended.set()
    watcher.join()
    assert seen == {10}


def test_a_refusal_is_the_reply_to_its_command_and_no_more(client, scope):
    answers = transact(client, f"SEATS.OPEN {scope} floor 1",
                       f"SEATS.RESERVE {scope} floor b ann 2 4", f"LOCK.GET {scope}", "SELECT 7",
                       f"SEATS.RESERVE {scope} floor b ann 1 4")
    assert answers[0] == [1, 1, 1]
    assert answers[1][:2] == [0, "INSUFFICIENT_STOCK"]
    assert answers[2] is None
    assert answers[3].code == "ERR"
    assert answers[4][:3] == [1, 0, 1]


def test_replies_keep_their_types_in_resp3(client, scope):
    client.hello(3)
    answers = transact(client, f"SEATS.OPEN {scope} floor 5", f"SEATS.ZONE {scope} floor",
                       f"LOCK.GET {scope}")
    assert answers[1] == {"capacity": 5, "available": 5, "reserved": 0, "confirmed": 0}
    assert answers[2] is None


def test_hello_inside_changes_what_comes_after_it(client, scope):
    answers = transact(client, f"SEATS.OPEN {scope} floor 5", f"SEATS.ZONE {scope} floor", "HELLO 3",
                       f"SEATS.ZONE {scope} floor")
    assert isinstance(answers[1], list) and isinstance(answers[3], dict)
    assert answers[2]["proto"] == 3


def test_commands_of_the_server_are_queued(client):
    client.call("CLIENT", "SETNAME", "queuer")
    answers = transact(client, "PING", "ECHO x", "SELECT 0", "CLIENT GETNAME", "CLIENT INFO",
                       "UNWATCH", "INFO server", "DBSIZE", "CONFIG GET databases", "COMMAND COUNT")
    assert answers[:4] == ["PONG", "x", "OK", "queuer"]
    assert " multi=10 " in answers[4] and " flags=x " in answers[4]
    assert answers[5] == "OK" and answers[6].startswith("# Server")
    assert isinstance(answers[7], int) and answers[8:] == [["databases", "1"], len(COMMANDS)]


def test_inline_requests_are_queued_as_well(client, scope):
    client.send_raw(f"multi\r\nseats.open {scope} 'floor' 3\r\nEXEC\r\n".encode())
    assert [client.read() for _ in range(3)] == ["OK", "QUEUED", [[1, 3, 3]]]


@pytest.mark.parametrize("size", [1, 7])
def test_it_makes_no_difference_how_the_bytes_are_cut(client, scope, size):
    data = encode("MULTI") + encode("QUOTA.LIMIT", scope, 5) + encode("ECHO", "a\r\nb") + encode("EXEC")
    for i in range(0, len(data), size):
        client.send_raw(data[i:i + size])
    assert [client.read() for _ in range(4)] == ["OK", "QUEUED", "QUEUED", [[1, 0, 5], "a\r\nb"]]


def test_what_follows_exec_in_the_same_pipeline_is_answered_after_it(client, scope):
    client.send_raw(encode("PING") + encode("MULTI") + encode("QUOTA.LIMIT", scope, 5) +
                    encode("EXEC") + encode("QUOTA.GET", scope) + encode("ECHO", "end"))
    assert [client.read() for _ in range(6)] == ["PONG", "OK", "QUEUED", [[1, 0, 5]], [0, 5, 0],
                                                 "end"]


# ---- commands that wait ---------------------------------------------------------------------------

def test_no_command_waits_inside_a_transaction(client, other, scope):
    other.call("SEM.ACQUIRE", scope, "holder", 1)
    answers = transact(client, f"SEM.ACQUIRE {scope} late 1 WAIT 60000", f"SEM.CARD {scope}")
    assert answers[0][:2] == [0, "NO_SLOT"] and answers[1] == 1
    assert fields(client.call("SEM.STATS", scope))["waiting"] == 0


def test_a_slot_that_a_transaction_gives_back_goes_to_who_waits(client, other, scope):
    client.call("SEM.ACQUIRE", scope, "one", 1)
    other.send("SEM.ACQUIRE", scope, "two", 1, "WAIT", 60000)
    wait_until(lambda: fields(client.call("SEM.STATS", scope))["waiting"] == 1)
    answers = transact(client, f"SEM.RELEASE {scope} one", f"SEM.ACQUIRE {scope} one 1")
    assert answers[0] == 1 and answers[1][:2] == [0, "NO_SLOT"], "two came first"
    assert other.read()[:2] == [1, 1]


# ---- queueing errors ------------------------------------------------------------------------------

@pytest.mark.parametrize("line, code", [
    ("NO.SUCH a", "ERR"), ("GET key", "ERR"), ("SEATS.OPEN S floor", "ERR"), ("ECHO", "ERR"),
    ("SEATS.OPEN S floor five", "ERR"), ("SEATS.OPEN S floor -1", "INVALID_QUANTITY"),
    ("LOCK.TRY S 1ms", "INVALID_TTL"), ("SEM.CARD a{b}", "INVALID_ID"),
    ("STOCK.LOAD S 5 POLICY random", "INVALID_ARGUMENT"), ("DISCARD now", "ERR"),
    ("EXEC now", "ERR"), ("AUDIT", "ERR"), ("SNAPSHOT", "ERR"), ("AUTH secret", "ERR")])
def test_what_cannot_be_queued_is_an_error_and_aborts(client, scope, line, code):
    assert client.call("MULTI") == "OK"
    assert client.call("QUOTA.LIMIT", scope, 7) == "QUEUED"
    refused = client.call(*(scope if word == "S" else word for word in line.split()))
    assert isinstance(refused, Error) and refused.code == code and refused.message
    assert client.call("QUOTA.LIMIT", scope, 8) == "QUEUED"
    assert client.call("EXEC") == ABORTED
    assert client.call("QUOTA.GET", scope) == [0, 0, 0], "nothing was carried out"
    assert transact(client, "PING") == ["PONG"], "the next one is a new beginning"


def test_discard_forgets_an_aborted_transaction_too(client):
    assert client.call("MULTI") == "OK"
    assert client.call("NO.SUCH").code == "ERR"
    assert client.call("DISCARD") == "OK"
    assert transact(client, "PING") == ["PONG"]


def test_discard_carries_out_nothing(client, scope):
    client.call("MULTI")
    client.call("QUOTA.LIMIT", scope, 5)
    assert client.call("DISCARD") == "OK"
    assert client.call("QUOTA.GET", scope) == [0, 0, 0]
    assert client.call("EXEC") == Error("ERR EXEC without MULTI")


def test_out_of_order(client):
    assert client.call("EXEC") == Error("ERR EXEC without MULTI")
    assert client.call("DISCARD") == Error("ERR DISCARD without MULTI")
    assert client.call("MULTI", "x").code == "ERR"
    assert client.call("MULTI") == "OK"
    assert client.call("MULTI") == Error("ERR MULTI calls can not be nested")
    assert client.call("WATCH", "key") == Error("ERR WATCH inside MULTI is not allowed")
    assert client.call("PING") == "QUEUED"
    assert client.call("EXEC") == ["PONG"], "these two spoil nothing"


def test_watch_is_refused_and_unwatch_does_no_harm(client):
    refused = client.call("WATCH", "a", "b")
    assert refused.code == "ERR" and "WATCH is not supported" in refused.message
    assert client.call("UNWATCH") == "OK"


def test_reset_and_quit_are_never_queued(server, client, scope):
    client.call("MULTI")
    client.call("QUOTA.LIMIT", scope, 5)
    assert client.call("RESET") == "RESET"
    assert client.call("EXEC").message == "EXEC without MULTI"
    client.call("MULTI")
    client.call("QUOTA.LIMIT", scope, 5)
    assert client.call("QUIT") == "OK"
    assert client.read_nothing_more() == b""
    assert server.call("QUOTA.GET", scope) == [0, 0, 0]


# ---- bounds ---------------------------------------------------------------------------------------

def test_a_transaction_has_so_many_commands_and_no_more(client, scope):
    answers = transact(client, *[f"QUOTA.LIMIT {scope} {i}" for i in range(MOST)])
    assert answers == [[1, 0, i] for i in range(MOST)]
    client.send_raw(encode("MULTI") + encode("QUOTA.LIMIT", scope, 1) * (MOST + 1) + encode("EXEC"))
    got = [client.read() for _ in range(MOST + 3)]
    assert got[:MOST + 1] == ["OK"] + ["QUEUED"] * MOST
    assert got[MOST + 1].code == "ERR" and str(MOST) in got[MOST + 1].message
    assert got[MOST + 2] == ABORTED
    assert client.call("QUOTA.GET", scope) == [0, MOST - 1, 0]


@pytest.mark.parametrize("line, most", [("INFO", 16), ("COMMAND DOCS", 16),
                                        ("ROOM.ADMIT S 100", 10), ("ROOM.ADMIT S 1000000", 1),
                                        ("ROOM.TICK S", 1), ("SEATS.LIST S", 1),
                                        ("LIST zones", 1)])
def test_what_costs_more_counts_for_many(client, scope, line, most):
    words = [scope if word == "S" else word for word in line.split()]
    assert len(transact(client, *[" ".join(words)] * most)) == most
    client.call("MULTI")
    got = [client.call(*words) for _ in range(most + 1)]
    assert got[:most] == ["QUEUED"] * most and got[most].code == "ERR"
    assert "a list and some others count for many" in got[most].message
    assert client.call("EXEC") == ABORTED


def test_a_transaction_has_so_many_bytes_and_no_more(client, other, scope):
    large, number = "x" * (900 << 10), client.call("CLIENT", "ID")
    client.call("MULTI")
    got = [client.call("IDEM.COMPLETE", scope, large) for _ in range(3)]
    assert got[:2] == ["QUEUED"] * 2 and got[2].code == "ERR" and "bytes" in got[2].message
    assert client.call("IDEM.COMPLETE", scope, large) == "QUEUED"
    assert " multi-mem=0 " in other.call("CLIENT", "LIST", "ID", number), "nothing is kept any more"
    assert client.call("EXEC") == ABORTED


def test_answers_beyond_what_a_client_may_keep_are_not_asked_for(client, scope):
    client.call("IDEM.BEGIN", scope, "print")
    client.call("IDEM.COMPLETE", scope, "x" * (1 << 20))
    answers = transact(client, *[f"IDEM.BEGIN {scope} print"] * 20, f"QUOTA.LIMIT {scope} 5")
    kinds = ["full" if isinstance(one, list) else one.code for one in answers]
    assert kinds == ["full"] * 2 + ["BUSY"] * 19
    assert client.call("QUOTA.GET", scope) == [0, 0, 0], "it was not carried out"


def test_what_idle_clients_have_queued_counts_as_theirs(scope):
    """Those who keep memory without need are closed when there is too little of it."""
    with Server("--client-memory", "8m", memory=True) as server:
        large = "x" * (1 << 20)
        clients = [Client(server.resp_port) for _ in range(30)]
        try:
            for one in clients:
                one.send("MULTI")
                one.send("IDEM.COMPLETE", scope, large)
            with Client(server.resp_port) as probe:
                wait_until(lambda: "evicted_connections:0\r" not in probe.call("INFO", "stats"))
        finally:
            for one in clients:
                one.close()


# ---- those who leave ------------------------------------------------------------------------------

def test_who_leaves_before_exec_has_done_nothing(server, other, scope):
    with Client(server.resp_port) as client:
        client.call("MULTI")
        assert client.call("QUOTA.LIMIT", scope, 5) == "QUEUED"
        assert client.call("PING") == "QUEUED"
        assert " multi=2 " in other.call("CLIENT", "LIST")
    wait_until(lambda: " multi=2 " not in other.call("CLIENT", "LIST"))
    assert other.call("QUOTA.GET", scope) == [0, 0, 0]


def test_what_was_granted_and_never_read_of_is_given_back(server, other, scope):
    client = Client(server.resp_port)
    large = "x" * (1 << 20)
    other.call("IDEM.BEGIN", scope, "print")
    other.call("IDEM.COMPLETE", scope, large)
    # The answer is larger than what sockets take in: the client cannot have read all of it.
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.send_raw(encode("MULTI") + encode("SEM.ACQUIRE", scope, "a", 2) +
                    encode("QUOTA.LIMIT", scope, 5) + encode("SEM.ACQUIRE", scope, "b", 2) +
                    encode("IDEM.BEGIN", scope, "print") * 2 + encode("EXEC"))
    wait_until(lambda: other.call("SEM.CARD", scope) == 2)
    client.reset()
    wait_until(lambda: other.call("SEM.CARD", scope) == 0)
    assert other.call("QUOTA.GET", scope) == [0, 5, 0], "EXEC was given: it was carried out"


def test_who_read_it_keeps_it(server, other, scope):
    with Client(server.resp_port) as client:
        assert transact(client, f"SEM.ACQUIRE {scope} a 1")[0][:2] == [1, 1]
    assert other.call("SEM.CARD", scope) == 1


# ---- roles ----------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def guarded(build, tmp_path_factory):
    """A server with users, and the token of each by role."""
    tokens, lines = {}, []
    for role in ("read", "write", "admin"):
        made = run(build.program, "auth", f"user-{role}", role)
        lines.append(made.out)
        tokens[role] = made.err.split()[-1]
    users = tmp_path_factory.mktemp("users") / "users"
    users.write_text("".join(lines))
    users.chmod(0o600)
    with Server("--auth-file", users, memory=True) as one:
        one.tokens = tokens
        yield one


def test_who_may_only_read_cannot_queue_a_write(guarded, scope):
    with Client(guarded.resp_port) as client:
        assert client.call("AUTH", guarded.tokens["read"]) == "OK"
        assert client.call("MULTI") == "OK"
        assert client.call("QUOTA.GET", scope) == "QUEUED"
        assert client.call("QUOTA.LIMIT", scope, 5).code == "NOPERM"
        assert client.call("EXEC") == ABORTED
        assert transact(client, f"QUOTA.GET {scope}") == [[0, 0, 0]]


def test_strangers_have_no_transactions(guarded, scope):
    with Client(guarded.resp_port) as client:
        for word in ("MULTI", "EXEC", "DISCARD", "WATCH key"):
            assert client.call(*word.split()).code == "NOAUTH"


def test_authentication_inside_is_refused(guarded, scope):
    with Client(guarded.resp_port) as client:
        client.call("AUTH", guarded.tokens["write"])
        client.call("MULTI")
        assert client.call("AUTH", guarded.tokens["admin"]).code == "ERR"
        assert client.call("EXEC") == ABORTED
        answer, = transact(client, f"HELLO 3 AUTH default {guarded.tokens['admin']}")
        assert answer.code == "ERR"


# ---- the disk -------------------------------------------------------------------------------------

def test_what_exec_answered_is_there_after_a_crash(scope):
    with Server() as server:
        with Client(server.resp_port) as client:
            assert len(transact(client, *[f"QUOTA.LIMIT {scope}-{i} {i + 1}" for i in range(100)])) == 100
        server.restart("kill")
        assert [server.call("QUOTA.GET", f"{scope}-{i}")[1] for i in (0, 50, 99)] == [1, 51, 100]
