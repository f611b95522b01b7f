# SPDX-License-Identifier: Apache-2.0
"""Stock: a product's units, taken for a while, then sold or given back."""

from model_arguments import (
    COUNT, CURSOR, DELTA, ID, MAX_INTEGER, PAGE_COUNT, POLICY, POSITIVE_COUNT, REASON, SHARDS, TTL,
    Command,
)
from model_closed import ClosedHolds
from model_values import listed

DEFAULT_TTL_MS = 900_000
MAX_EXTENSION = 12  # first TTLs


class Order:
    def __init__(self, user, quantity, ttl, now):
        self.user = user
        self.quantity = quantity
        self.ttl = ttl
        self.started_at = now
        self.expires_at = now + ttl
        self.settled = False  # how it was closed, once it is

    def terms(self):
        return (self.user, self.quantity, self.ttl)


class Product:
    def __init__(self):
        self.last_load = 0
        self.adjusted = 0
        self.sold = 0
        self.orders = {}  # order id -> Order: what is taken
        self.shards = 1
        self.bought = {}  # user -> units that are sold

    def expire(self, now):
        for order_id in [i for i, order in self.orders.items() if order.expires_at <= now]:
            del self.orders[order_id]

    def loaded(self):
        return self.last_load + self.adjusted

    def taken(self):
        return sum([order.quantity for order in self.orders.values()])

    def of_user(self, user):
        taken = sum([order.quantity for order in self.orders.values() if order.user == user])
        return taken + self.bought.get(user, 0)

    def available(self):
        return self.loaded() - self.taken() - self.sold


class Stock:
    SHARDS = (1, 2, 16, 1024)  # numbers worth trying

    def __init__(self):
        self.products = {}
        self.closed = ClosedHolds()

    def commands(self):
        return {
            b"STOCK.LOAD": Command(
                self.load, (ID, COUNT), shards=SHARDS, watermark=COUNT, policy=POLICY
            ),
            b"STOCK.TAKE": Command(
                self.take, (ID, ID, ID, POSITIVE_COUNT), ttl=TTL, max=POSITIVE_COUNT
            ),
            b"STOCK.EXTEND": Command(self.extend, (ID, ID, TTL), user=ID),
            b"STOCK.SETTLE": Command(self.settle, (ID, ID), user=ID),
            b"STOCK.GIVE": Command(self.give, (ID, ID), user=ID),
            b"STOCK.LIST": Command(self.list, (ID,), after=CURSOR, count=PAGE_COUNT),
            b"STOCK.SHARDS": Command(self.list_shards, (ID,), after=CURSOR, count=PAGE_COUNT),
            b"STOCK.CLOSE": Command(self.close, (ID,)),
            b"STOCK.GET": Command(self.get, (ID,)),
            b"STOCK.ADJUST": Command(self.adjust, (ID, DELTA, REASON)),
        }

    def product(self, name, now):
        product = self.products.get(name)
        if product is not None:
            product.expire(now)
        return product

    # Watermark and policy are accepted; on one counter they do nothing and no reply shows them.
    def load(self, now, name, quantity, shards=1, watermark=0, policy="merge"):
        product = self.product(name, now) or Product()
        if quantity + product.adjusted > MAX_INTEGER:
            return [0, "INVALID_QUANTITY"]
        if product.available() + quantity - product.last_load < 0:
            return [0, "CAPACITY_IN_USE"]
        self.products[name] = product
        product.last_load = quantity
        product.shards = shards
        return [1, product.available()]

    def take(self, now, name, order_id, user, quantity, ttl=DEFAULT_TTL_MS, max=MAX_INTEGER):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        wanted = Order(user, quantity, ttl, now)
        existing = product.orders.get(order_id) or self.closed.find(now, name, order_id)
        if existing and (order_id in product.orders or existing.settled):
            if existing.terms() != wanted.terms():
                return [0, "INVALID_STATE"]
            return [1, product.available()]
        if quantity > product.available():
            return [0, "SOLD_OUT"]
        if product.of_user(user) + quantity > max:
            return [0, "USER_LIMIT_EXCEEDED"]
        product.orders[order_id] = wanted
        self.closed.forget(name, order_id)
        return [1, product.available()]

    def extend(self, now, name, order_id, ttl, user=None):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        order = product.orders.get(order_id)
        known = order or self.closed.find(now, name, order_id)
        if known is None or not (order or known.settled):
            return [0, "NOT_FOUND"]
        if user not in (None, known.user):
            return [0, "NOT_OWNER"]
        if order is None:
            return [0, "INVALID_STATE"]
        latest = order.started_at + MAX_EXTENSION * order.ttl
        order.expires_at = max(order.expires_at, min(now + ttl, latest))
        return [1, order.expires_at]

    def settle(self, now, name, order_id, user=None):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        order = product.orders.get(order_id)
        known = order or self.closed.find(now, name, order_id)
        if known is None or not (order or known.settled):
            return [0, "NOT_FOUND"]
        if user not in (None, known.user):
            return [0, "NOT_OWNER"]
        if order:
            order.settled = True
            product.sold += order.quantity
            product.bought[order.user] = product.bought.get(order.user, 0) + order.quantity
            self.closed.remember(now, name, order_id, product.orders.pop(order_id))
        return [1, product.available()]

    def give(self, now, name, order_id, user=None):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        order = product.orders.get(order_id)
        known = order or self.closed.find(now, name, order_id)
        if known is None:
            return [0, "NOT_FOUND"]
        if user not in (None, known.user):
            return [0, "NOT_OWNER"]
        if order:
            self.closed.remember(now, name, order_id, product.orders.pop(order_id))
        return [0, "INVALID_STATE"] if known.settled else [1, product.available()]

    def list(self, now, name, after=None, count=None):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        if after not in (None, ""):
            return [0, "INVALID_ARGUMENT"]
        return listed([
            ["order_id", order_id, "user_id", order.user, "quantity", order.quantity,
             "created_at", order.started_at, "expires_at", order.expires_at, "status", "taken"]
            for order_id, order in product.orders.items()])

    def list_shards(self, now, name, after=None, count=None):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        if after not in (None, ""):
            return [0, "INVALID_ARGUMENT"]
        return listed([["shard", "main", "available", product.available(), "taken", product.taken(),
                        "sold", product.sold, "node", ""]])

    def close(self, now, name):
        product = self.product(name, now)
        if product is None:
            return [1, 0, 0]
        if product.orders:
            return [0, "INVALID_STATE"]
        del self.products[name]
        self.closed.forget_scope(name)
        return [1, product.sold, product.available()]

    def get(self, now, name):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        return [
            "available", product.available(),
            "taken", product.taken(),
            "sold", product.sold,
            "loaded", product.loaded(),
            "shards", product.shards,
            "mode", "single",
        ]

    def adjust(self, now, name, delta, reason):
        product = self.product(name, now)
        if product is None:
            return [0, "PRODUCT_NOT_FOUND"]
        if product.available() + delta < 0:
            return [0, "CAPACITY_IN_USE"]
        if product.loaded() + delta > MAX_INTEGER:
            return [0, "INVALID_QUANTITY"]
        product.adjusted += delta
        return [1, product.available()]

    def deadlines(self, now, name):
        product = self.product(name, now)
        if product is None:
            return []
        due = [(order.expires_at, order_id) for order_id, order in product.orders.items()]
        return due + self.closed.deadlines(now, name)
