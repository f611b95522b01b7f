# SPDX-License-Identifier: Apache-2.0
"""Quota sync from each database, on both engines: nothing that is uploaded meanwhile is lost, no
limit is exceeded, and a reading that fails changes nothing."""

import os
import threading

import pytest
import redis

from databases import Database
from harness import Build
from server import Error, Server, wait_until
from servers import RedisServer
from uploads import PLENTY, TENANTS, Uploader, add_files, make_files, pipelined, sums, usage

# A sanitized program is many times slower, and the plain one has seen all of them.
UPLOADS = int(os.environ.get("HOLDFAST_UPLOADS", "1000" if Build().sanitized else "10000"))
RACES = 1000 if Build().sanitized else 10_000
UPLOADERS = 4
# An expression that the database cannot work out for one tenant.
BROKEN = {
    "sqlite": "abs(CASE WHEN tenant_id = 'z' THEN -9223372036854775808 ELSE size END)",
    "postgres": "size / (CASE WHEN tenant_id = 'z' THEN 0 ELSE 1 END)",
    "mariadb": "CASE WHEN tenant_id = 'z' THEN (SELECT 1 UNION SELECT 2) ELSE size END",
}


@pytest.fixture(scope="module")
def redis_server():
    with RedisServer() as one:
        yield one


@pytest.fixture(params=["embedded", "redis"])
def engine(request, redis_server):
    """The flags of an empty engine."""
    if request.param == "embedded":
        return []
    redis_server.client().flushall()
    return ["--engine", redis_server.url]


@pytest.fixture
def files(database):
    make_files(database)
    return database


def serve(engine, files, *flags):
    return Server("--quota-sync-db", files.url, "--quota-sync-at", "never", *engine, *flags,
                  memory=not engine)


def sync(server, *words):
    """What QUOTA.SYNCALL counts, by name."""
    lead, _, done, *counts = server.call("QUOTA.SYNCALL", *words)
    assert (lead, done) == (1, 1)
    return dict(zip(("tenants", "applied", "changed", "drift", "missing", "skipped"), counts))


def refusal(server, *words):
    """The code and the message of QUOTA.SYNCALL, which is refused."""
    answer = server.call("QUOTA.SYNCALL", *words)
    if isinstance(answer, Error):
        return answer.code, answer.message
    assert answer[0] == 0, answer
    return tuple(answer[1:])


def report(server):
    """{tenant: (outcome, before, after, why)}"""
    cursor, *items = server.call("QUOTA.SYNCED", "COUNT", 1000)
    assert cursor == ""
    return {item[1]: tuple(item[3::2]) for item in items}


