# SPDX-License-Identifier: Apache-2.0
"""URLs of databases: which are refused, what of them is shown, and TLS and passwords on the way there.
Whatever goes wrong, no part of a password is shown."""

import pytest

from certificates import Authority
from exercise import Exercise, Step

SCHEMES = {"postgres": "postgres", "mariadb": "mysql"}
# What is behind the ? of a URL so that only a server with the right certificate is spoken to.
VERIFY = {"postgres": "?sslmode=verify-full&sslrootcert={}", "mariadb": "?ssl-ca={}"}


@pytest.fixture
def exercise(build):
    with Exercise(build) as running:
        yield running


@pytest.fixture(params=sorted(SCHEMES))
def scheme(request):
    return SCHEMES[request.param]


def test_a_url_in_order(exercise, scheme):
    url = f"{scheme}://ann:secret@db.example:7777/shop"
    assert exercise.check(url) == "ok"
    assert exercise.show(url) == f"{scheme}://ann@db.example:7777/shop"


def test_an_unknown_scheme(exercise):
    said = exercise.check("oracle://ann:secret@db.example/shop")
    assert said.startswith("INVALID_ARGUMENT ") and "sqlite:" in said and "secret" not in said, said


@pytest.mark.parametrize("rest", ["ann:secret@host:port/shop", "ann:secret@host:0/shop", "ann:secret@host:65536/shop",
                                  "ann:secret@host:7777/shop?nonsense=1", "ann:secret%zz@host/shop"])
def test_a_url_that_is_not_in_order(exercise, scheme, rest):
    said = exercise.check(f"{scheme}://{rest}")
    assert said.startswith("INVALID_ARGUMENT ") and "secret" not in said, said


@pytest.mark.parametrize("odd", ["@", "/", ":", "?", "#", "%", "%40", "%2F", "%00", "&", "=", "'", '"', "\\", "[", "@/", "/@",
                                 "?user=", ":5432/", "@@", "%zz"])
def test_no_part_of_a_password_is_shown(exercise, scheme, odd):
    """Also where it should have been escaped and was not."""
    url = f"{scheme}://ann:QQQ{odd}WWW@127.0.0.1:1/shop"
    said = [exercise.check(url), exercise.show(url), exercise.connect(url, deadline_ms=2000)]
    assert said[2] is not None
    assert not any("QQQ" in text or "WWW" in text for text in said), said


def test_other_options_of_postgres(exercise):
    url = "postgresql://ann@db1.example:1,db2.example:2/shop?sslmode=verify-full&password=secret&sslrootcert=/ca"
    assert exercise.check(url) == "ok"
    shown = exercise.show(url)
    assert "secret" not in shown and "db2.example" in shown
    assert "sslmode" in exercise.check("postgres://host/shop?sslmode=verifyfull")


def test_a_wrong_password(exercise, served):
    url = served.url.replace("p%40ss", "wrong%40ss")
    assert url != served.url
    why = exercise.connect(url)
    assert why and "wrong" not in why and "@ss" not in why, why
    assert exercise.connect(served.url) is None


def test_an_unknown_database(exercise, served):
    why = exercise.connect(served.server.url("nowhere"))
    assert why and "nowhere" in why, why


def test_a_socket(exercise, started):
    server = started("postgres")
    url = f"postgres://holdfast:p%40ss%3A%2Fword@/postgres?host={server.directory}&port={server.port}"
    assert exercise.connect(url) is None
    assert exercise.run(Step("SELECT 1")).rows == [(0, 1)]
    assert "ss" not in exercise.show(url).replace("postgres", "")


# ---- TLS


@pytest.fixture(params=sorted(VERIFY))
def kind(request):
    return request.param


def test_tls_to_a_server_with_the_right_certificate(exercise, kind, tls_server, authority, tmp_path):
    server = tls_server(kind, *authority.issue(f"{kind}-right"))
    url = server.url(server.create_database("shop"))
    assert exercise.connect(url + VERIFY[kind].format(authority.cert)) is None
    question = {"postgres": "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
                "mariadb": "SELECT COUNT(*) FROM information_schema.session_status"
                           " WHERE variable_name = 'Ssl_cipher' AND variable_value <> ''"}
    assert exercise.run(Step(question[kind])).rows == [(0, 1)]
    other = Authority(tmp_path, "other")
    why = exercise.connect(url + VERIFY[kind].format(other.cert), name=1)
    assert why and "p@ss" not in why


def test_tls_to_a_server_with_the_certificate_of_another(exercise, kind, tls_server, authority):
    server = tls_server(kind, *authority.issue(f"{kind}-other", names="DNS:elsewhere.example"))
    url = server.url(server.create_database("shop"))
    assert exercise.connect(url + VERIFY[kind].format(authority.cert)) is not None


def test_tls_is_never_done_without(exercise, served, authority):
    """The server speaks none."""
    why = exercise.connect(served.url + VERIFY[served.kind].format(authority.cert))
    assert why and "ssl" in why.lower(), why
