# SPDX-License-Identifier: Apache-2.0
"""A shop's own table, with other names and a trigger on it, in place of `inventory`."""

import pytest

from server import Server
from shop import buy, outcome
from test_ledger import TRIGGERS as REFUSING_EVE

TRIGGERS = {
    "sqlite": ["CREATE TRIGGER seen AFTER UPDATE ON items BEGIN INSERT INTO moves (sku, change) "
               "VALUES (NEW.sku, NEW.on_hand - OLD.on_hand); END"],
    "postgres": ["CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                 "INSERT INTO moves (sku, change) VALUES (NEW.sku, NEW.on_hand - OLD.on_hand); "
                 "RETURN NEW; END $$",
                 "CREATE TRIGGER seen AFTER UPDATE ON items FOR EACH ROW EXECUTE FUNCTION seen()"],
    "mariadb": ["CREATE TRIGGER seen AFTER UPDATE ON items FOR EACH ROW INSERT INTO moves "
                "(sku, `change`) VALUES (NEW.sku, NEW.on_hand - OLD.on_hand)"],
}


@pytest.fixture
def own(shop):
    name = "`change`" if shop.database.kind == "mariadb" else "change"
    shop.rows("CREATE TABLE items (sku VARCHAR(128) PRIMARY KEY, title VARCHAR(200) NOT NULL, "
              "on_hand INTEGER NOT NULL)")
    shop.rows(f"CREATE TABLE moves (sku VARCHAR(128), {name} INTEGER)")
    for line in TRIGGERS[shop.database.kind]:
        shop.rows(line)
    shop.rows("INSERT INTO items VALUES (?, ?, ?)", "sku-1", "A hat", 5)
    return shop


def test_it_is_sold_from(own):
    server = own.serve("--ledger-inventory", "items(sku, on_hand)")
    assert buy(server, "o-1", "ann", 2, "sku-1") == [1, 3, "SOLD"]
    assert own.value("SELECT on_hand FROM items WHERE sku = ?", "sku-1") == 3
    assert outcome(buy(server, "o-2", "ann", 4, "sku-1")) == "SOLD_OUT"
    assert server.call("STOCK.RETURN", "sku-1", "o-1")[:2] == [1, "RETURNED"]
    assert own.value("SELECT on_hand FROM items WHERE sku = ?", "sku-1") == 5
    assert [row[1] for row in own.rows("SELECT * FROM moves")] == [-2, 2]
    assert outcome(buy(server, "o-3", "ann", 1, "none")) == "PRODUCT_NOT_FOUND"


def test_a_trigger_that_refuses_one_buyer(own):
    """One row that the database does not take is that buyer's refusal; the others are served."""
    server = own.serve("--ledger-inventory", "items(sku, on_hand)")
    for line in REFUSING_EVE[own.database.kind]:
        own.rows(line)
    with server.connect() as connection:
        for order, user in (("o-1", "ann"), ("o-2", "eve"), ("o-3", "bob")):
            connection.send("STOCK.BUY", "sku-1", order, user, 1)
        answers = [connection.read() for _ in range(3)]
    assert outcome(answers[0]) == outcome(answers[2]) == "SOLD"
    assert outcome(answers[1]) not in ("SOLD", "SOLD_OUT") and "eve is not served" in str(answers[1])
    assert own.value("SELECT on_hand FROM items WHERE sku = ?", "sku-1") == 3


@pytest.mark.parametrize("setting", [
    "items", "items(sku)", "items(sku, on_hand); DROP TABLE items", "items(sku, on_hand)--",
    'items("sku", on_hand)', "items(sku, on hand)", "it'ems(sku, on_hand)", "a.b.c.d(sku, on_hand)", ""])
def test_what_is_no_table_is_refused(own, setting):
    with pytest.raises(AssertionError, match="not ready"):
        own.serve("--ledger-inventory", setting).close()
    assert own.value("SELECT on_hand FROM items WHERE sku = ?", "sku-1") == 5


@pytest.mark.parametrize("setting", ["goods(sku, on_hand)", "items(sku, stock)"])
def test_a_table_that_is_not_there_is_refused(own, setting):
    with pytest.raises(AssertionError, match="not ready"):
        own.serve("--ledger-inventory", setting).close()


def test_the_default_ledger_is_made_when_it_is_needed(tmp_path):
    with Server(directory=tmp_path / "data") as server:
        assert server.call("STOCK.LOAD", "hat", 3) == [1, 3]
        assert not (tmp_path / "data" / "ledger.db").exists()
        assert buy(server, "o-1", "ann", 1, "hat") == [1, 2, "SOLD"]
        assert (tmp_path / "data" / "ledger.db").stat().st_mode & 0o777 == 0o640
        assert server.call("STOCK.LOAD", "hat", 5) == [1, 4]
        server.restart("kill")
        assert outcome(buy(server, "o-1", "ann", 1, "hat")) == "SOLD"
        for number in range(2, 6):
            assert outcome(buy(server, f"o-{number}", "ann", 1, "hat")) == "SOLD"
        assert outcome(buy(server, "o-6", "ann", 1, "hat")) == "SOLD_OUT"


def test_without_a_ledger_it_says_which_flag_is_missing():
    with Server(memory=True) as server:
        server.call("STOCK.LOAD", "hat", 3)
        answer = buy(server, "o-1", "ann", 1, "hat")
        assert outcome(answer) == "LEDGER_DOWN"
        assert "--ledger" in str(answer)
