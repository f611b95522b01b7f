# SPDX-License-Identifier: Apache-2.0
"""Files that are not what they should be: certificates and keys that do not fit, symbolic links and
FIFOs where a file is expected, files that others may read or write. What cannot be used is refused
with the reason, at the check of the settings, at the start, and at a reload, which leaves in place
what was there before."""

import os
import shutil
import signal

import pytest

from certificates import Authority, make_certificate, trusting
from harness import run
from raw_client import Client, Http
from server import Server, wait_until

SEGMENT = "journal-00000000000000000001"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Certificates and keys of several kinds, in one folder: NAME.crt and NAME.key."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    where = tmp_path_factory.mktemp("certificates")
    kinds = {"ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
             "ec384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
             "rsa": ["rsa:2048"], "other-rsa": ["rsa:2048"], "ed": ["ed25519"],
             "bitcoin": ["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"]}
    for name, kind in kinds.items():
        ended = run("openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-keyout",
                    where / f"{name}.key", "-out", where / f"{name}.crt", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
        assert ended.code == 0, ended
    ended = run("openssl", "pkey", "-in", where / "ec.key", "-aes128", "-passout", "pass:secret",
                "-out", where / "locked.key")
    assert ended.code == 0, ended
    expired, key = Authority(where, "authority").issue("expired", days=-1)
    assert expired.exists() and key.exists()
    (where / "wrong-order.crt").write_text(
        (where / "authority.crt").read_text() + expired.read_text())
    (where / "half.key").write_bytes((where / "ec.key").read_bytes()[:60])
    (where / "folder.key").mkdir()
    os.mkfifo(where / "fifo.key", 0o600)
    os.mkfifo(where / "fifo.crt", 0o600)
    for path in where.glob("*.key"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return where


# What is refused, and a word of the reason.
MISFITS = [
    ("rsa.crt", "ec.key", "is not the key"), ("ec.crt", "rsa.key", "is not the key"),
    ("rsa.crt", "other-rsa.key", "is not the key"), ("ec.crt", "ec384.key", "is not the key"),
    ("ed.crt", "ec.key", "is not the key"), ("ec.crt", "ed.key", "is not the key"),
    ("wrong-order.crt", "expired.key", "is not the key"), ("ec.crt", "locked.key", "unencrypted"),
    ("ec.crt", "half.key", "is not the key"), ("ec.crt", "ec.crt", "is not the key"),
    ("ec.key", "ec.key", "no certificate"), ("ec.crt", "nowhere.key", "cannot be read"),
    ("nowhere.crt", "ec.key", "cannot be read"), ("ec.crt", "folder.key", "not a regular file"),
    ("ec.crt", "fifo.key", "not a regular file"), ("fifo.crt", "ec.key", "not a regular file"),
    ("bitcoin.crt", "bitcoin.key", "serves no client")]


def tls_flags(files, cert, key):
    return ["--tls-cert", files / cert, "--tls-key", files / key]


@pytest.mark.parametrize("cert, key, why", MISFITS)
def test_a_certificate_and_a_key_that_cannot_serve_are_refused(holdfast, files, cert, key, why):
    ports = ["--resp-port", "0", "--http-port", "0"]
    for more in (["--check-config"], ports):
        ended = holdfast("serve", "--memory", *tls_flags(files, cert, key), *more)
        assert ended.code == 2, ended
        assert why in ended.err and "tls-" in ended.err, ended


@pytest.mark.parametrize("name", ["ec", "ec384", "rsa", "ed"])
def test_those_that_can_serve_do(files, name):
    with Server(*tls_flags(files, f"{name}.crt", f"{name}.key"), memory=True) as server:
        with Http(server.http_port, context=trusting(files / f"{name}.crt")) as web:
            assert web.call("GET", "/livez").status == 200


@pytest.fixture
def served(files, tmp_path):
    """A server whose certificate and key are files of its own, ec at first."""
    for kind in ("crt", "key"):
        shutil.copy(files / f"ec.{kind}", tmp_path / f"own.{kind}")
    with Server("--tls-cert", tmp_path / "own.crt", "--tls-key", tmp_path / "own.key",
                memory=True) as server:
        yield server, tmp_path


def reload(server, words):
    before = server.said().count(words)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.said().count(words) > before, f"the log has {words!r}")


@pytest.mark.parametrize("cert, key", [
    ("rsa.crt", "ec.key"), ("ec.crt", "rsa.key"), ("ec.crt", "ec384.key"), ("ec.crt", "half.key"),
    ("ec.crt", "locked.key"), ("bitcoin.crt", "bitcoin.key"), ("expired.crt", "expired.key")])
def test_a_reload_that_cannot_serve_leaves_the_old_one(served, files, cert, key):
    server, where = served
    shutil.copy(files / cert, where / "own.crt")
    shutil.copy(files / key, where / "own.key")
    reload(server, "the certificate stays as it was")
    with Http(server.http_port, context=trusting(files / "ec.crt")) as web:
        assert web.call("GET", "/livez").status == 200
    for kind in ("crt", "key"):
        shutil.copy(files / f"rsa.{kind}", where / f"own.{kind}")
    reload(server, "read again")
    with Http(server.http_port, context=trusting(files / "rsa.crt")) as web:
        assert web.call("GET", "/livez").status == 200


def test_a_reload_does_not_wait_for_a_fifo(served):
    server, where = served
    (where / "own.key").unlink()
    os.mkfifo(where / "own.key", 0o600)
    reload(server, "the certificate stays as it was")


def test_an_expired_certificate_serves_and_the_log_tells(holdfast, files):
    flags = tls_flags(files, "expired.crt", "expired.key")
    ended = holdfast("serve", "--memory", *flags, "--check-config")
    assert ended.code == 0 and "has expired" in ended.err, ended
    with Server(*flags, memory=True) as server:
        wait_until(lambda: "has expired" in server.said(), "the log tells")


@pytest.mark.parametrize("cert, key", [("rsa.crt", "ec.key"), ("ec.crt", "locked.key"),
                                       ("ec.crt", "fifo.key")])
def test_a_client_certificate_that_does_not_fit_is_refused(holdfast, files, cert, key):
    ended = holdfast("call", "--engine", f"rediss://localhost:1/?tls_cert={files / cert}"
                     f"&tls_key={files / key}", "PING")
    assert ended.code == 2 and "tls_key" in ended.err, ended


# ---- the data directory --------------------------------------------------------------------------

@pytest.fixture
def data(holdfast, tmp_path):
    """A directory with a segment and a snapshot."""
    directory = tmp_path / "data"
    with Server(directory=directory) as server:
        assert server.call("SEATS.OPEN", "gala", "floor", 5)[0] == 1
        assert server.call("SNAPSHOT") == "OK"
        wait_until(lambda: list(directory.glob("snapshot-*")), "the snapshot")
    return directory


def starts(holdfast, directory, *more):
    return holdfast("serve", "--dir", directory, "--resp-port", "0", "--http-port", "0", *more)


def replace(path, how):
    target = path.parent.parent / "elsewhere"
    if how == "link":
        path.rename(target)
        path.symlink_to(target)
    else:
        path.unlink()
        os.mkfifo(path, 0o600)
    return target


@pytest.mark.parametrize("how, why", [("link", "symbolic link"), ("fifo", "not a regular file")])
@pytest.mark.parametrize("pattern", ["LOCK", "journal-*", "snapshot-*"])
def test_no_link_and_no_fifo_is_taken_for_a_file(holdfast, data, pattern, how, why):
    path = sorted(data.glob(pattern))[-1]
    target = replace(path, how)
    before = target.read_bytes() if how == "link" else None
    ended = starts(holdfast, data)
    assert ended.code == 3 and path.name in ended.err and why in ended.err, ended
    if pattern == "LOCK":
        ended = starts(holdfast, data, "--check-config")
        assert ended.code == 2 and path.name in ended.err and why in ended.err, ended
    if how == "link":
        assert target.read_bytes() == before, "it was not written through the link"


# ---- files that others can read or write ---------------------------------------------------------

def test_files_that_others_can_read_or_write_are_warned_of(holdfast, files, tmp_path):
    cert, key = make_certificate(tmp_path, "first")
    users, data = tmp_path / "users", tmp_path / "data"
    users.write_text(holdfast("auth", "ann", "admin").out)
    users.chmod(0o600)
    data.mkdir()
    data.chmod(0o700)
    flags = ["--tls-cert", cert, "--tls-key", key, "--auth-file", users]
    for path, mode, words in [(None, 0, None), (key, 0o644, "read"), (users, 0o644, "read"),
                              (data, 0o777, "write"), (key, 0o622, "write")]:
        before = path.stat().st_mode if path else 0
        if path:
            path.chmod(mode)
        ended = holdfast("serve", "--dir", data, *flags, "--check-config")
        warned = [line for line in ended.err.splitlines() if "warning" in line]
        assert ended.code == 0, ended
        if path is None:
            assert not warned, ended
        else:
            assert len(warned) == 1 and str(path) in warned[0] and words in warned[0], ended
        log = tmp_path / "server.log"
        log.unlink(missing_ok=True)
        with Server(*flags, directory=data) as server:
            server.stop()
        lines = [line for line in log.read_text().splitlines() if "others than" in line]
        assert len(lines) == (1 if path else 0) and all(str(path) in line for line in lines), lines
        if path:
            path.chmod(before)


def test_users_in_a_fifo_are_refused_at_once(holdfast, tmp_path):
    users = tmp_path / "users"
    users.write_text(holdfast("auth", "ann", "admin").out)
    users.chmod(0o600)
    with Server("--auth-file", users, memory=True) as server:
        users.unlink()
        os.mkfifo(users, 0o600)
        reload(server, "users stay as they were")
        with Client(server.resp_port) as client:
            assert client.call("PING").code == "NOAUTH"
    ended = holdfast("serve", "--memory", "--auth-file", users, "--check-config")
    assert ended.code == 2 and "not a regular file" in ended.err, ended
