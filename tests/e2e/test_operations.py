# SPDX-License-Identifier: Apache-2.0
"""Running the server: starting, stopping, health, figures and logs."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import prometheus
from harness import TIMEOUT_S, run
from raw_client import Client, Http, encode, fields, http
from server import READY, Server, wait_until

EXIT_USAGE, EXIT_DISK = 2, 3


# ---- starting ------------------------------------------------------------------------------------

def test_the_line_that_says_it_is_ready(build, tmp_path):
    process = subprocess.Popen(
        [build.program, "serve", "--dir", tmp_path / "data", "--resp-port", "0", "--http-port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    ready = READY.fullmatch(line.rstrip("\n"))
    assert ready and (ready[1], ready[3], ready[5]) == ("127.0.0.1", "127.0.0.1", "embedded"), line
    with Client(int(ready[2])) as client:
        assert client.call("PING") == "PONG"
    process.terminate()
    rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, rest) == (0, ""), "nothing else on standard output"


def test_a_second_one_on_the_same_directory(build, holdfast):
    with Server() as server:
        ended = holdfast("serve", "--dir", server.directory, "--resp-port", "0", "--http-port", "0")
        assert ended.code in (EXIT_USAGE, EXIT_DISK) and ended.out == ""
        assert str(server.directory) in ended.err and "use" in ended.err, ended
        assert server.call("PING") == "PONG"


def test_a_port_that_is_taken(holdfast):
    with Server(memory=True) as server:
        ended = holdfast("serve", "--memory", "--resp-port", server.resp_port, "--http-port", "0")
        assert ended.code == EXIT_USAGE and str(server.resp_port) in ended.err


@pytest.mark.parametrize("flags, named", [
    (["--nonsense"], "--nonsense"), (["--resp-port"], "--resp-port"),
    (["--resp-port", "70000"], "--resp-port"), (["--http-port", "x"], "--http-port"),
    (["--fsync", "maybe"], "--fsync"), (["--log-level", "loud"], "--log-level"),
    (["--log-format", "xml"], "--log-format"), (["--max-connections", "0"], "--max-connections"),
    (["--request-timeout", "1y"], "--request-timeout"), (["--bind", "nowhere.example"], "bind"),
    (["--client-memory", "1"], "--client-memory"), (["--engine", "oracle"], "engine"),
    (["--ledger", "oracle:x"], "oracle"), (["--memory", "--dir", "x"], "dir"),
    (["stray"], "stray"), (["--config", "/nowhere"], "/nowhere")])
def test_a_mistake_in_the_settings_is_named(holdfast, flags, named):
    ended = holdfast("serve", *flags)
    assert ended.code == EXIT_USAGE and ended.out == ""
    assert named in ended.err, ended
    assert ended.err.count("\n") <= 2, "short"


def test_check_config_starts_nothing(holdfast, tmp_path):
    config = tmp_path / "holdfast.conf"
    config.write_text(f"dir = {tmp_path}/data\nresp-port = 0\nhttp-port = 0\n")
    ended = holdfast("serve", "--config", config, "--check-config")
    assert ended.code == 0 and "good" in ended.out
    assert not (tmp_path / "data").exists()
    config.write_text("resp-port = 0\nresp-prot = 1\n")
    ended = holdfast("serve", "--config", config, "--check-config")
    assert ended.code == EXIT_USAGE and f"{config}:2" in ended.err and "resp-prot" in ended.err


def test_check_config_tries_all_that_is_named(holdfast, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "bad.pem").write_text("no certificate")
    (tmp_path / "users").write_text("nonsense\n")
    ended = holdfast("serve", "--check-config", "--dir", tmp_path / "none" / "data",
                     "--tls-cert", tmp_path / "bad.pem", "--tls-key", tmp_path / "gone.pem",
                     "--auth-file", tmp_path / "users")
    assert (ended.code, ended.out) == (EXIT_USAGE, "")
    dir_line, users_line, tls_line = ended.err.splitlines()
    assert f'dir "{tmp_path}/none/data": cannot be created: {tmp_path}/none: No such' in dir_line
    assert f"{tmp_path}/users" in users_line
    assert "bad.pem" in tls_line
    assert not (tmp_path / "none").exists()
    ended = holdfast("serve", "--check-config", "--dir", tmp_path / "file")
    assert ended.code == EXIT_USAGE and "not a directory" in ended.err


def test_check_config_sees_a_directory_that_is_in_use(holdfast, tmp_path):
    with Server(directory=tmp_path / "data") as server:
        ended = holdfast("serve", "--check-config", "--dir", server.directory)
        assert ended.code == EXIT_USAGE and "in use by another process" in ended.err
    ended = holdfast("serve", "--check-config", "--dir", tmp_path / "data")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("variable, meant", [
    ("HOLDFAST_RESP_PROT", "HOLDFAST_RESP_PORT"), ("HOLDFAST_FSYC", "HOLDFAST_FSYNC"),
    ("HOLDFAST_MAXCONNECTIONS", "HOLDFAST_MAX_CONNECTIONS"), ("HOLDFAST_SERVICE_HOST", None),
    ("HOLDFAST_PORT", None), ("HOLDFAST_URL", None)])
def test_a_misspelt_variable_is_named(build, tmp_path, variable, meant):
    ended = run(build.program, "serve", "--check-config", "--dir", tmp_path / "data",
                env={variable: "1"})
    assert ended.code == 0
    if meant:
        assert ended.err == (f"holdfast: there is no setting {variable} (did you mean {meant}?): "
                             "the variable is passed over\n")
    else:
        assert ended.err == ""


def test_settings_from_file_environment_and_flags(tmp_path):
    config = tmp_path / "holdfast.conf"
    config.write_text("max-connections = 11\nfsync = everysec\nclient-memory = 2m\nmax-body = 1m\n")
    with Server("--config", config, "--max-connections", "33",
                env={"HOLDFAST_MAX_CONNECTIONS": "22", "HOLDFAST_FSYNC": "no"}) as server:
        got = fields(server.call("CONFIG", "GET", "maxclients", "appendfsync"))
        assert got == {"maxclients": "33", "appendfsync": "no"}


# ---- stopping ------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_was_asked_before_is_answered(number, memory, threads):
    """Twenty clients have sent commands that the server has not read yet when it is told to stop."""
    with Server("--threads", threads, memory=memory) as server:
        clients = [Client(server.resp_port) for _ in range(20)]
        for client in clients:
            assert client.call("PING") == "PONG"
        server.pause()
        for i, client in enumerate(clients):
            client.send_raw(b"".join(encode("QUOTA.LIMIT", f"t{i}", n) for n in range(1000)))
        web = Http(server.http_port)
        web.send("PUT", "/v1/quotas/web", {"limit": 5})
        server.process.send_signal(number)
        server.resume()
        for client in clients:
            assert [client.read()[2] for _ in range(1000)] == list(range(1000))
            assert client.read_nothing_more() == b""
            client.close()
        web.close()
        process = server.process
        assert process.wait(TIMEOUT_S) == 0
        if not memory:
            server.stop()
            server.start()
            assert all(server.call("QUOTA.GET", f"t{i}")[1] == 999 for i in range(20))


def test_a_stopping_server_takes_nobody_new():
    with Server("--drain-timeout", "30s", memory=True) as server:
        with Client(server.resp_port) as half:
            half.send_raw(encode("PING")[:-3])
            assert server.call("PING") == "PONG"
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: "asked to stop" in server.said())
            with pytest.raises(ConnectionRefusedError):
                Client(server.resp_port)
            half.send_raw(encode("PING")[-3:])
            assert half.read() == "PONG", "what was begun is finished"
        assert server.process.wait(TIMEOUT_S) == 0


def test_a_client_in_the_middle_of_a_request_is_answered_that_one_and_no_more():
    with Server(memory=True) as server, Client(server.resp_port) as client:
        assert client.call("PING") == "PONG"
        client.send_raw(b"PI")
        wait_until(lambda: "client_memory_bytes" in server.call("INFO"), "it was read")
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: "asked to stop" in server.said(), "it stops")
        client.send_raw(b"NG\r\n" + encode("PING") * 3)
        assert client.read() == "PONG"
        assert server.stop() == 0


def test_it_does_not_wait_for_ever_to_stop():
    with Server("--drain-timeout", "200ms", memory=True) as server:
        with Client(server.resp_port) as half:
            half.send_raw(encode("PING")[:-3])
            assert server.call("PING") == "PONG"
            start = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - start < 10


def test_idle_clients_do_not_keep_it_from_stopping():
    """They are not asked to hang up first, which took two seconds."""
    with Server(memory=True) as server:
        with Client(server.resp_port) as idle, Http(server.http_port) as web, \
                Client(server.resp_port) as silent:
            assert idle.call("PING") == "PONG"
            assert web.call("GET", "/livez").status == 200
            start = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - start < 2
            for one in (idle, web, silent):
                assert one.file.read() == b""


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE])
def test_other_signals_do_not_end_it(number):
    with Server(memory=True) as server:
        server.process.send_signal(number)
        assert server.call("PING") == "PONG"
        assert server.stop() == 0
        assert "asked to stop by SIGTERM" in server.said()


def test_nothing_is_lost_by_stopping():
    with Server("--fsync", "no") as server:
        with Client(server.resp_port) as client:
            client.send_raw(b"".join(encode("QUOTA.LIMIT", "t", n) for n in range(5000)))
            assert [client.read()[2] for _ in range(5000)] == list(range(5000))
        server.restart()
        assert server.call("QUOTA.GET", "t") == [0, 4999, 0]


def test_a_snapshot_on_demand():
    with Server() as server:
        server.call("QUOTA.LIMIT", "t", 7)
        assert server.call("SNAPSHOT") == "OK"
        server.restart("kill")  # at once: whoever writes the snapshot must not be in the way
        assert server.call("QUOTA.GET", "t") == [0, 7, 0]
        assert server.call("SNAPSHOT") == "OK"
        wait_until(lambda: list(server.directory.glob("snapshot-*")), "the snapshot")
        server.restart()
        assert server.call("QUOTA.GET", "t") == [0, 7, 0]


# ---- health and figures --------------------------------------------------------------------------

@pytest.fixture(scope="module")
def server():
    with Server() as one:
        yield one


def test_health(server):
    for path in ("/livez", "/readyz"):
        answer = http(server.http_port, "GET", path)
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain")
        assert http(server.http_port, "HEAD", path).body == b""


def metrics(server):
    answer = http(server.http_port, "GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return prometheus.parse(answer.body.decode())


def test_figures_are_what_prometheus_wants(server):
    with Client(server.resp_port) as client:
        for n in range(100):
            client.call("QUOTA.LIMIT", "figures", n)
        client.call("SEATS.ZONE", "figures", "none")
        client.call("SEM.ACQUIRE", "figures", "a", 1)
        client.call("SEM.ACQUIRE", "figures", "b", 1, "WAIT", "30")
        families = metrics(server)
    commands = families["holdfast_commands_total"].samples
    key = "holdfast_commands_total"
    assert commands[key, ('command="QUOTA.LIMIT"', 'outcome="OK"')] == 100
    assert commands[key, ('command="SEATS.ZONE"', 'outcome="ZONE_NOT_FOUND"')] == 1
    assert commands[key, ('command="SEM.ACQUIRE"', 'outcome="TIMEOUT"')] == 1
    latency = families["holdfast_command_duration_seconds"].samples
    name = "holdfast_command_duration_seconds"
    assert latency[name + "_count", ('command="QUOTA.LIMIT"',)] == 100
    assert latency[name + "_sum", ('command="SEM.ACQUIRE"',)] >= 0.025, "the wait counts"
    assert families["holdfast_ready"].samples["holdfast_ready", ()] == 1
    assert families["holdfast_journal_flush_duration_seconds"].samples[
        "holdfast_journal_flush_duration_seconds_count", ()] > 0


def test_refusals_for_what_was_asked_are_counted_too(server):
    """On both ports, though no engine has seen the command."""
    server.call("STOCK.TAKE", "figures", "o", "u", 0)
    http(server.http_port, "PUT", "/v1/products/figures", {"quantity": -1})
    commands = metrics(server)["holdfast_commands_total"].samples
    key, outcome = "holdfast_commands_total", 'outcome="INVALID_QUANTITY"'
    assert commands[key, ('command="STOCK.TAKE"', outcome)] == 1
    assert commands[key, ('command="STOCK.LOAD"', outcome)] == 1


def test_figures_only_grow_where_they_are_counters(server):
    before = metrics(server)
    with Client(server.resp_port) as client:
        for n in range(50):
            client.call("QUOTA.LIMIT", "grow", n)
    after = metrics(server)
    for name, family in before.items():
        if family.type != "gauge":
            for key, value in family.samples.items():
                assert after[name].samples[key] >= value, key
    key = "holdfast_received_bytes_total", ()
    assert after[key[0]].samples[key] > before[key[0]].samples[key]


# ---- logs ----------------------------------------------------------------------------------------

def test_logs_as_json():
    with Server("--log-format", "json", "--log-level", "debug") as server:
        server.call("PING")
        server.stop()
        lines = server.said().splitlines()
    assert lines
    for line in lines:
        entry = json.loads(line)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"])
        assert entry["level"] in ("debug", "info", "warning", "error") and entry["message"]


TIMED = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z holdfast: "


def test_logs_tell_the_time_the_beginning_and_the_end():
    with Server() as server:
        server.call("QUOTA.RESERVE", "t", 1, "HOLD", "h")
        server.call("QUOTA.LIMIT", "t", 5)
        server.call("QUOTA.RESERVE", "t", 1, "HOLD", "h")
        wait_until(lambda: "ready after" in server.said(), "the log is written")
        server.restart("kill")
        server.stop()
        lines = server.said().splitlines()
    assert all(re.match(TIMED, line) for line in lines), lines
    told = [re.sub(TIMED, "", line) for line in lines]
    assert re.match(rf"version \S+ starts: RESP on \S+:{server.resp_port}, HTTP on "
                    rf"\S+:{server.http_port}, no TLS, engine embedded:\S+, fsync always", told[0])
    assert re.match(r"ready after [\d.]+ s: read \d+ bytes of snapshot and journal, 0 holds", told[1])
    assert re.match(r"ready after [\d.]+ s: read [1-9]\d* bytes of snapshot and journal, 1 holds",
                    told[3])
    assert told[-2].startswith("asked to stop by SIGTERM") and told[-1] == "stopped, exit code 0"


def test_a_log_that_nobody_reads_stops_nobody(build, tmp_path):
    process = subprocess.Popen(
        [build.program, "serve", "--memory", "--resp-port", "0", "--http-port", "0", "--log-level",
         "debug"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    port = int(READY.match(process.stdout.readline().decode())[2])
    for _ in range(4000):  # two lines each: more than a pipe and the server's own buffer take
        Client(port).close()
    with Client(port) as client:
        assert client.call("PING") == "PONG"
    process.terminate()
    _, log = process.communicate(timeout=TIMEOUT_S)  # now it is read
    assert process.returncode == 0
    assert re.search(r"holdfast: warning: \d+ lines were left out here", log.decode())


def test_logs_below_the_level_are_left_out():
    with Server("--log-level", "error", memory=True) as server:
        server.stop()
        assert server.said() == ""


def test_the_slow_log_tells_what_took_long():
    with Server("--slow-threshold", "0", memory=True) as server:
        server.call("SEATS.OPEN", "gala", "floor", "5")
        entry = server.call("SLOWLOG", "GET")[-1]
        assert entry[3][0].startswith("SEATS.OPEN gala floor 5") and "127.0.0.1:" in entry[4]
        for name in ("a" * 120, "b"):
            assert http(server.http_port, "PUT", f"/v1/quotas/{name}", {"limit": 5}).status == 200
        assert "QUOTA.LIMIT b 5" in server.call("SLOWLOG", "GET", 1)[0][3][0]
    with Server("--slow-threshold", "1h", memory=True) as server:
        server.call("SEATS.OPEN", "gala", "floor", "5")
        assert server.call("SLOWLOG", "GET") == []
