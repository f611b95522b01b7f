# SPDX-License-Identifier: Apache-2.0
"""Raw HTTP requests, byte by byte, each with the rule that says what becomes of it: the tables are in
raw_http_*.py. One server tries them all; after each, what was not to change has not changed."""

import pytest

import raw_http_bodies
import raw_http_framing
import raw_http_heads
import raw_http_users
from http_parts import users
from raw_client import Client
from raw_http import CHANGED, ENDED, LIMIT, try_case
from server import Server

TABLES = {**raw_http_framing.TABLES, **raw_http_heads.TABLES, **raw_http_bodies.TABLES}
LEAST = 850  # cases in all; none is to be lost by and by


@pytest.fixture(scope="module")
def server():
    with Server("--payment-url", "test:", memory=True) as one:
        yield one


@pytest.fixture(scope="module")
def guarded(users):
    path, tokens = users
    with Server("--auth-file", path, memory=True) as one:
        yield one, tokens


def all_as_told(table, server, probe):
    """Tries every case; the list of those that went another way."""
    wrong = []
    assert probe.call("QUOTA.LIMIT", "raw", 0)
    for number, case in enumerate(table):
        problem = try_case(case, server.http_port)
        limit = probe.call("QUOTA.GET", "raw")[1]
        if problem is None and limit != (LIMIT if case.then in (CHANGED, ENDED) else 0):
            problem = f"the limit is {limit}"
        if limit != 0:
            probe.call("QUOTA.LIMIT", "raw", 0)
        if problem is not None:
            wrong.append(f"{number}. {case.rule}: {problem}: {case.data[:300]!r}")
    return wrong


@pytest.mark.parametrize("name", TABLES)
def test_the_rule_of_each_request_holds(server, name):
    with Client(server.resp_port) as probe:
        wrong = all_as_told(TABLES[name], server, probe)
    assert not wrong, "\n".join(wrong)
    assert server.process.poll() is None


@pytest.mark.parametrize("name", raw_http_users.TABLES)
def test_the_rule_of_each_request_to_a_server_with_users_holds(guarded, name):
    server, tokens = guarded
    table = raw_http_users.TABLES[name](tokens)
    with Client(server.resp_port) as probe:
        assert probe.call("AUTH", tokens["chief"]) == "OK"
        wrong = all_as_told(table, server, probe)
    assert not wrong, "\n".join(wrong)


def test_each_case_has_its_rule_and_none_was_lost():
    names = {who: f"token of {who}" for who in ("reader", "writer", "chief")}
    several = [TABLES.values(), [table(names) for table in raw_http_users.TABLES.values()]]
    count = 0
    for tables in several:
        every = [case for table in tables for case in table]
        assert all(case.rule.startswith(("RFC ", "SPEC ")) for case in every)
        data = [case.data for case in every]
        assert not [one for one in set(data) if data.count(one) > 1]
        count += len(every)
    assert count >= LEAST
