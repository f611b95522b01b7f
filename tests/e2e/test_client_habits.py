# SPDX-License-Identifier: Apache-2.0
"""What clients of Redis send on their own and in their helpers: CLIENT in all its forms, and a token
as the password of the user called default."""

import pytest

from harness import run
from raw_client import Client, Http, encode, fields
from resp_parts import client, other, server
from server import Error, Server, wait_until

# As Redis 7.2 writes them. There is a client that refuses a line with another field, and one that
# refuses a line without one of these.
FIELDS = ("id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem "
          "multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver").split()
NUMBERS = set(FIELDS) - set("addr laddr name flags events cmd user lib-name lib-ver".split())
PASSWORD = "correct horse"


def parse(line):
    return dict(word.split("=", 1) for word in line.split(" "))


def lines(text):
    return [parse(line) for line in text.splitlines()]


# ---- CLIENT INFO and LIST -------------------------------------------------------------------------

def test_a_line_has_the_fields_of_redis_and_no_others(client):
    text = client.call("CLIENT", "INFO")
    assert text.endswith("\n") and text.count("\n") == 1
    info = parse(text.strip())
    assert list(info) == FIELDS
    for name in NUMBERS:
        int(info[name])
    assert lines(client.call("CLIENT", "LIST"))[-1].keys() == info.keys()


def test_a_line_tells_the_truth(server, client, other):
    assert client.call("CLIENT", "SETNAME", "one") == "OK"
    assert client.call("CLIENT", "SETINFO", "LIB-NAME", "py") == "OK"
    assert client.call("CLIENT", "SETINFO", "lib-ver", "1.0") == "OK"
    number = client.call("CLIENT", "ID")
    client.hello(3)
    client.call("SEM.CARD", "truth")
    assert other.call("CLIENT", "ID") > number
    own, = lines(other.call("CLIENT", "LIST", "ID", number))
    port = client.socket.getsockname()[1]
    assert own["id"] == str(number) and own["addr"] == f"127.0.0.1:{port}"
    assert own["laddr"] == f"127.0.0.1:{server.resp_port}" and int(own["fd"]) > 2
    assert (own["name"], own["lib-name"], own["lib-ver"], own["resp"]) == ("one", "py", "1.0", "3")
    assert (own["cmd"], own["user"], own["flags"], own["multi"]) == ("sem.card", "default", "N", "-1")
    assert parse(client.call("CLIENT", "INFO").strip())["cmd"] == "client"


def test_a_line_tells_of_waiting_queueing_and_unread_requests(client, other):
    number = client.call("CLIENT", "ID")

    def line():
        return lines(other.call("CLIENT", "LIST", "ID", number))[0]

    client.call("MULTI")
    client.call("SEM.CARD", "waiting")
    assert (line()["flags"], line()["multi"]) == ("x", "1") and int(line()["multi-mem"]) > 0
    client.call("DISCARD")
    other.call("SEM.ACQUIRE", "waiting", "holder", 1)
    client.send_raw(encode("SEM.ACQUIRE", "waiting", "late", 1, "WAIT", 60000) + encode("PING"))
    wait_until(lambda: line()["flags"] == "b")
    assert int(line()["qbuf"]) == len(encode("PING"))
    other.call("SEM.RELEASE", "waiting", "holder")
    assert client.read()[0] == 1 and client.read() == "PONG"
    assert line()["flags"] == "N"


def test_clients_of_http_are_listed_too(server, client):
    with Http(server.http_port) as visitor:
        assert visitor.call("GET", "/readyz").status == 200
        port = visitor.socket.getsockname()[1]
        own, = [one for one in lines(client.call("CLIENT", "LIST"))
                if one["addr"] == f"127.0.0.1:{port}"]
        assert (own["resp"], own["cmd"]) == ("0", "http")


def test_list_takes_the_filters_of_redis(client, other):
    one, two = client.call("CLIENT", "ID"), other.call("CLIENT", "ID")
    assert [int(line["id"]) for line in lines(client.call("CLIENT", "LIST", "ID", two, one, 999999))
            ] == [one, two]
    assert len(lines(client.call("CLIENT", "LIST", "TYPE", "normal"))) >= 2
    assert client.call("CLIENT", "LIST", "TYPE", "pubsub") == ""
    for words in (["ID"], ["ID", "x"], ["ID", "-1"], ["TYPE"], ["FOO"], ["ID"] + [1] * 129):
        assert client.call("CLIENT", "LIST", *words).code == "ERR", words


