# SPDX-License-Identifier: Apache-2.0
"""The connection to the database is cut while a COMMIT is in flight: whether it happened is found out
by the order's id, and the buyer gets the one answer."""

import pytest

from proxy import Proxy
from server import wait_until
from shop import PRODUCT, Rush, buy, outcome


class CommitCutter(Proxy):
    """Cuts the connection over which the next COMMIT of a sale goes: before it arrives, or behind it
    and before its answer."""

    def __init__(self, target_port):
        super().__init__(target_port)
        self.cuts = 0
        self.mode = None
        self.waiting = set()

    def cut(self, mode):
        self.mode = mode

    def _pump(self, link, source, sink):
        if source is link.client:
            super()._pump(link, _Watched(self, link, source), sink)
        else:
            super()._pump(link, _Answers(self, link, source), sink)


class _Watched:
    """The client's side: what it sends is looked at."""

    def __init__(self, proxy, link, end):
        self.proxy, self.link, self.end = proxy, link, end

    def recv(self, size):
        data = self.end.recv(size)
        proxy = self.proxy
        if proxy.mode and b"COMMIT" in data.upper() and b"sneaker" in data + b"sneaker":
            mode, proxy.mode = proxy.mode, None
            proxy.cuts += 1
            if mode == "before":
                raise OSError("cut before the COMMIT arrives")
            proxy.waiting.add(self.link)
        return data


class _Answers:
    """The database's side: its answer to that COMMIT is swallowed."""

    def __init__(self, proxy, link, end):
        self.proxy, self.link, self.end = proxy, link, end

    def recv(self, size):
        data = self.end.recv(size)
        if self.link in self.proxy.waiting:
            raise OSError("cut behind the COMMIT")
        return data


@pytest.mark.parametrize("mode", ["before", "behind"])
def test_the_outcome_is_found_out(served_shop, mode):
    shop = served_shop
    with CommitCutter(shop.database.server.port) as proxy:
        server = shop.serve(ledger=shop.database.url_by(proxy.port))
        server.call("STOCK.LOAD", PRODUCT, 1000)
        for number in range(3):
            proxy.cut(mode)
            order = f"o-{number}"
            answer = wait_until(lambda: settled(server, order), order)
            assert answer == "SOLD"
            assert shop.sold() == number + 1 and shop.stock() == 999 - number
        assert proxy.cuts == 3
        shop.wait_agreed(server)


def settled(server, order):
    found = outcome(buy(server, order))
    return found if found not in ("TIMEOUT", "LEDGER_DOWN") else None


def test_many_orders_at_once(served_shop):
    shop = served_shop
    with CommitCutter(shop.database.server.port) as proxy:
        server = shop.serve(ledger=shop.database.url_by(proxy.port))
        server.call("STOCK.LOAD", PRODUCT, 100_000)
        rush = Rush(server, buyers=16)
        with rush.going():
            for number in range(6):
                sold = rush.count("SOLD")
                wait_until(lambda: rush.count("SOLD") > sold + 50, "the rush is on")
                proxy.cut("before" if number % 2 else "behind")
                wait_until(lambda: proxy.cuts == number + 1, "cut")
        for order in rush.orders("TIMEOUT", "LEDGER_DOWN"):
            rush.outcomes[order] = wait_until(lambda: settled(server, order), order)
        assert rush.seen() == {"SOLD"}
        assert shop.sold() == rush.count("SOLD") and shop.stock() == 100_000 - shop.sold()
        shop.wait_agreed(server)
