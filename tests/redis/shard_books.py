# SPDX-License-Identifier: Apache-2.0
"""A product in shards as its keys have it: read in no way that the engine reads it, changed by one
script at a time, and set back to what it was."""

from harness import Build

KEYS = ("stock", "stock:totals", "stock:orders", "stock:due", "stock:users", "stock:names",
        "stock:outbox", "stock:inbox")
ALL = 2**53 - 1


def places(shards):
    return ["main", *map(str, range(shards))]


def keys_of(product, place):
    return [f"{key}:{{{product}_{place}}}" for key in KEYS]


def run_script(client, name, keys, *args):
    text = (Build().path / "lua" / f"{name}.lua").read_text()
    return client.eval(text, len(keys), *keys, *args)


# ---- the steps of a transfer


class Transfer:
    """Stock on its way from a place to another, step by step."""

    def __init__(self, client, product, source, target):
        self.client, self.source, self.target = client, source, target
        self.source_keys, self.target_keys = keys_of(product, source), keys_of(product, target)
        self.epoch = client.hget(keys_of(product, "main")[1], "epoch")
        self.total = self.quantity = self.arrived = None

    def send(self, least=ALL, most=ALL):
        sent = run_script(self.client, "send_stock", self.source_keys[:7], self.target, least, most,
                          self.epoch)
        assert sent[0] == 1
        self.total, self.quantity = sent[1], sent[2]

    def receive(self):
        keys = [*self.target_keys[:6], self.target_keys[7]]
        answer = run_script(self.client, "receive_stock", keys, self.source, self.total,
                            self.quantity, self.epoch)
        self.arrived = answer[2]
        return answer[0]

    def forget(self):
        return run_script(self.client, "forget_stock", self.source_keys[:7], self.target,
                          self.arrived, self.epoch)[0]


def keep_transfers_out(node, product):
    """Nothing arrives at the main counter: what is sent to it stays under way."""
    inbox = inbox_of(product)
    if node.exists(inbox):
        node.rename(inbox, aside(inbox))
    node.set(inbox, "no hash")


def let_transfers_in(node, product):
    inbox = inbox_of(product)
    if node.type(inbox) == b"string":
        node.delete(inbox)
    if node.exists(aside(inbox)):
        node.rename(aside(inbox), inbox)


def inbox_of(product):
    return keys_of(product, "main")[7]


def aside(key):
    return f"aside:{key}"


class Past:
    """One place as it was: what a failover makes of it whose replica had heard no more."""

    def __init__(self, client, product, place):
        self.client, self.keys = client, keys_of(product, place)
        self.dumps = [client.dump(key) for key in self.keys]

    def come_back(self):
        for key, dump in zip(self.keys, self.dumps):
            if dump is None:
                self.client.delete(key)
            else:
                self.client.restore(key, 0, dump, replace=True)


# ---- what is in Redis, place by place


class Books:
    """The sums over all places, and the orders."""

    def __init__(self, client, product, shards):
        self.sums = {"available": 0, "owed": 0, "taken": 0, "sold": 0, "loaded": 0, "transit": 0}
        self.orders = {}
        self.mode = None
        for place in places(shards):
            stock, totals, orders, _, _, _, outbox, _ = keys_of(product, place)
            totals = {k.decode(): v for k, v in client.hgetall(totals).items()}
            available = int(client.get(stock) or 0)
            assert available >= 0, place
            self.sums["available"] += available
            self.sums["owed"] += int(totals.get("owed", 0))
            self.sums["taken"] += int(totals.get("taken", 0))
            self.sums["sold"] += int(totals.get("sold", 0))
            self.sums["loaded"] += int(totals.get("loaded", 0)) + int(totals.get("adjusted", 0))
            self.sums["transit"] += self.sent(client, product, place, outbox)
            self.read_orders(client, orders)
            if place == "main":
                self.mode = totals["mode"].decode()

    def sent(self, client, product, place, outbox):
        """What has left this place and not arrived yet."""
        under_way = 0
        for target, entry in client.hgetall(outbox).items():
            total, quantity = map(int, entry.split())
            inbox = keys_of(product, target.decode())[7]
            under_way += quantity if total > int(client.hget(inbox, f"from {place}") or 0) else 0
        return under_way

    def read_orders(self, client, orders):
        for order, record in client.hgetall(orders).items():
            state, quantity = record.decode().split(" ")[:2]
            if state != "G":
                assert order not in self.orders, f"{order} was taken at two places"
                self.orders[order] = int(quantity)

    def assert_conserved(self):
        sums = self.sums
        parts = sums["available"] - sums["owed"] + sums["transit"] + sums["taken"] + sums["sold"]
        assert sums["loaded"] == parts, sums
        assert sum(self.orders.values()) == sums["taken"] + sums["sold"], sums
