# SPDX-License-Identifier: Apache-2.0
"""Programs and libraries made for Redis, unchanged, against the server; and pipelines."""

import shutil
import threading

import pytest

from harness import run
from raw_client import Client, encode, fields
from server import Server, wait_until

redis = pytest.importorskip("redis", reason="python3-redis is not installed")


@pytest.fixture(scope="module")
def server():
    with Server(memory=True) as one:
        yield one


@pytest.fixture(scope="module")
def cli(server):
    """cli(word, …, flags=[…], stdin=…): runs redis-cli."""
    if not shutil.which("redis-cli"):
        pytest.skip("redis-cli is not installed")

    def call(*words, flags=("--no-raw",), stdin=b""):
        ended = run("redis-cli", "-p", server.resp_port, *flags, *words, stdin=stdin)
        assert ended.err == "", ended
        return ended
    return call


@pytest.fixture
def client(server):
    with Client(server.resp_port) as one:
        yield one


@pytest.fixture
def library(server):
    with redis.Redis(port=server.resp_port, decode_responses=True) as one:
        yield one


# ---- redis-cli ------------------------------------------------------------------------------------

def test_redis_cli_shows_replies(cli):
    assert cli("SEATS.OPEN", "cli", "floor", "5").lines == [
        "1) (integer) 1", "2) (integer) 5", "3) (integer) 5"]
    assert cli("LOCK.GET", "cli").lines == ["(nil)"]
    assert cli("SEM.CARD", "cli").lines == ["(integer) 0"]
    assert cli("ROOM.ADMIT", "cli", "1").lines == ["(empty array)"]
    assert cli("PING").lines == ["PONG"]


def test_redis_cli_shows_refusals_and_errors(cli):
    ended = cli("SEATS.ZONE", "cli", "nowhere")
    assert ended.lines[:2] == ["1) (integer) 0", '2) "ZONE_NOT_FOUND"']
    assert cli("NO.SUCH").out.startswith("(error) ERR ")
    assert cli("SEATS.OPEN", "cli").out.startswith("(error) ERR ")


def test_redis_cli_with_resp3(cli):
    cli("SEATS.OPEN", "cli3", "floor", "5")
    assert cli("SEATS.ZONE", "cli3", "floor", flags=("-3", "--no-raw")).lines == [
        '1# "capacity" => (integer) 5', '2# "available" => (integer) 5',
        '3# "reserved" => (integer) 0', '4# "confirmed" => (integer) 0']
    assert cli("LOCK.GET", "cli3", flags=("-3", "--no-raw")).lines == ["(nil)"]


def test_redis_cli_reads_commands_from_standard_input(cli):
    ended = cli(stdin="SEATS.OPEN stdin floor 3\nSEATS.USER stdin ann\nPING\n")
    assert ended.lines == ["1) (integer) 1", "2) (integer) 3", "3) (integer) 3",
                           "1) (integer) 0", "2) (integer) 0", "PONG"]


def test_redis_cli_pipe_mode(cli, client):
    many = 5000
    client.call("SEATS.OPEN", "pipe", "floor", many)
    data = b"".join(encode("SEATS.RESERVE", "pipe", "floor", f"b{i}", f"u{i}", 1, 1)
                    for i in range(many))
    ended = cli(flags=("--pipe",), stdin=data)
    assert f"errors: 0, replies: {many}" in ended.out, ended
    assert fields(client.call("SEATS.ZONE", "pipe", "floor"))["reserved"] == many


def test_redis_cli_waits_for_a_slot(cli, client):
    client.call("SEM.ACQUIRE", "cli-wait", "one", 1)
    ended = []
    waiting = threading.Thread(target=lambda: ended.append(
        cli("SEM.ACQUIRE", "cli-wait", "two", "1", "WAIT", "60000")))
    waiting.start()
    wait_until(lambda: fields(client.call("SEM.STATS", "cli-wait"))["waiting"] == 1)
    client.call("SEM.RELEASE", "cli-wait", "one")
    waiting.join(60)
    assert ended[0].lines[:2] == ["1) (integer) 1", "2) (integer) 1"]


