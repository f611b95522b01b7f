# SPDX-License-Identifier: Apache-2.0
"""The schema: the same in all three dialects, brought up to date once, refused if it is newer."""

import re
import threading

import pytest

from harness import ROOT
from server import Server
from shop import PRODUCT, buy, outcome

FOLDERS = {name: ROOT / "sql" / name for name in ("sqlite", "postgres", "mysql")}


def migrations(folder):
    return sorted(path.name for path in folder.glob("*.sql"))


def tables(folder):
    """{table: [(column, number or text, may be null)]} and the primary keys, from the files."""
    found = {}
    for path in sorted(folder.glob("*.sql")):
        text = re.sub(r"--.*", "", path.read_text())
        for name, body in re.findall(r"CREATE TABLE(?: IF NOT EXISTS)? (\w+) \((.*?)\n\)", text, re.S):
            lines = [line.strip().rstrip(",") for line in body.strip().splitlines() if line.strip()]
            found[name] = [column(line) for line in lines]
    return found


def column(line):
    word = line.split()[0].upper()
    if word in ("PRIMARY", "CHECK", "UNIQUE", "CONSTRAINT", "KEY", "INDEX"):
        return re.sub(r"\s+", " ", re.sub(r"[`\"]", "", line)).lower()
    kind = "text" if re.search(r"\b(TEXT|VARCHAR|CHAR)\b", line.upper()) else "number"
    return line.split()[0].strip('`"'), kind, "NOT NULL" in line.upper()


def test_the_dialects_have_the_same_migrations():
    names = {name: migrations(folder) for name, folder in FOLDERS.items()}
    assert names["sqlite"] and names["sqlite"] == names["postgres"] == names["mysql"]


@pytest.mark.parametrize("other", ["postgres", "mysql"])
def test_the_dialects_have_the_same_tables(other):
    ours, theirs = tables(FOLDERS["sqlite"]), tables(FOLDERS[other])
    assert set(ours) == set(theirs) >= {"inventory", "orders", "zones", "bookings", "barriers",
                                        "drift", "holdfast_schema", "outbox"}
    for name in ours:
        columns = [each for each in ours[name] if isinstance(each, tuple)]
        assert columns == [each for each in theirs[name] if isinstance(each, tuple)], name


def test_a_newer_database_is_refused(shop):
    shop.serve().stop()
    shop.rows("UPDATE holdfast_schema SET version = version + 1000")
    with pytest.raises(AssertionError, match="newer"):
        shop.serve()


def test_many_servers_bring_it_up_to_date_once(redis_shop):
    servers = []
    threads = [threading.Thread(target=lambda: servers.append(redis_shop.serve())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(servers) == 4
    applied = len(migrations(FOLDERS["sqlite"]))
    assert redis_shop.value("SELECT COUNT(*) FROM holdfast_schema") == applied
    servers[0].call("STOCK.LOAD", PRODUCT, 4)
    assert {outcome(buy(server, f"o-{server.resp_port}")) for server in servers} == {"SOLD"}


@pytest.mark.parametrize("url", ["sqlite:", "mysql://", "postgres:/", "oracle://x/y", "", "ledger.db"])
def test_a_url_that_cannot_be_is_refused(url):
    with pytest.raises(AssertionError, match="not ready"):
        Server("--ledger", url, memory=True).close()


def test_secrets_are_not_shown(served_shop):
    url = served_shop.database.url_by(1, password="quite-secret")
    server = served_shop.serve(ledger=url)
    assert outcome(buy(server, "o-1")) == "LEDGER_DOWN"
    assert "quite-secret" not in str(buy(server, "o-1"))
    server.stop()
    assert "quite-secret" not in server.said()
