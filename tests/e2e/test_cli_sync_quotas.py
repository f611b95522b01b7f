# SPDX-License-Identifier: Apache-2.0
"""holdfast sync-quotas, and the settings of the quota sync, which are checked before anything is
started."""

import re
import sqlite3

import pytest

from raw_client import http
from server import Server, wait_until

DONE, DIFFERS, USAGE, UNAVAILABLE = 0, 1, 2, 69


@pytest.fixture
def files(tmp_path):
    """The URL of a table in which acme has 120 and bob 7."""
    database = sqlite3.connect(tmp_path / "files.db")
    with database:
        database.execute("CREATE TABLE files (tenant_id TEXT, size INTEGER, status TEXT)")
        database.executemany("INSERT INTO files VALUES (?, ?, ?)", [
            ("acme", 100, "AVAILABLE"), ("acme", 20, "AVAILABLE"), ("acme", 9, "DELETED"),
            ("bob", 7, "AVAILABLE")])
    database.close()
    return f"sqlite:{tmp_path}/files.db"


def figures(ended):
    return {name: int(value) for name, value in re.findall(r"(?m)^  (\w+) +(\d+)\b", ended.out)}


def test_a_dry_run_tells_and_a_run_sets(holdfast, files):
    with Server("--quota-sync-db", files, "--quota-sync-at", "never", memory=True) as server:
        server.call("QUOTA.LIMIT", "acme", 1000)
        server.call("QUOTA.LIMIT", "gone", 1000)
        ended = holdfast("sync-quotas", "--dry-run", "--url", server.url)
        assert (ended.code, ended.err) == (DIFFERS, "")
        assert "  tenant acme: 0 used, the database says 120 (+120)\n" in ended.out
        assert "  tenant gone: 0 used, not in the database's answer\n" in ended.out
        assert figures(ended) == {
            "tenants": 2, "differ": 2, "drift": 127, "missing": 1, "skipped": 0}
        assert server.call("QUOTA.GET", "acme") == [0, 1000, 0]
        ended = holdfast("sync-quotas", "acme", "--url", server.url)
        assert ended.code == DONE and "  tenant acme: 0 used, now 120 (+120)\n" in ended.out
        assert server.call("QUOTA.GET", "acme") == [120, 1000, 0]
        assert server.call("QUOTA.GET", "bob") == [0, 0, 0]


def test_over_http_with_a_wait(files):
    with Server("--quota-sync-db", files, "--quota-sync-at", "never", memory=True) as server:
        answer = http(server.http_port, "POST", "/v1/quotas/sync", {"wait_seconds": "10ms"})
        run = answer.json["run"]
        answer = wait_until(lambda: [
            again for again in [http(server.http_port, "POST", "/v1/quotas/sync", {"run": run}).json]
            if again["done"] == 1])[0]
        assert (answer["applied"], answer["changed"], answer["drift"]) == (2, 2, 127)
        items = http(server.http_port, "GET", "/v1/quota-sync/report").json["items"]
        assert [(item["tenant"], item["outcome"], item["after"]) for item in items] == [
            ("acme", "changed", 120), ("bob", "changed", 7)]
        unknown = http(server.http_port, "POST", "/v1/quotas/sync", {"run": run + 1})
        assert unknown.status == 400 and "is not known" in unknown.json["error"]["message"]


def test_in_the_programs_own_process(holdfast, files, tmp_path):
    where = ["--engine", f"embedded:{tmp_path}/data", "--db", files]
    ended = holdfast("sync-quotas", *where)
    assert (ended.code, ended.err) == (DONE, "") and figures(ended)["changed"] == 2
    ended = holdfast("sync-quotas", "--dry-run", *where, "--query", "SELECT 'acme', 121")
    assert ended.code == DIFFERS and "120 used, the database says 121 (+1)" in ended.out


def test_what_is_not_there_is_told(holdfast, tmp_path):
    ended = holdfast("sync-quotas", "--engine", "embedded:", "--db", f"sqlite:{tmp_path}/none.db")
    assert ended.code == UNAVAILABLE and "none.db" in ended.err
    ended = holdfast("sync-quotas", "--engine", "embedded:")
    assert ended.code == UNAVAILABLE and "quota-sync-db" in ended.err
    ended = holdfast("sync-quotas", "a", "b")
    assert ended.code == USAGE and "what is 'b'?" in ended.err
    ended = holdfast("sync-quotas", "--url", "holdfast://127.0.0.1:1", "--query", "SELECT 1, 2")
    assert ended.code == USAGE and "a server reads usage by its own settings" in ended.err


@pytest.mark.parametrize("setting, value, words", [
    ("quota-sync-at", "25:00", "must be a time of the day in UTC"),
    ("quota-sync-at", "every 1ms", "from 100 ms to 24 h"),
    ("quota-sync-query", "DELETE FROM files", "must be one SELECT"),
    ("quota-sync-query", "SELECT 1, 2;", "without a semicolon"),
    ("quota-sync-query", "SELECT ?, 2", "no values to be filled in"),
    ("quota-sync-query", "SELECT 1, 2) AS q", "closed that was not opened"),
    ("quota-sync-query", "SELECT (1, 2", "is not closed"),
    ("quota-sync-query", "SELECT 'a, 2", "does not end"),
    ("quota-sync-db", "oracle://u:secret@h/x", "begins with one of"),
    ("quota-sync-missing", "forget", "report"),
    ("quota-sync-margin", "2h", "quota-sync-margin"),
])
def test_a_setting_that_cannot_be_is_refused_by_name(holdfast, tmp_path, setting, value, words):
    ended = holdfast("serve", "--check-config", "--dir", tmp_path / "data", f"--{setting}", value)
    assert ended.code == USAGE and setting in ended.err and words in ended.err, ended
    assert "secret" not in ended.err


def test_quotes_and_comments_of_a_query_are_not_mistaken(holdfast, tmp_path):
    query = "SELECT tenant, 1 /* ( */ FROM t WHERE \"a)\" = ';)' -- (the rest"
    ended = holdfast("serve", "--check-config", "--dir", tmp_path / "data",
                     "--quota-sync-query", query)
    assert ended.code == DONE, ended
