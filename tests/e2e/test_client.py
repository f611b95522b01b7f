# SPDX-License-Identifier: Apache-2.0
"""The library and `call` and `audit` as clients of a server: answers, who is let in, outages."""

import json
import subprocess

import pytest

from harness import run
from own_server import free_port
from server import Server, wait_until

DONE, REFUSED, MALFORMED, UNAVAILABLE, DENIED = 0, 1, 2, 69, 77


@pytest.fixture(scope="module")
def server(build):
    with Server(memory=True, program=build.program) as running:
        yield running


@pytest.fixture
def client(build, server):
    """client(word, …): holdfast with that server as the one that is meant."""
    def one(*words, stdin=b""):
        return run(build.program, *words, stdin=stdin, env={"HOLDFAST_URL": server.url})
    return one


# ---- call --------------------------------------------------------------------------------------


def test_call_goes_to_the_server_of_the_environment(client, server):
    ended = client("call", "SEATS.OPEN", "gala", "floor", "500")
    assert (ended.code, ended.err) == (DONE, "")
    assert ended.lines == ["1) (integer) 1", "2) (integer) 500", "3) (integer) 500"]
    assert server.call("SEATS.ZONE", "gala", "floor")[1] == 500


@pytest.mark.parametrize("flag", ["--url", "--engine"])
def test_call_goes_to_the_server_that_is_named(build, server, flag):
    ended = run(build.program, "call", flag, server.url, "--json", "SEATS.USER", "gala", "nobody",
                env={"HOLDFAST_URL": f"holdfast://127.0.0.1:{free_port()}"})
    assert (ended.code, json.loads(ended.out)) == (DONE, {"held": 0, "confirmed": 0})


SCRIPT = """\
SEATS.OPEN EV floor 2
SEATS.RESERVE EV floor EV-b ann 2 4
SEATS.RESERVE EV floor EV-c bob 1 4
SEATS.GET EV EV-x
SEATS.RELEASE EV EV-b
SEATS.ZONE EV floor
QUOTA.LIMIT EV 10
QUOTA.RESERVE EV 20
QUOTA.RESERVE EV 5 HOLD h TTL 1500ms
QUOTA.GET EV
SEM.ACQUIRE EV me 1
SEM.ACQUIRE EV you 1 WAIT 20
SEM.STATS EV
LOCK.GET EV
LOCK.TRY EV 10 ID mine
LOCK.TRY EV 10 ID yours
STOCK.LOAD EV 5
STOCK.TAKE EV o ann 6
STOCK.GET EV
ROOM.POSITION EV ann
ROOM.ADMIT EV 5
IDEM.BEGIN EV f
IDEM.BEGIN EV f
IDEM.COMPLETE EV "two words"
IDEM.BEGIN EV f
IDEM.BEGIN EV g
SEATS.OPEN {EV} floor 5
SEATS.OPEN EV floor many
SEATS.SHUT EV
"""


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["plain", "json"])
def test_a_server_answers_as_the_engine_in_this_process(holdfast, client, server, form):
    """To the byte, but for numbers of grants, times and messages that RESP does not carry."""
    server.call("SEM.RELEASE", "EV", "me")  # of the round before
    text = SCRIPT.replace("EV", "same" + str(len(form)))
    here = holdfast("call", "--engine", "embedded:", *form, stdin=text)
    there = client("call", *form, stdin=text)
    assert there.code == here.code == MALFORMED
    assert len(there.lines) == len(here.lines)
    for ours, theirs in zip(here.lines, there.lines):
        if not any(word in ours for word in ("fence", "integer", "message", "expires_at")):
            assert theirs == ours
        if form and "message" in ours:
            codes = [json.loads(line)["error"]["code"] for line in (ours, theirs)]
            assert codes[0] == codes[1]


def test_refusals_carry_the_servers_figures(client):
    client("call", "SEATS.OPEN", "figures", "floor", "3")
    ended = client("call", "SEATS.RESERVE", "figures", "floor", "b", "ann", "5", "9")
    assert ended.code == REFUSED
    assert ended.lines[1:] == ["2) INSUFFICIENT_STOCK", "3) 3 seats available, 5 requested"]


