# SPDX-License-Identifier: Apache-2.0
"""holdfast load: many zones, quotas or products from a file of comma-separated values."""

import re
import socket
import threading

import pytest

from harness import TIMEOUT_S, run
from server import Server
from terminal import Terminal

REFUSED, USAGE, UNAVAILABLE, DENIED = 1, 2, 69, 77


@pytest.fixture(scope="module")
def server(build):
    with Server(memory=True, program=build.program) as running:
        yield running


@pytest.fixture
def load(holdfast, server, tmp_path):
    """load(text): as a file, to the server."""
    def one(text, *options):
        path = tmp_path / "file.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return holdfast("load", path, *(options or ("--url", server.url)))
    return one


def zone(server, event, name):
    answer = server.call("SEATS.ZONE", event, name)
    return dict(zip(answer[::2], answer[1::2])) if "capacity" in answer else None


def said(ended, path_end="file.csv"):
    """The complaints: {line: text}."""
    return {int(line): text for line, text in
            re.findall(rf"(?m)^.*{re.escape(path_end)}:(\d+): (.*)$", ended.err)}


# ---- what the header says

def test_zones(load, server):
    ended = load("event,zone,capacity\nzones,floor,500\nzones,balcony,200\n")
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"2 zones in \d+\.\d s, 0 refused\n", ended.out)
    assert zone(server, "zones", "floor")["capacity"] == 500
    assert zone(server, "zones", "balcony")["available"] == 200


def test_quotas(load, server):
    ended = load("tenant,limit\nacme,1000\n")
    assert ended.code == 0
    assert ended.out.startswith("1 tenant in ")
    assert server.call("QUOTA.GET", "acme") == [0, 1000, 0]


def test_products_with_and_without_what_is_optional(load, server):
    assert load("product,quantity\nplain,7\n").code == 0
    ended = load("product,quantity,shards,watermark,policy\nfull,8,4,2,steal\nempty,9,,,\n")
    assert (ended.code, ended.err) == (0, "")
    for product, quantity in (("plain", 7), ("full", 8), ("empty", 9)):
        answer = server.call("STOCK.GET", product)
        assert answer[answer.index("available") + 1] == quantity


def test_any_other_command_that_writes(load, server):
    assert load("event,zone,capacity\nguests,floor,10\n").code == 0
    ended = load("event,zone_id,booking_id,user_id,quantity,max_per_user,ttl,lifetime\n"
                 "guests,floor,b-1,ann,2,4,90m,true\nguests,floor,b-2,bob,1,4,,false\n")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("2 bookings in ")
    assert zone(server, "guests", "floor")["reserved"] == 3


def test_columns_come_in_any_order_and_case(load, server):
    assert load("Capacity,EVENT,zone\n12,order,floor\n").code == 0
    assert zone(server, "order", "floor")["capacity"] == 12


@pytest.mark.parametrize("header, complaint", [
    ("event,zone,size", "the columns fit no command; the closest is SEATS.OPEN event zone capacity"),
    ("event,zone,capacity,extra",
     "the columns fit no command; the closest is SEATS.OPEN event zone capacity"),
    ("tenant,limit,limit", "the columns fit no command: one is there twice"),
    ("colour", "the columns fit no command"),
    ("event,booking", "the columns fit more than one command: SEATS.CONFIRM and SEATS.RELEASE"),
    ("name,id,limit", "the columns fit no command; the closest is "),
    ('"event,zone', "a quote is opened and never closed"),
])
def test_a_header_that_names_no_command(load, header, complaint):
    ended = load(f"{header}\na,b,1\n")
    assert (ended.code, ended.out) == (USAGE, "")
    assert said(ended)[1].startswith(complaint)


# ---- how it is written

def test_everything_that_rfc_4180_allows(load, server):
    text = ('\ufeffevent,"zone",capacity\r\n'
            '"rfc","with,comma","10"\r\n'
            '\r\n'
            'rfc,"a ""quoted"" one"'.replace(" ", "_") + ',20\r\n'
            'rfc,last,30')
    ended = load(text)
    assert (ended.code, ended.err) == (0, "")
    assert zone(server, "rfc", "with,comma")["capacity"] == 10
    assert zone(server, "rfc", 'a_"quoted"_one')["capacity"] == 20
    assert zone(server, "rfc", "last")["capacity"] == 30


def test_standard_input(holdfast, server):
    ended = holdfast("load", "-", "--url", server.url, stdin="tenant,limit\npiped,5\n")
    assert ended.code == 0
    assert server.call("QUOTA.GET", "piped") == [0, 5, 0]


def test_every_bad_line_is_named_and_nothing_is_sent(load, server):
    ended = load("event,zone,capacity\n"
                 "bad,good,1\n"
                 "bad,,2\n"
                 "bad,floor,many\n"
                 "bad,floor,-3\n"
                 "bad,floor\n"
                 "bad,floor,4,5\n"
                 '"bad"ly,floor,6\n'
                 'bad,"over\ntwo lines",7\n'
                 "bad,fl{oor,8\n"
                 'ba"d,floor,9\n')
    assert (ended.code, ended.out) == (USAGE, "")
    complaints = said(ended)
    assert complaints == {
        3: 'zone "" (0 bytes) is not an id: 1-128 bytes of UTF-8, no spaces, control characters, '
           "{ or }",
        4: 'capacity "many" is not a number',
        5: "capacity is -3: must be 0 to 9007199254740991",
        6: "2 fields, but the header has 3",
        7: "4 fields, but the header has 3",
        8: "text behind the quote that ends a field",
        9: complaints[9],
        11: complaints[11],
        12: "a quote inside a field that does not start with one",
    }
    assert complaints[9].startswith('zone "over?two lines" (14 bytes) is not an id')
    assert complaints[11].startswith('zone "fl{oor" (6 bytes) is not an id')
    assert ended.err.endswith("9 of 10 lines are bad; nothing was sent\n")
    assert zone(server, "bad", "good") is None


