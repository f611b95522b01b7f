# SPDX-License-Identifier: Apache-2.0
"""What stock in shards may answer differently: on a cluster, `remaining` and `mode`.

`remaining` of TAKE, SETTLE and GIVE is what the engine has seen last of each shard. Whether
something is sold out, and all the figures of LOAD, ADJUST and GET, have to be exact.
"""

from model_stock import Stock
from model_values import Open


class Remaining(Open):
    """Some number of units, not more than were loaded."""

    def __init__(self, loaded):
        self.loaded = loaded

    def accept(self, got):
        return type(got) is int and 0 <= got <= self.loaded

    def __repr__(self):
        return f"<0..{self.loaded}>"


class Mode(Open):
    def accept(self, got):
        return got in ("single", "sharded", "merged")

    def __repr__(self):
        return "<mode>"


class Shards(Open):
    """One counter, or the main one and those of the shards; each is read at another moment."""

    def __init__(self, loaded):
        self.loaded = loaded

    def accept(self, got):
        if not isinstance(got, dict):
            return False
        shards = {item[1]: dict(zip(item[2::2], item[3::2])) for item in got["items"]}
        numbers = {str(i) for i in range(len(shards) - 1)}
        return set(shards) == {"main"} | numbers and all(
            type(shard[name]) is int and 0 <= shard[name] <= self.loaded
            for shard in shards.values() for name in ("available", "taken", "sold"))

    def __repr__(self):
        return f"<shards of {self.loaded}>"


class ShardedStock(Stock):
    SHARDS = (1, 2, 5, 16)  # each has to be asked by way of the network

    def __init__(self):
        super().__init__()
        self.sharded = set()  # products that were loaded in shards once

    def load(self, now, name, quantity, shards=1, **options):
        reply = super().load(now, name, quantity, shards, **options)
        if reply[0] == 1 and shards > 1:
            self.sharded.add(name)
        return reply

    def loosely(self, name, reply):
        if reply[0] == 1 and name in self.sharded:
            return [1, Remaining(self.products[name].loaded())]
        return reply

    def take(self, now, name, *order, **options):
        return self.loosely(name, super().take(now, name, *order, **options))

    def settle(self, now, name, *order, **options):
        return self.loosely(name, super().settle(now, name, *order, **options))

    def give(self, now, name, *order, **options):
        return self.loosely(name, super().give(now, name, *order, **options))

    def close(self, now, name):
        reply = super().close(now, name)
        if reply[0] == 1:
            self.sharded.discard(name)
        return reply

    def list_shards(self, now, name, **page):
        reply = super().list_shards(now, name, **page)
        if name in self.sharded and isinstance(reply, dict):
            return Shards(self.products[name].loaded())
        return reply

    def get(self, now, name):
        reply = super().get(now, name)
        if name in self.sharded and reply[0] != 0:
            reply[-1] = Mode()
        return reply