def test_redis_cli_transacts(cli):
    ended = cli(stdin="MULTI\nSEATS.OPEN cli-multi floor 3\nSEATS.USER cli-multi ann\nEXEC\nDISCARD\n")
    assert ended.lines[:3] == ["OK", "QUEUED", "QUEUED"], ended
    assert ended.lines[3:] == [
        "1) 1) (integer) 1", "   2) (integer) 3", "   3) (integer) 3",
        "2) 1) (integer) 0", "   2) (integer) 0", "(error) ERR DISCARD without MULTI"]


def test_redis_benchmark(server, build):
    if not shutil.which("redis-benchmark"):
        pytest.skip("redis-benchmark is not installed")
    count = "20000" if build.sanitized else "100000"
    server.call("SEATS.OPEN", "benchmark", "floor", 1 << 40)
    for test in (["-t", "ping"],
                 ["SEATS.RESERVE", "benchmark", "floor", "__rand_int__", "ann", "1", str(1 << 50)]):
        ended = run("redis-benchmark", "-p", server.resp_port, "-n", count, "-c", "50", "-P", "16",
                    "-r", "1000000", "-q", *test)
        assert ended.code == 0 and "requests per second" in ended.out, ended
        assert "rror" not in ended.out + ended.err, ended
    assert server.call("AUDIT") == [1, 0]


# ---- python3-redis --------------------------------------------------------------------------------

def test_the_library_decodes_replies(library):
    call = library.execute_command
    assert library.ping()
    assert call("SEATS.OPEN", "lib", "floor", 5) == [1, 5, 5]
    assert call("SEATS.RESERVE", "lib", "floor", "bücher", "ann", 1, 1)[:3] == [1, 4, 1]
    assert fields(call("SEATS.GET", "lib", "bücher"))["booking_id"] == "bücher"
    assert call("LOCK.GET", "lib") is None
    with pytest.raises(redis.ResponseError):
        call("NO.SUCH")
    assert library.info()["state"] == "ready"
    assert library.config_get("maxclients") == {"maxclients": "10000"}
    assert library.client_setname("one") and library.client_getname() == "one"
    assert any(one["name"] == "one" for one in library.client_list())
    assert library.echo("x") == "x"
    assert library.dbsize() >= 1


def test_the_library_gives_bytes_as_they_are(server):
    with redis.Redis(port=server.resp_port) as raw:
        response = bytes(range(256))
        assert raw.execute_command("IDEM.BEGIN", "lib-raw", "print") == [1, b"NEW"]
        assert raw.execute_command("IDEM.COMPLETE", "lib-raw", response) == 1
        assert raw.execute_command("IDEM.BEGIN", "lib-raw", "print") == [2, b"COMPLETED", response]


def test_the_library_pipelines(library):
    pipeline = library.pipeline(transaction=False)
    pipeline.execute_command("SEATS.OPEN", "lib-pipe", "floor", 1000)
    for i in range(1000):
        pipeline.execute_command("SEATS.RESERVE", "lib-pipe", "floor", f"b{i}", "ann", 1, 500)
    opened, *answers = pipeline.execute()
    assert opened == [1, 1000, 1000]
    assert [answer[1:3] for answer in answers[:500]] == [[999 - i, i + 1] for i in range(500)]
    assert all(answer[:2] == [0, "USER_LIMIT_EXCEEDED"] for answer in answers[500:])


def test_the_library_transacts(library):
    """A pipeline is a transaction unless one says otherwise."""
    with library.pipeline() as pipeline:
        pipeline.execute_command("SEATS.OPEN", "lib-multi", "floor", 5)
        pipeline.execute_command("SEATS.RESERVE", "lib-multi", "floor", "b", "ann", 2, 4)
        pipeline.execute_command("SEATS.RESERVE", "lib-multi", "floor", "c", "ann", 9, 9)
        pipeline.ping()
        opened, reserved, refused, pong = pipeline.execute()
    assert (opened, reserved[:3], pong) == ([1, 5, 5], [1, 3, 2], True)
    assert refused[:2] == [0, "INSUFFICIENT_STOCK"]