@pytest.mark.parametrize("text", ["", "\n\r\n\n", "\ufeff"])
def test_an_empty_file(load, text):
    ended = load(text)
    assert ended.code == USAGE
    assert "the first line has to name the columns" in ended.err


def test_a_header_and_nothing_else(load):
    ended = load("tenant,limit\n")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("0 tenants in ")


# ---- how it is sent

def test_the_order_of_lines_is_kept(load, server):
    lines = [f"order-{i % 7},z,{i}" for i in range(30000)]
    ended = load("event,zone,capacity\n" + "\n".join(lines) + "\n")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("30,000 zones in ")
    for i in range(29993, 30000):
        assert zone(server, f"order-{i % 7}", "z")["capacity"] == i


def test_what_is_refused_is_named_and_the_rest_is_done(load, server):
    server.call("SEATS.OPEN", "held", "floor", 10)
    server.call("SEATS.RESERVE", "held", "floor", "b-1", "ann", 6, 6)
    ended = load("event,zone,capacity\nheld,first,1\nheld,floor,5\nheld,last,3\n")
    assert ended.code == REFUSED
    assert list(said(ended)) == [3]
    assert said(ended)[3].startswith("CAPACITY_IN_USE ")
    assert re.fullmatch(r"2 zones in \d+\.\d s, 1 refused\n", ended.out)
    assert zone(server, "held", "floor")["capacity"] == 10
    assert zone(server, "held", "last")["capacity"] == 3


def test_an_engine_of_its_own_keeps_what_was_loaded(load, holdfast, tmp_path):
    lines = "".join(f"gala,z-{i},{i}\n" for i in range(10000))
    ended = load("event,zone,capacity\n" + lines, "--engine", f"embedded:{tmp_path}/data")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("10,000 zones in ")
    ended = holdfast("call", "--engine", f"embedded:{tmp_path}/data", "SEATS.ZONE", "gala", "z-9999")
    assert "(integer) 9999" in ended.out


def test_a_server_that_is_not_there(load):
    ended = load("tenant,limit\na,1\n", "--url", "holdfast://127.0.0.1:1")
    assert ended.code == UNAVAILABLE
    assert "cannot connect" in ended.err


def test_a_server_that_does_not_let_us_write(load, holdfast, build, tmp_path):
    made = holdfast("auth", "reader", "read", "--password", stdin="secret\n")
    users = tmp_path / "users"
    users.write_text(made.out)
    users.chmod(0o600)
    with Server("--auth-file", users, memory=True, program=build.program) as closed:
        url = closed.url.replace("://", "://reader:secret@")
        ended = load("tenant,limit\n" + "a,1\n" * 1000, "--url", url)
    assert ended.code == DENIED
    assert list(said(ended)) == [2], "once is enough"
    assert said(ended)[2].startswith("FORBIDDEN ")
    assert ended.out.startswith("0 tenants in ")


def test_a_server_that_goes_away_leaves_the_rest_unknown(load):
    """It answers three lines and is gone."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"*3\r\n:1\r\n:0\r\n:1\r\n" * 3)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    port = listener.getsockname()[1]
    ended = load("tenant,limit\n" + "a,1\n" * 20, "--url", f"holdfast://127.0.0.1:{port}")
    thread.join(TIMEOUT_S)
    listener.close()
    assert ended.code == REFUSED
    assert said(ended) == {5: "outcome unknown, of this line and those behind it: the server closed "
                              "the connection"}
    assert re.fullmatch(r"3 tenants in \S+ s, 0 refused, 17 not answered or not sent\n", ended.out)


@pytest.mark.parametrize("words, complaint", [
    ((), "load needs one FILE.csv"),
    (("a.csv", "b.csv"), "load needs one FILE.csv"),
    (("--nonsense", "a.csv"), "there is no option --nonsense"),
    (("no-such-file.csv",), "cannot be read: No such file or directory"),
    (("/",), "cannot be read: Is a directory"),
])
def test_what_is_not_understood(holdfast, words, complaint):
    ended = holdfast("load", *words)
    assert ended.code == USAGE
    assert complaint in ended.err


def test_a_terminal_sees_a_bar(build, server, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("tenant,limit\n" + "".join(f"t-{i},{i}\n" for i in range(200000)))
    with Terminal(build.program, "load", path, "--url", server.url) as terminal:
        seen = terminal.read_to_end()
    assert terminal.code == 0
    assert re.search(r"\r\x1b\[K  loading \[#*\.*\] +\d+ %  \d+ of \d+ MB", seen)
    assert "200,000 tenants in " in seen


def test_the_environment_says_where_the_server_is(build, server, tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("tenant,limit\nfrom-env,3\n")
    assert run(build.program, "load", path, env={"HOLDFAST_URL": server.url}).code == 0
    assert server.call("QUOTA.GET", "from-env") == [0, 3, 0]
