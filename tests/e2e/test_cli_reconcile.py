# SPDX-License-Identifier: Apache-2.0
"""holdfast reconcile, holdfast audit --ledger and holdfast call --ledger, against a server with the
ledger of its data directory, and in the program's own process."""

import re
import sqlite3

import pytest

from server import Server

DONE, DIFFERS, USAGE, UNAVAILABLE = 0, 1, 2, 69


@pytest.fixture(scope="module")
def server():
    """It compares engine and ledger only when it is told to."""
    with Server("--reconcile-every", "0") as one:
        yield one


@pytest.fixture
def product(server, request):
    """One with 10 in stock, of which 4 are sold."""
    name = request.node.name
    assert server.call("STOCK.LOAD", name, 10) == [1, 10]
    assert server.call("STOCK.BUY", name, name + "-1", "ann", 4) == [1, 6, "SOLD"]
    return name


def change(server, statement, *values):
    """Does something to the ledger behind the server's back."""
    database = sqlite3.connect(server.directory / "ledger.db", timeout=10)
    with database:
        assert database.execute(statement, values).rowcount == 1
    database.close()


def figures(ended):
    """{"products": 1, "drift": 3}"""
    return {name: int(value) for name, value in re.findall(r"(?m)^  (\w+) +(\d+)\b", ended.out)}


def test_what_agrees_is_left_alone(holdfast, server, product):
    for words, what in (([], "corrected"), (["--dry-run"], "differ")):
        ended = holdfast("reconcile", product, "--url", server.url, *words)
        assert (ended.code, ended.err) == (DONE, "")
        assert figures(ended) == {"products": 1, what: 0, "drift": 0}
    ended = holdfast("reconcile", "--url", server.url)
    assert ended.code == DONE and figures(ended)["products"] >= 1


def test_a_difference_is_told_of_and_corrected(holdfast, server, product):
    change(server, "UPDATE inventory SET stock = stock - 3 WHERE product_id = ?", product)
    ended = holdfast("reconcile", "--dry-run", product, "--url", server.url)
    assert ended.code == DIFFERS and figures(ended) == {"products": 1, "differ": 1, "drift": 3}
    ended = holdfast("audit", "--ledger", server.url)
    assert ended.code == DIFFERS and figures(ended)["findings"] == 1
    assert server.call("STOCK.GET", product)[:2] == ["available", 6]
    ended = holdfast("reconcile", product, "--url", server.url)
    assert ended.code == DONE and figures(ended) == {"products": 1, "corrected": 1, "drift": 3}
    assert server.call("STOCK.GET", product)[:2] == ["available", 3]
    ended = holdfast("audit", server.url, "--ledger")
    assert (ended.code, ended.err) == (DONE, "") and figures(ended)["findings"] == 0


def test_an_audit_looks_through_the_ledger(holdfast, server, product):
    assert server.call("STOCK.RETURN", product, product + "-1") == [1, "RETURNED", 10]
    assert holdfast("audit", server.url).code == DONE
    change(server, "DELETE FROM barriers WHERE scope = ?", product)
    ended = holdfast("audit", server.url)
    assert ended.code == DIFFERS and figures(ended)["findings"] == 1
    assert f"  product {product}, order {product}-1: returned without a barrier\n" in ended.out
    change(server, "DELETE FROM orders WHERE product_id = ?", product)
    assert holdfast("audit", server.url).code == DONE


def test_an_unknown_product(holdfast, server, product):
    ended = holdfast("reconcile", "nobody-has-it", "--url", server.url)
    assert (ended.code, ended.out) == (1, "") and "nobody-has-it" in ended.err


def test_without_a_ledger(holdfast):
    with Server(memory=True) as server:
        for words in (["reconcile", "--url"], ["audit", "--ledger"]):
            ended = holdfast(*words, server.url)
            assert ended.code == UNAVAILABLE and "--ledger" in ended.err
        assert holdfast("audit", server.url).code == DONE


def test_in_this_process(holdfast, tmp_path):
    where = ["--engine", f"embedded:{tmp_path}/data", "--ledger", f"sqlite:{tmp_path}/shop.db"]
    for line, said in ((["STOCK.LOAD", "sneaker", "2"], '{"available":2}\n'),
                       (["STOCK.BUY", "sneaker", "o-1", "ann", "1"],
                        '{"remaining":1,"status":"SOLD"}\n')):
        ended = holdfast("call", *where, "--json", *line)
        assert (ended.code, ended.out, ended.err) == (DONE, said, "")
    assert (tmp_path / "shop.db").exists() and not (tmp_path / "data" / "ledger.db").exists()
    ended = holdfast("reconcile", *where)
    assert (ended.code, figures(ended)) == (DONE, {"products": 1, "corrected": 0, "drift": 0})


@pytest.mark.parametrize("words, about", [
    (["reconcile", "a", "b"], "'b'"),
    (["reconcile", "--dry-runn"], "did you mean --dry-run?"),
    (["reconcile", "--ledger", "sqlite:x"], "a ledger of its own"),
    (["reconcile", "--engine", "embedded:", "--ledger", "oracle:x"], "oracle"),
    (["call", "--engine", "embedded:", "--ledger", "oracle:x", "LIST", "keys"], "oracle"),
    (["audit", "--ledger", "."], "holdfast reconcile --dry-run"),
    (["audit", "--ledgr"], "did you mean --ledger?"),
], ids=" ".join)
def test_what_is_not_understood(holdfast, words, about):
    ended = holdfast(*words)
    assert (ended.code, ended.out) == (USAGE, "") and about in ended.err