def test_a_list_of_many_is_complete_and_holds_nobody_up(server, client, other):
    """It is made in steps: what is asked meanwhile is answered first, and what is asked behind it on
    the same connection after it."""
    crowd = [Client(server.resp_port) for _ in range(700)]
    try:
        numbers = {one.call("CLIENT", "ID") for one in crowd}
        client.send_raw(encode("CLIENT", "LIST") + encode("PING"))
        assert other.call("PING") == "PONG"
        listed = [int(line["id"]) for line in lines(client.read())]
        assert client.read() == "PONG"
        assert numbers <= set(listed) and listed == sorted(set(listed))
        # Those who leave while they are listed, and those who ask and leave.
        client.send("CLIENT", "LIST")
        crowd[0].send("CLIENT", "LIST")
        for one in crowd:
            one.close()
        assert len(lines(client.read())) > 1
    finally:
        for one in crowd:
            one.close()
    wait_until(lambda: len(lines(other.call("CLIENT", "LIST"))) < 10)
    count = len(lines(other.call("CLIENT", "LIST")))
    assert f"connected_clients:{count}\r\n" in other.call("INFO", "clients"), "nobody is left over"


def test_list_is_not_allowed_inside_a_transaction(client):
    client.call("MULTI")
    assert client.call("CLIENT", "LIST") == "QUEUED"
    assert client.call("CLIENT", "INFO") == "QUEUED"
    refused, info = client.call("EXEC")
    assert refused.code == "ERR" and info.startswith("id=")


# ---- the rest of CLIENT ---------------------------------------------------------------------------

def test_names(client):
    assert client.call("CLIENT", "GETNAME") is None
    assert client.call("CLIENT", "SETNAME", "not one").code == "ERR"
    assert client.call("CLIENT", "SETNAME", "x" * 65).code == "ERR"
    assert client.call("CLIENT", "GETNAME") is None
    assert client.call("CLIENT", "SETNAME", "one") == "OK"
    assert client.call("CLIENT", "GETNAME") == "one"
    assert client.call("CLIENT", "SETNAME", "") == "OK"
    assert client.call("CLIENT", "GETNAME") is None
    assert client.call("CLIENT", "SETINFO", "LIB-FOO", "x").code == "ERR"


def test_what_changes_nothing_here_is_accepted(client):
    for words in (["NO-EVICT", "on"], ["NO-EVICT", "OFF"], ["NO-TOUCH", "on"], ["REPLY", "ON"]):
        assert client.call("CLIENT", *words) == "OK", words
    assert client.call("CLIENT", "GETREDIR") == -1
    assert "SETNAME" in client.call("CLIENT", "HELP")


@pytest.mark.parametrize("words", [
    "NO-EVICT maybe", "REPLY OFF", "REPLY SKIP", "TRACKING on", "CACHING yes", "PAUSE 100", "UNBLOCK 1",
    "MAINT_NOTIFICATIONS ON", "NOPE", "ID 1", "GETNAME x", "SETNAME", "KILL", "KILL ID",
    "KILL ID x", "KILL FOO x", "KILL 127.0.0.1:1"])
def test_what_is_not_there_is_refused_by_name(client, words):
    refused = client.call("CLIENT", *words.split())
    assert isinstance(refused, Error) and refused.code == "ERR" and refused.message
    assert client.call("PING") == "PONG"


def test_kill_closes_connections(server, client):
    victims = [Client(server.resp_port) for _ in range(3)]
    one, two, three = (victim.call("CLIENT", "ID") for victim in victims)
    assert client.call("CLIENT", "KILL", "ID", one) == 1
    address = "127.0.0.1:%d" % victims[1].socket.getsockname()[1]
    assert client.call("CLIENT", "KILL", address) == "OK"
    client.call("SEM.ACQUIRE", "kill", "holder", 1)
    victims[2].send("SEM.ACQUIRE", "kill", "late", 1, "WAIT", 60000)
    wait_until(lambda: fields(client.call("SEM.STATS", "kill"))["waiting"] == 1)
    assert client.call("CLIENT", "KILL", "ID", three, "SKIPME", "yes", "USER", "default") == 1
    for victim in victims:
        assert victim.read_nothing_more() == b""
        victim.close()
    wait_until(lambda: fields(client.call("SEM.STATS", "kill"))["waiting"] == 0)
    assert client.call("CLIENT", "LIST", "ID", one, two, three) == ""
    own = client.call("CLIENT", "ID")
    assert client.call("CLIENT", "KILL", "ID", own) == 0, "not itself, unless asked to"
    assert client.call("CLIENT", "KILL", "ID", own, "SKIPME", "no") == 1
    assert client.read_nothing_more() == b""