def test_the_library_raises_what_could_not_be_queued(library):
    with library.pipeline() as pipeline:
        pipeline.execute_command("QUOTA.LIMIT", "lib-abort", 5)
        pipeline.execute_command("QUOTA.LIMIT", "lib-abort", -5)
        with pytest.raises(redis.ResponseError, match="Command # 2 .*INVALID_AMOUNT"):
            pipeline.execute()
    assert library.execute_command("QUOTA.GET", "lib-abort") == [0, 0, 0]
    with library.pipeline() as pipeline, pytest.raises(redis.ResponseError, match="not supported"):
        pipeline.watch("key")


def test_the_library_runs_a_transaction_function(library):
    assert library.transaction(lambda pipe: pipe.execute_command("STOCK.LOAD", "lib-fun", 3)) == [[1, 3]]


def test_the_library_takes_no_error_inside_for_one_of_the_whole(library):
    with library.pipeline() as pipeline:
        pipeline.execute_command("SELECT", 9)
        pipeline.execute_command("QUOTA.LIMIT", "lib-inside", 5)
        failed, limited = pipeline.execute(raise_on_error=False)
    assert isinstance(failed, redis.ResponseError) and limited == [1, 0, 5]


def test_the_library_acquires_in_threads(server, library):
    """Threads that share a pool of connections take turns on two slots."""
    inside, most, lock = 0, 0, threading.Lock()

    def work(name):
        nonlocal inside, most
        for _ in range(5):
            got = library.execute_command("SEM.ACQUIRE", "lib-sem", name, 2, "WAIT", 60000)
            assert got[0] == 1
            with lock:
                inside += 1
                most = max(most, inside)
            library.ping()
            with lock:
                inside -= 1
            assert library.execute_command("SEM.RELEASE", "lib-sem", name) == 1

    threads = [threading.Thread(target=work, args=(f"thread-{i}",)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most <= 2 and not any(thread.is_alive() for thread in threads)
    assert library.execute_command("SEM.CARD", "lib-sem") == 0


# ---- pipelines ------------------------------------------------------------------------------------

def send_in_background(client, data):
    thread = threading.Thread(target=client.send_raw, args=(data,))
    thread.start()
    return thread


def test_answers_come_in_the_order_of_the_requests(client):
    """All kinds in one go: commands of the engine, of the server, errors, and one that waits."""
    client.call("SEM.ACQUIRE", "order", "one", 1)
    parts, want = [], []
    for i in range(200):
        parts += [encode("ECHO", i), encode("QUOTA.LIMIT", "order", i), encode("NO.SUCH"),
                  encode("SEM.ACQUIRE", "order", "two", 1, "WAIT", 1)]
        want += [str(i), [1, 0, i], "ERR", "TIMEOUT"]
    sender = send_in_background(client, b"".join(parts))
    got = [client.read() for _ in want]
    sender.join()
    seen = [one.code if isinstance(one, Exception) else
            one[1] if isinstance(one, list) and one[0] == 0 else one for one in got]
    assert seen == want


def test_a_pipeline_of_100000_commands(client):
    many = 100_000
    client.call("SEATS.OPEN", "long", "floor", many)
    data = b"".join(encode("SEATS.RESERVE", "long", "floor", f"b{i}", f"u{i}", 1, 1)
                    for i in range(many))
    sender = send_in_background(client, data)
    line = [client.read()[1] for _ in range(many)]
    sender.join()
    assert line == list(range(many - 1, -1, -1))
    assert client.call("AUDIT") == [1, 0]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_it_makes_no_difference_how_the_bytes_are_cut(server, size):
    data = (encode("ECHO", "a\r\n$5\r\nb") + b"PING  'x y'\r\n" + encode("SEM.CARD", f"cut-{size}") +
            encode("LOCK.GET", "cut"))
    with Client(server.resp_port) as client:
        for i in range(0, len(data), size):
            client.send_raw(data[i:i + size])
        assert [client.read() for _ in range(4)] == ["a\r\n$5\r\nb", "x y", 0, None]