def test_a_large_answer_comes_whole(client):
    response = "x" * (1 << 20)
    ended = client("call", "--json",
                   stdin=f"IDEM.BEGIN big f\nIDEM.COMPLETE big {response}\nIDEM.BEGIN big f\n")
    assert ended.code == DONE
    assert json.loads(ended.lines[2])["response"] == response


def test_a_call_may_wait_longer_than_the_timeout(build, server):
    server.call("SEM.ACQUIRE", "patience", "a", 1, "HEARTBEAT", "2s")
    ended = run(build.program, "call", "--url", f"{server.url}?timeout=1s",
                "SEM.ACQUIRE", "patience", "b", "1", "WAIT", "60s")
    assert ended.code == DONE


# ---- nobody there ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    ["call", "SEM.CARD", "a"], ["audit"], ["exec", "--lock", "r", "--", "true"]], ids=" ".join)
def test_no_server(build, words):
    url = f"holdfast://127.0.0.1:{free_port()}"
    ended = run(build.program, *words, env={"HOLDFAST_URL": url})
    assert (ended.code, ended.out) == (UNAVAILABLE, "")
    assert "cannot connect to 127.0.0.1" in ended.err and len(ended.err.splitlines()) == 1


def test_the_rest_of_the_lines_is_not_tried_when_the_server_goes(build):
    with Server(memory=True, program=build.program) as server:
        process = subprocess.Popen(
            [build.program, "call", "--url", server.url], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        process.stdin.write("SEM.CARD a\n")
        process.stdin.flush()
        assert process.stdout.readline() == "(integer) 0\n"
        server.kill()
        out, _ = process.communicate("SEM.CARD a\n" * 100)
    assert process.returncode == UNAVAILABLE
    assert out.count("ENGINE_DOWN") == 1


def test_the_same_handle_goes_on_after_a_restart(build, tmp_path):
    with Server(program=build.program, directory=tmp_path / "data") as server:
        process = subprocess.Popen(
            [build.program, "call", "--url", server.url], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        process.stdin.write("SEATS.OPEN gala floor 5\n")
        process.stdin.flush()
        assert process.stdout.readline() == "1) (integer) 1\n"
        server.restart("kill")
        out, _ = process.communicate("SEATS.ZONE gala floor\n")
    assert process.returncode == DONE
    assert "capacity" in out


def test_an_answer_that_never_comes_leaves_the_outcome_unknown(build):
    with Server(memory=True, program=build.program) as server:
        process = subprocess.Popen(
            [build.program, "call", "--url", f"{server.url}?timeout=200ms"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdin.write("SEM.CARD a\n")
        process.stdin.flush()
        assert process.stdout.readline() == "(integer) 0\n"
        server.pause()
        out, _ = process.communicate("SEATS.OPEN gala floor 5\n")
        server.resume()
        assert process.returncode == REFUSED
        assert "TIMEOUT" in out and "outcome unknown: " in out and "same id" in out
        # It did happen, here: the server found it when it went on.
        wait_until(lambda: server.call("SEATS.ZONE", "gala", "floor")[0] == "capacity")


# ---- who is let in -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(build, tmp_path_factory):
    """A server with users ann (admin, by password) and bob (read)."""
    users = tmp_path_factory.mktemp("auth") / "users"
    lines = [run(build.program, "auth", name, role, "--password", stdin="s3cret\n").out
             for name, role in (("ann", "admin"), ("bob", "read"))]
    users.write_text("".join(lines))
    users.chmod(0o600)
    with Server("--auth-file", users, memory=True, program=build.program) as running:
        yield running


def guarded_call(build, server, who, *words):
    return run(build.program, "call", "--url", server.url.replace("//", f"//{who}"), *words)


def test_who_is_not_known_is_not_let_in(build, guarded):
    for who in ("", "ann:wrong@", "carl:s3cret@", "token@"):
        ended = guarded_call(build, guarded, who, "SEM.CARD", "a")
        assert (ended.code, ended.out) == (DENIED, ""), who
        assert "s3cret" not in ended.err


def test_who_is_known_is_let_in(build, guarded):
    assert guarded_call(build, guarded, "ann:s3cret@", "SEM.CARD", "a").code == DONE
    assert guarded_call(build, guarded, "bob:s3cret@", "SEM.CARD", "a").code == DONE


def test_who_may_only_read_does_not_write(build, guarded):
    ended = guarded_call(build, guarded, "bob:s3cret@", "SEATS.OPEN", "gala", "floor", "5")
    assert ended.code == REFUSED
    assert ended.lines[1] == "2) FORBIDDEN"


def test_the_password_is_shown_nowhere(build, guarded):
    ended = run(build.program, "audit", guarded.url.replace("//", "//ann:s3cret@"))
    assert ended.code == DONE
    assert "s3cret" not in ended.out + ended.err


# ---- TLS ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sealed(build, tmp_path_factory):
    """A server with a certificate of its own making for 127.0.0.1, in .ca."""
    where = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=holdfast", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", where / "key.pem", "-out", where / "cert.pem"],
        check=True, stderr=subprocess.DEVNULL)
    (where / "key.pem").chmod(0o600)
    with Server("--tls-cert", where / "cert.pem", "--tls-key", where / "key.pem", memory=True,
                program=build.program) as running:
        running.ca = where / "cert.pem"
        yield running


def test_calls_over_tls(build, sealed):
    response = "x" * (1 << 20)
    url = f"holdfast+tls://127.0.0.1:{sealed.resp_port}?ca={sealed.ca}"
    ended = run(build.program, "call", "--url", url, "--json", stdin=(
        f"SEATS.OPEN gala floor 5\nIDEM.BEGIN k f\nIDEM.COMPLETE k {response}\nIDEM.BEGIN k f\n"))
    assert (ended.code, ended.err) == (DONE, "")
    assert json.loads(ended.lines[0]) == {"available": 5, "capacity": 5}
    assert json.loads(ended.lines[3])["response"] == response
    assert run(build.program, "audit", url).code == DONE


def test_a_command_is_held_up_over_tls(build, sealed):
    url = f"holdfast+tls://127.0.0.1:{sealed.resp_port}?ca={sealed.ca}"
    ended = run(build.program, "exec", "--url", url, "--lock", "r", "--ttl", "1s", "--",
                "sh", "-c", 'sleep 1.5; exec "$0" "$@"',
                build.program, "call", "--url", url, "SEM.ACQUIRE", "x", "y", "1")
    assert ended.code == DONE


@pytest.mark.parametrize("url, about", [
    ("holdfast+tls://127.0.0.1:PORT", "certificate"),  # the system does not know who made it
    ("holdfast+tls://localhost:PORT?ca=CA", "mismatch"),
    ("holdfast+tls://127.0.0.1:PORT?ca=/dev/null", "/dev/null"),
    ("holdfast://127.0.0.1:PORT?timeout=1s", "this port speaks TLS"),
], ids=str)
def test_who_is_not_proven_is_not_talked_to(build, sealed, url, about):
    url = url.replace("PORT", str(sealed.resp_port)).replace("CA", str(sealed.ca))
    ended = run(build.program, "call", "--url", url, "SEM.CARD", "a")
    assert ended.code != DONE and ended.out == ""
    assert about in ended.err


def test_what_may_be_secret_in_a_url_is_not_shown(build):
    url = "redis+sentinel://bob:s3cr3t@host/master?sentinel_password=s3cr3t"
    ended = run(build.program, "top", "--url", url)
    assert ended.code != DONE and "host/master: must be a server's URL" in ended.err
    assert "s3cr3t" not in ended.err


# ---- audit -------------------------------------------------------------------------------------


def test_audit_of_a_running_server(build, client, server):
    client("call", "LOCK.TRY", "audited", "600")
    for ended in (client("audit"), run(build.program, "audit", server.url)):
        assert (ended.code, ended.err) == (DONE, "")
        assert ended.lines[0] == server.url
        assert ended.lines[-1].split()[:2] == ["findings", "0"]
        holds = next(line for line in ended.lines if "live holds" in line)
        assert int(holds.split()[2]) >= 1