def test_helpers_of_the_library(server):
    redis = pytest.importorskip("redis", reason="python3-redis is not installed")
    with redis.Redis(port=server.resp_port, client_name="helper", decode_responses=True) as library:
        info = library.client_info()
        assert info["name"] == "helper" and info["qbuf"] == 0 and info["multi"] == -1
        number = library.client_id()
        assert [one["id"] for one in library.client_list(client_id=[str(number)])] == [str(number)]
        assert library.client_list(_type="normal") and not library.client_list(_type="pubsub")
        assert library.client_getname() == "helper" and library.client_getredir() == -1
        assert library.client_kill_filter(_id=99999999) == 0
        assert library.client_no_evict("ON") == "OK"
        with pytest.raises(redis.ResponseError, match="unknown subcommand"):
            library.client_tracking_on()
        with library.pipeline() as pipeline:
            pipeline.client_info()
            assert pipeline.execute()[0]["multi"] == 1


# ---- who it is ------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def guarded(build, tmp_path_factory):
    """A server with users: some with tokens, and one with a password whose name is default."""
    users, tokens, text = tmp_path_factory.mktemp("users") / "users", {}, ""
    for name, role in (("shop", "write"), ("chief", "admin")):
        made = run(build.program, "auth", name, role)
        tokens[name], text = made.err.split()[-1], text + made.out
    text += run(build.program, "auth", "default", "read", "--password", stdin=f"{PASSWORD}\n").out
    users.write_text(text)
    users.chmod(0o600)
    with Server("--auth-file", users, memory=True) as one:
        one.tokens = tokens
        yield one


@pytest.fixture
def stranger(guarded):
    with Client(guarded.resp_port) as one:
        yield one


def user_of(client):
    return parse(client.call("CLIENT", "INFO").strip())["user"]


def test_a_token_is_the_password_of_the_user_called_default(guarded, stranger):
    assert stranger.call("AUTH", "default", guarded.tokens["shop"]) == "OK"
    assert user_of(stranger) == "shop"
    assert stranger.call("QUOTA.LIMIT", "t", 5) == [1, 0, 5]
    assert stranger.hello(3, "AUTH", "default", guarded.tokens["chief"], "SETNAME", "x")["proto"] == 3
    assert user_of(stranger) == "chief" and stranger.call("CLIENT", "GETNAME") == "x"


def test_a_user_called_default_is_one_as_well(guarded, stranger):
    assert stranger.hello(3, "AUTH", "default", PASSWORD)["proto"] == 3
    assert user_of(stranger) == "default"
    assert stranger.call("QUOTA.LIMIT", "t", 5).code == "NOPERM"


def test_another_name_does_not_go_with_somebodys_token(guarded, stranger):
    for words in (["AUTH", "ann", guarded.tokens["shop"]], ["AUTH", "chief", guarded.tokens["shop"]],
                  ["AUTH", "default", "nonsense"], ["HELLO", "3", "AUTH", "default", "nonsense"]):
        assert stranger.call(*words).code == "WRONGPASS", words
    assert stranger.call("PING").code == "NOAUTH"


def test_a_hello_that_is_refused_changes_nothing(guarded, stranger):
    assert stranger.hello(3, "AUTH", "default", "nonsense", "SETNAME", "thief").code == "WRONGPASS"
    assert stranger.hello(3, "SETNAME", "thief").code == "NOAUTH"
    assert stranger.call("AUTH", guarded.tokens["shop"]) == "OK"
    assert stranger.call("CLIENT", "GETNAME") is None
    assert stranger.hello(3, "SETNAME", "named", "NONSENSE").code == "ERR"
    assert stranger.call("CLIENT", "GETNAME") is None
    assert isinstance(stranger.call("CONFIG", "GET", "databases"), list), "still RESP2"
    assert fields(stranger.hello(2, "SETNAME", "two"))["proto"] == 2
    assert stranger.call("CLIENT", "GETNAME") == "two"


def test_only_admins_see_the_connections_of_others(guarded, stranger):
    with Client(guarded.resp_port) as chief, Client(guarded.resp_port) as twin:
        chief.call("AUTH", guarded.tokens["chief"])
        twin.call("AUTH", guarded.tokens["shop"])
        stranger.call("AUTH", guarded.tokens["shop"])
        everybody = lines(chief.call("CLIENT", "LIST"))
        assert {one["user"] for one in everybody} == {"chief", "shop"}
        own = lines(stranger.call("CLIENT", "LIST"))
        assert len(own) == 2 and {one["user"] for one in own} == {"shop"}
        number = chief.call("CLIENT", "ID")
        assert stranger.call("CLIENT", "LIST", "ID", number) == ""
        assert stranger.call("CLIENT", "KILL", "ID", number).code == "NOPERM"
        assert chief.call("PING") == "PONG"