def test_a_sync_in_the_middle_of_uploads_loses_none(engine, files):
    with serve(engine, files) as server:
        client = redis.Redis(port=server.resp_port, socket_timeout=60)
        pipelined(client, [("QUOTA.LIMIT", tenant, PLENTY) for tenant in TENANTS])
        synced = []
        uploaders = [Uploader(server, files, i, UPLOADS // UPLOADERS, lambda: len(synced) > 2)
                     for i in range(UPLOADERS)]
        for uploader in uploaders:
            uploader.start()
        while any(uploader.is_alive() for uploader in uploaders):
            synced.append(sync(server))
            stored = sums(files)
            used = usage(client, TENANTS)
            assert {t: used[t] for t in stored if used[t] < stored[t]} == {}, stored
        for uploader in uploaders:
            uploader.join()
            assert uploader.problem is None
        stored = sums(files)
        assert sum(stored.values()) == 20 * sum(uploader.done for uploader in uploaders)
        assert all(usage(client, TENANTS)[t] >= stored[t] for t in TENANTS)
        wait_until(lambda: sync(server) and usage(client, TENANTS) == stored, "usage is exact")


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_two_uploads_that_exceed_the_limit_together_never_do(engine, files):
    """Both of each pair at once, while a sync is going on."""
    tenants = [f"pair-{i}" for i in range(RACES)]
    granted = [[], []]
    with serve(engine, files) as server:
        add_files(files, [(tenant, tenant, 10) for tenant in tenants])
        client = redis.Redis(port=server.resp_port, socket_timeout=60)
        for first in range(0, RACES, 1000):
            pipelined(client, [("QUOTA.LIMIT", t, 100) for t in tenants[first:first + 1000]])

        def reserve(which):
            own = redis.Redis(port=server.resp_port, socket_timeout=60)
            for first in range(0, RACES, 100):
                granted[which] += pipelined(own, [
                    ("QUOTA.RESERVE", t, 60, "HOLD", f"h-{which}")
                    for t in tenants[first:first + 100]])

        threads = [threading.Thread(target=reserve, args=(which,)) for which in (0, 1)]
        for thread in threads:
            thread.start()
        sync(server)
        for thread in threads:
            thread.join()
        answers = zip(tenants, *granted, usage(client, tenants).values())
        assert [a for a in answers if not (a[1][0] + a[2][0] <= 0 and a[3] <= 100)] == []
        assert sum(a[0] == 1 for a in granted[0] + granted[1]) == RACES


@pytest.mark.parametrize("engine", ["embedded"], indirect=True)
def test_many_pages_are_read_and_a_tenant_twice_changes_nothing(engine, files):
    tenants = [f"t{i:05}" for i in range(12_000)]
    add_files(files, [(tenant, tenant, 7) for tenant in tenants])
    with serve(engine, files) as server:
        assert sync(server)["applied"] == len(tenants)
        assert server.call("QUOTA.GET", tenants[-1]) == [7, 0, 0]
    add_files(files, [("again", tenants[-1], 8)])
    with serve(engine, files, "--quota-sync-query", "SELECT tenant_id, size FROM files") as server:
        code, message = refusal(server)
        assert code == "INVALID_STATE" and "more than once: it needs a GROUP BY" in message
        assert server.call("QUOTA.GET", tenants[0]) == [0, 0, 0]


def test_a_query_that_fails_changes_nothing(engine, files):
    add_files(files, [("one", "a", 100), ("two", "b", 200), ("three", "z", 300)])
    query = f"SELECT tenant_id, SUM({BROKEN[files.kind]}) FROM files GROUP BY tenant_id"
    with serve(engine, files, "--quota-sync-query", query) as server:
        server.call("QUOTA.LIMIT", "a", 1000)
        server.call("QUOTA.RESERVE", "a", 5)
        for words in ([], ["DRY"]):
            code, message = refusal(server, *words)
            assert code == "INVALID_STATE", message
            assert "the database refuses quota-sync-query" in message
        assert server.call("QUOTA.GET", "a") == [5, 1000, 0]
        assert server.call("QUOTA.GET", "b") == [0, 0, 0]


def test_a_tenant_that_is_missing_is_reported_or_set_to_zero(engine, files):
    add_files(files, [("one", "here", 100)])
    for setting, used, outcome in (("report", 40, "missing"), ("zero", 10, "changed")):
        with serve(engine, files, "--quota-sync-missing", setting) as server:
            for tenant in ("here", "gone"):
                server.call("QUOTA.CLOSE", tenant) if setting == "report" else None
                server.call("QUOTA.LIMIT", tenant, 1000)
            if setting == "report" or not engine:
                server.call("QUOTA.RESERVE", "gone", 30)
                server.call("QUOTA.RESERVE", "gone", 10, "HOLD", "h-1")
            dry = sync(server, "DRY")
            assert (dry["missing"], dry["applied"]) == (1, 0)
            assert server.call("QUOTA.GET", "gone")[0] == 40
            wait_until(lambda: sync(server)["missing"] == 1
                       and server.call("QUOTA.GET", "gone")[0] == used, f"{setting}: {used}")
            assert server.call("QUOTA.GET", "here")[0] == 100
            assert setting == "zero" or report(server)["gone"][0] == outcome
            assert sync(server, "TENANT", "nobody")["missing"] == 1


def test_hostile_names_and_values_are_left_alone_and_told_of(engine, files):
    good = ["o'brien", "x;DROP-TABLE", "--", "/*", "\\", '"', "Acme", "acme", "é" * 64, "%s%n",
            "票🎫"]
    bad = ["two words", "{a}", "b" * 129, "new\nline"]
    add_files(files, [(f"g{i}", name, 5 + i) for i, name in enumerate(good)])
    add_files(files, [(f"b{i}", name, 5) for i, name in enumerate(bad)])
    add_files(files, [("v1", "null", None), ("v2", "negative", -1), ("v3", "fraction", 1.5),
                      ("v4", "large", 9007199254740992), ("v5", "largest", 9007199254740991)])
    with serve(engine, files) as server:
        counts = sync(server)
        assert (counts["applied"], counts["skipped"]) == (len(good) + 1, len(bad) + 4)
        assert [server.call("QUOTA.GET", name)[0] for name in good] == [
            5 + i for i in range(len(good))]
        assert server.call("QUOTA.GET", "largest")[0] == 9007199254740991
        told = report(server)
        for tenant, why in (("null", "NULL"), ("negative", "less than 0: -1"),
                            ("fraction", "no whole number: 1.5"), ("large", "more than 2^53-1"),
                            ("two?words", "no tenant can have this name")):
            assert told[tenant][0] == "skipped" and why in told[tenant][3], told[tenant]
        for name in ("o'brien", "--", "/*", "\\", "Acme"):
            assert sync(server, "TENANT", name)["applied"] == 1


def test_the_timer_syncs_and_the_ledger_has_the_drift(engine, files):
    add_files(files, [("one", "acme", 100)])
    flags = ["--ledger", files.url, "--quota-sync-at", "every 200ms"]
    with Server(*flags, *engine, memory=not engine) as server:
        wait_until(lambda: server.call("QUOTA.GET", "acme")[0] == 100, "the first sync")
        add_files(files, [("two", "acme", 11)])
        wait_until(lambda: server.call("QUOTA.GET", "acme")[0] == 111, "another sync")
        rows = lambda: files.rows("SELECT before_value, after_value, cause FROM drift "  # noqa: E731
                                  "WHERE scope = 'acme' ORDER BY drift_id")
        wait_until(lambda: len(rows()) == 2, "the drift is written")
        assert [tuple(row) for row in rows()] == [(0, 100, "quota sync"), (100, 111, "quota sync")]


@pytest.mark.parametrize("engine", ["redis"], indirect=True)
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_servers_take_turns(engine, files, redis_server):
    add_files(files, [("one", "acme", 100)])
    with serve(engine, files) as one, serve(engine, files) as other:
        assert one.call("LOCK.TRY", "holdfast:quota-sync", "60s", "ID", "somebody")[0] == "somebody"
        for server in (one, other):
            code, message = refusal(server)
            assert code == "BUSY" and "another server syncs the quotas" in message
        one.call("LOCK.UNLOCK", "holdfast:quota-sync", "somebody")
        assert sync(one)["changed"] == 1 and sync(other)["changed"] == 0
        assert one.call("LOCK.GET", "holdfast:quota-sync") is None


def test_a_database_that_is_away_changes_nothing(redis_server, started):
    """One port that nobody listens on, and a file that is not there, which is not made."""
    sqlite = Database("sqlite", started("sqlite"), "nowhere")
    for url in ("postgres://u:secret@127.0.0.1:1/x", "mysql://u:secret@127.0.0.1:1/x", sqlite.url):
        with Server("--quota-sync-db", url, "--quota-sync-at", "never", memory=True) as server:
            server.call("QUOTA.LIMIT", "acme", 10)
            code, message = refusal(server)
            assert code == "LEDGER_DOWN" and "secret" not in message
            assert "secret" not in server.said()
    assert not started("sqlite").path("nowhere").exists()
