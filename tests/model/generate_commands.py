# SPDX-License-Identifier: Apache-2.0
"""Commands for one scope of each family.

A workload owns the name of one scope and a few ids in it, so that its commands meet. It looks at
the model to aim: at what is live, at what just fits and what just does not.
"""

from generate_ids import EDGE_IDS, LARGEST, LONG_DURATIONS, MIDDLE_DURATIONS, SHORT_DURATIONS
from model_arguments import MAX_INTEGER, MAX_RESPONSE_BYTES
from model_values import known

CROWDED = 0.06  # the share of scopes with many ids, where lines and tables get long


class Dice:
    """Random choices, quicker than the standard library's."""

    def __init__(self, random):
        self.roll = random.random

    def chance(self, probability):
        return self.roll() < probability

    def pick(self, choices):
        return choices[int(self.roll() * len(choices))]

    def between(self, low, high):
        return low + int(self.roll() * (high - low + 1))

    def duration(self):
        roll = self.roll()
        if roll < 0.3:
            return self.pick(SHORT_DURATIONS)
        return self.pick(MIDDLE_DURATIONS if roll < 0.85 else LONG_DURATIONS)


class Workload:
    MIX = {}  # method name -> weight
    ADD = None  # the method that brings somebody in

    def __init__(self, dice, ids, model, name):
        self.dice = dice
        self.crowded = self.ADD is not None and dice.chance(CROWDED)
        self.scale = 20 if self.crowded else 1
        self.ids = ids
        self.model = model
        self.name = name
        self.key = name.decode("latin-1")  # what the model calls it
        self.makers = [getattr(self, maker) for maker, n in self.MIX.items() for _ in range(n)]

    def next(self, target):
        """One command. The target is an id to aim at, or None."""
        if self.crowded and self.dice.chance(0.5):
            return getattr(self, self.ADD)(target)
        return self.dice.pick(self.makers)(target)

    def pool(self, size):
        pool = [self.ids.fresh() for _ in range(size)]
        if self.dice.chance(0.3):
            pool[0] = self.dice.pick(EDGE_IDS)
        return pool

    def options(self, *options):
        """The options that are given, in any order, as one list of words."""
        given = [option for option in options if option]
        if len(given) > 1 and self.dice.chance(0.3):
            given.reverse()
        return [word for option in given for word in option]

    def page(self):
        """AFTER and COUNT of a list, which is walked to its end from the beginning."""
        count = self.dice.pick((b"1", b"2", b"7", b"1000")) if self.dice.chance(0.5) else None
        after = self.dice.pick((b"", b"", b"!")) if self.dice.chance(0.15) else None
        return self.options(
            count and [b"COUNT", count], None if after is None else [b"AFTER", after])

    def maybe_duration(self, keyword, probability):
        return [keyword, self.dice.duration()] if self.dice.chance(probability) else None

    def aim(self, target, live, pool, probability):
        """Mostly a live id, or the target; else any from the pool."""
        if target is not None and self.dice.chance(0.8):
            return target.encode("latin-1")
        if live and self.dice.chance(probability):
            return self.dice.pick(list(live)).encode("latin-1")
        return self.dice.pick(pool)


class SeatsWorkload(Workload):
    ADD = "reserve"
    MIX = {
        "open": 5, "reserve": 34, "confirm": 13, "release": 13, "refund": 7, "extend": 8, "get": 10,
        "zone": 6, "user": 6, "room": 8, "close": 2, "list": 4,
    }

    def __init__(self, *scope):
        super().__init__(*scope)
        self.zones = self.pool(3)
        self.users = self.pool(5)
        self.bookings = self.pool(14 * self.scale)
        self.shows = self.pool(2)
        self.payments = self.pool(3)

    def event(self):
        event = self.model.seats.events.get(self.key)
        if event:
            event.expire(self.model.now)
        return event

    def next(self, target):
        """First the zones, if there are none: nothing goes without."""
        event = self.event()
        if (event is None or len(event.capacity) < 2) and self.dice.chance(0.7):
            return self.open(None)
        return super().next(target)

    def open(self, target):
        dice, event = self.dice, self.event()
        zone = dice.pick(self.zones)
        roll = dice.roll()
        in_use = event.in_use(zone.decode("latin-1")) if event else 0
        if roll < 0.6:
            capacity = b"%d" % (dice.between(40, 300) * self.scale)
        elif roll < 0.75:
            capacity = b"%d" % (in_use + dice.pick((-1, 0, 1, 2, 10)))
        elif roll < 0.95:
            capacity = b"%d" % (in_use + dice.between(10, 60))
        else:
            capacity = dice.pick(LARGEST)
        return [
            b"SEATS.OPEN", self.name, zone, capacity,
            *self.options(
                [b"MAX", b"%d" % (dice.between(0, 30) * self.scale)] if dice.chance(0.4) else None,
                [b"LIFETIME"] if dice.chance(0.2) else None,
            ),
        ]

    def booking(self):
        """An id of the pool, which gets a new one now and then: confirmed ones are used up."""
        at = int(self.dice.roll() * len(self.bookings))
        event = self.event()
        used_up = event and self.bookings[at].decode("latin-1") in event.confirmed
        if self.dice.chance(0.7 if used_up else 0.03):
            self.bookings[at] = self.ids.fresh()
        return self.bookings[at]

    def reserve(self, target):
        dice, event = self.dice, self.event()
        zone, user = dice.pick(self.zones), dice.pick(self.users)
        booking = target.encode("latin-1") if target and dice.chance(0.6) else self.booking()
        quantity = dice.between(1, 4)
        limit = dice.between(20, 60) * self.scale
        roll = dice.roll()
        if event:
            zone_key, user_key = zone.decode("latin-1"), user.decode("latin-1")
            if roll < 0.05 and zone_key in event.capacity:
                quantity = max(1, event.available(zone_key) + dice.pick((-1, 0, 1)))
                limit = MAX_INTEGER
            elif roll < 0.35:
                limit = max(0, event.user_reserved(user_key) + quantity + dice.pick((-1, 0, 0, 1)))
            elif roll < 0.37:
                quantity = dice.between(5, 30)
        return [
            b"SEATS.RESERVE", self.name, zone, booking, user, b"%d" % quantity, b"%d" % limit,
            *self.options(
                [b"SHOW", dice.pick(self.shows)] if dice.chance(0.15) else None,
                [b"PRICE", b"%d" % dice.between(0, 2)] if dice.chance(0.15) else None,
                self.maybe_duration(b"TTL", 0.6),
                [b"LIFETIME"] if dice.chance(0.2) else None,
                self.maybe_pass(user),
            ),
        ]

    def maybe_pass(self, user):
        """Mostly the user's pass, where the event's waiting room has a gate."""
        room = self.model.rooms.room(self.key, self.model.now)
        if not self.dice.chance(0.9 if room.settings["gate"] else 0.02):
            return None
        own = room.passes.get(user.decode("latin-1"))
        if own is None or known(own.secret) is None or self.dice.chance(0.05):
            return [b"PASS", self.ids.fresh()]
        return [b"PASS", known(own.secret).encode("latin-1")]

    def room(self, target):
        """The event's waiting room gets a gate now and then, and lets the users in."""
        dice, room = self.dice, self.model.rooms.room(self.key, self.model.now)
        if dice.chance(0.3 if room.settings["gate"] else 0.1):
            gate = not room.settings["gate"]
            return [b"ROOM.OPEN", self.name, *self.options([b"GATE"] if gate else None)]
        if not room.settings["gate"]:
            return self.reserve(target)
        if room.line and dice.chance(0.6):
            return [b"ROOM.TICK", self.name]
        return [b"ROOM.JOIN", self.name, dice.pick(self.users)]

    def live_booking(self, target):
        event = self.event()
        return self.aim(target, event and event.reserved, self.bookings, 0.8)

    def owner(self, booking):
        """[USER, id] with mostly the right user, or nothing."""
        if self.dice.chance(0.5):
            return None
        event = self.event()
        found = event and event.find(booking.decode("latin-1"))
        if found and self.dice.chance(0.8):
            return [b"USER", found.user.encode("latin-1")]
        return [b"USER", self.dice.pick(self.users)]

    def confirm(self, target):
        booking = self.live_booking(target)
        payment = [b"PAYMENT", self.dice.pick(self.payments)] if self.dice.chance(0.5) else None
        options = self.options(self.owner(booking), payment)
        return [b"SEATS.CONFIRM", self.name, booking, *options]

    def release(self, target):
        booking = self.live_booking(target)
        return [b"SEATS.RELEASE", self.name, booking, *self.options(self.owner(booking))]

    def refund(self, target):
        event = self.event()
        booking = self.aim(target, event and event.confirmed, self.bookings, 0.8)
        return [b"SEATS.REFUND", self.name, booking, *self.options(self.owner(booking))]

    def extend(self, target):
        return [b"SEATS.EXTEND", self.name, self.live_booking(target), self.dice.duration()]

    def get(self, target):
        event = self.event()
        if event and event.confirmed and self.dice.chance(0.3):
            booking = self.dice.pick(list(event.confirmed)).encode("latin-1")
            return [b"SEATS.GET", self.name, booking]
        return [b"SEATS.GET", self.name, self.live_booking(target)]

    def list(self, target):
        dice = self.dice
        return [
            b"SEATS.LIST", self.name,
            *self.options(
                [b"ZONE", dice.pick(self.zones)] if dice.chance(0.3) else None,
                [b"USER", dice.pick(self.users)] if dice.chance(0.3) else None,
                [b"STATUS", dice.pick((b"any", b"reserved", b"confirmed", b"released"))]
                if dice.chance(0.4) else None,
                [b"AFTER", b"!"] if dice.chance(0.05) else None,
                [b"COUNT", b"%d" % dice.pick((0, 1, 2, 7, 1000))] if dice.chance(0.6) else None,
            ),
        ]

    def zone(self, target):
        return [b"SEATS.ZONE", self.name, self.dice.pick(self.zones)]

    def user(self, target):
        return [b"SEATS.USER", self.name, self.dice.pick(self.users)]

    def close(self, target):
        """Mostly while something is reserved; then the reservations are ended one by one."""
        event = self.event()
        if event and event.reserved and self.dice.chance(0.7):
            return [b"SEATS.RELEASE", self.name, next(iter(event.reserved)).encode("latin-1")]
        return [b"SEATS.CLOSE", self.name, *([b"FORCE"] if self.dice.chance(0.6) else [])]


class QuotaWorkload(Workload):
    ADD = "reserve"
    MIX = {
        "limit": 8, "reserve": 38, "refund": 10, "commit": 14, "cancel": 14, "extend": 10,
        "sync": 12, "mark": 2, "get": 10, "list": 5, "close": 3,
    }

    def __init__(self, *scope):
        super().__init__(*scope)
        self.holds = self.pool(8 * self.scale)

    def tenant(self):
        tenant = self.model.quota.tenants.get(self.key)
        if tenant:
            tenant.expire(self.model.now)
        return tenant

    def next(self, target):
        tenant = self.tenant()
        if tenant is None and self.dice.chance(0.7):
            return self.limit(None)
        if tenant and not tenant.holds and self.dice.chance(0.5):
            return self.reserve(target)
        return super().next(target)

    def limit(self, target):
        dice, tenant = self.dice, self.tenant()
        roll = dice.roll()
        limit = dice.between(50, 500) * self.scale
        if tenant and roll < 0.3:
            limit = max(0, tenant.used() + dice.pick((-1, 0, 1, 20)))
        elif roll < 0.33:
            limit = MAX_INTEGER
        return [b"QUOTA.LIMIT", self.name, b"%d" % min(limit, MAX_INTEGER)]

    def reserve(self, target):
        dice, tenant = self.dice, self.tenant()
        amount = dice.between(1, 20)
        if tenant and dice.chance(0.1):
            amount = max(1, tenant.limit - tenant.used() + dice.pick((0, 0, 1)))
        command = [b"QUOTA.RESERVE", self.name, b"%d" % amount]
        if dice.chance(0.7):
            hold = target.encode("latin-1") if target else dice.pick(self.holds)
            if dice.chance(0.05):
                self.holds[int(dice.roll() * len(self.holds))] = self.ids.fresh()
            return command + self.options([b"HOLD", hold], self.maybe_duration(b"TTL", 0.6))
        return command + self.options(self.maybe_duration(b"TTL", 0.03))

    def refund(self, target):
        return [b"QUOTA.REFUND", self.name, b"%d" % self.dice.between(1, 60)]

    def live_hold(self, target):
        tenant = self.tenant()
        return self.aim(target, tenant and tenant.holds, self.holds, 0.7)

    def commit(self, target):
        dice, tenant, hold = self.dice, self.tenant(), self.live_hold(target)
        amount = None
        if dice.chance(0.5):
            amount = [b"AMOUNT", b"%d" % self.really_used(tenant, hold.decode("latin-1"))]
        return [b"QUOTA.COMMIT", self.name, hold, *self.options(amount)]

    def really_used(self, tenant, hold):
        """Less than is held, all of it, or about as much as the limit allows."""
        dice, held = self.dice, tenant and tenant.holds.get(hold)
        if held is None or dice.chance(0.2):
            return dice.between(0, 20)
        if dice.chance(0.5):
            return dice.between(0, held.amount)
        return max(0, tenant.limit - tenant.used() + held.amount + dice.pick((-1, 0, 0, 1, 1)))

    def cancel(self, target):
        return [b"QUOTA.CANCEL", self.name, self.live_hold(target)]

    def extend(self, target):
        return [b"QUOTA.EXTEND", self.name, self.live_hold(target), self.dice.duration()]

    def list(self, target):
        return [b"QUOTA.LIST", self.name, *self.page()]

    def close(self, target):
        """Mostly while something is on hold; then the holds are ended one by one."""
        tenant = self.tenant()
        if tenant and tenant.holds and self.dice.chance(0.8):
            return [b"QUOTA.CANCEL", self.name, next(iter(tenant.holds)).encode("latin-1")]
        return [b"QUOTA.CLOSE", self.name]

    def sync(self, target):
        dice, tenant = self.dice, self.tenant()
        actual = dice.between(0, 100)
        if tenant and dice.chance(0.06):
            actual = min(MAX_INTEGER, MAX_INTEGER - tenant.held() + dice.pick((0, 1)))
        since = None
        if dice.chance(0.6):
            before = dice.pick((-1, 0, 0, 1, 10, 100, 1000, 10_000, 60_000, 86_400_000, 86_400_001))
            since = [b"SINCE", b"%d" % max(0, self.model.now - before)]
        if tenant and tenant.commits and dice.chance(0.6):
            since = [b"SINCE", b"%d" % (dice.pick(tenant.commits)[0] + dice.pick((0, 0, 1)))]
        return [b"QUOTA.SYNC", self.name, b"%d" % actual, *self.options(since)]

    def mark(self, target):
        return [b"QUOTA.MARK", self.name]

    def get(self, target):
        return [b"QUOTA.GET", self.name]


class LockWorkload(Workload):
    MIX = {"take": 40, "unlock": 25, "extend": 18, "get": 17}

    def __init__(self, *scope):
        super().__init__(*scope)
        self.lock_ids = self.pool(4)

    def next(self, target):
        if not self.model.locks.held(self.key, self.model.now) and self.dice.chance(0.6):
            return self.take(target)
        return super().next(target)

    def lock_id(self):
        """Mostly the one that holds, if it is known already."""
        held = self.model.locks.held(self.key, self.model.now)
        lock_id = known(held.lock_id) if held else None
        if lock_id is not None and self.dice.chance(0.75):
            return lock_id.encode("latin-1")
        return self.dice.pick(self.lock_ids)

    def take(self, target):
        command = [b"LOCK.TRY", self.name, self.dice.duration()]
        return command + [b"ID", self.lock_id()] if self.dice.chance(0.8) else command

    def unlock(self, target):
        lock_id = self.lock_id()
        if self.dice.chance(0.1):
            self.lock_ids[int(self.dice.roll() * len(self.lock_ids))] = lock_id
        return [b"LOCK.UNLOCK", self.name, lock_id]

    def extend(self, target):
        return [b"LOCK.EXTEND", self.name, self.lock_id(), self.dice.duration()]

    def get(self, target):
        return [b"LOCK.GET", self.name]


class StockWorkload(Workload):
    ADD = "take"
    MIX = {
        "load": 9, "take": 40, "extend": 10, "settle": 15, "give": 16, "get": 10, "adjust": 10,
        "list": 5, "shards": 2, "close": 2,
    }

    def __init__(self, *scope):
        super().__init__(*scope)
        self.orders = self.pool(10 * self.scale)
        self.users = self.pool(3)
        self.limits = self.dice.chance(0.6)  # whether any TAKE of this product has MAX

    def product(self):
        return self.model.stock.product(self.key, self.model.now)

    def next(self, target):
        if self.product() is None and self.dice.chance(0.7):
            return self.load(None)
        return super().next(target)

    def load(self, target):
        dice, product = self.dice, self.product()
        quantity = dice.between(20, 300) * self.scale
        roll = dice.roll()
        if product:
            in_use = product.taken() + product.sold - product.adjusted
            if roll < 0.25:
                quantity = max(0, in_use + dice.pick((-1, 0, 1)))
            elif roll < 0.5:
                quantity = max(0, in_use + dice.between(0, 30))
            elif roll < 0.55:
                quantity = min(MAX_INTEGER, MAX_INTEGER - product.adjusted + dice.pick((0, 1)))
        return [
            b"STOCK.LOAD", self.name, b"%d" % quantity,
            *self.options(
                [b"SHARDS", b"%d" % dice.pick(self.model.stock.SHARDS)] if roll > 0.7 else None,
                [b"WATERMARK", dice.pick((b"0", b"5"))] if dice.chance(0.2) else None,
                [b"POLICY", dice.pick((b"merge", b"steal"))] if dice.chance(0.2) else None,
            ),
        ]

    def take(self, target):
        dice, product = self.dice, self.product()
        at = int(dice.roll() * len(self.orders))
        if dice.chance(0.1):
            self.orders[at] = self.ids.fresh()
        order = target.encode("latin-1") if target else self.orders[at]
        quantity = dice.between(1, 4)
        if product and dice.chance(0.04):
            quantity = max(1, product.available() + dice.pick((-1, 0, 1)))
        user = dice.pick(self.users)
        most = 0
        if self.limits and product and dice.chance(0.4):
            has = product.of_user(user.decode("latin-1"))
            most = max(0, has + quantity + dice.pick((-1, 0, 1, 3)))
        return [
            b"STOCK.TAKE", self.name, order, user, b"%d" % quantity,
            *self.options(
                self.maybe_duration(b"TTL", 0.5),
                [b"MAX", b"%d" % min(most, MAX_INTEGER)] if most else None,
            ),
        ]

    def live_order(self, target):
        product = self.product()
        return self.aim(target, product and product.orders, self.orders, 0.75)

    def user_option(self, order):
        """Now and then the user of the order, or another one."""
        if not self.dice.chance(0.4):
            return []
        product = self.product()
        known = product and product.orders.get(order.decode("latin-1"))
        if known and self.dice.chance(0.7):
            return [b"USER", known.user.encode("latin-1")]
        return [b"USER", self.dice.pick(self.users)]

    def extend(self, target):
        order = self.live_order(target)
        return [
            b"STOCK.EXTEND", self.name, order, self.dice.duration(), *self.user_option(order)
        ]

    def settle(self, target):
        order = self.live_order(target)
        return [b"STOCK.SETTLE", self.name, order, *self.user_option(order)]

    def give(self, target):
        order = self.live_order(target)
        return [b"STOCK.GIVE", self.name, order, *self.user_option(order)]

    def list(self, target):
        return [b"STOCK.LIST", self.name, *self.page()]

    def shards(self, target):
        return [b"STOCK.SHARDS", self.name, *self.page()]

    def close(self, target):
        return [b"STOCK.CLOSE", self.name]

    def get(self, target):
        return [b"STOCK.GET", self.name]

    def adjust(self, target):
        dice, product = self.dice, self.product()
        delta = dice.between(-20, 60)
        roll = dice.roll()
        if product and roll < 0.1:
            delta = dice.pick((-1, 0, 1)) - product.available()
        elif product and roll < 0.13:
            delta = min(MAX_INTEGER, MAX_INTEGER - product.loaded() + dice.pick((0, 1)))
        reason = dice.pick((b"recount", b"damaged in store", "Zählung".encode(), b"x" * 256))
        return [b"STOCK.ADJUST", self.name, b"%d" % delta, reason]


class IdempotencyWorkload(Workload):
    MIX = {"begin": 60, "complete": 26, "abort": 14}

    def __init__(self, *scope):
        super().__init__(*scope)
        self.fingerprints = self.pool(2)
        self.responses = [b"", b"ok", bytes(range(256)), b'{"status":201}', "gültig".encode()]

    def next(self, target):
        if target is None and self.dice.chance(0.12):
            self.name = self.ids.fresh()  # each key is a scope of its own, and soon used up
            self.key = self.name.decode("latin-1")
        if self.model.idempotency.entry(self.key, self.model.now) is None and self.dice.chance(0.7):
            return self.begin(target)
        return super().next(target)

    def begin(self, target):
        fingerprint = self.fingerprints[0 if self.dice.chance(0.8) else 1]
        options = self.options(self.maybe_duration(b"TTL", 0.5))
        return [b"IDEM.BEGIN", self.name, fingerprint, *options]

    def complete(self, target):
        dice = self.dice
        response = dice.pick(self.responses[: 2 if dice.chance(0.8) else None])
        if dice.chance(0.0005):
            response = b"r" * (MAX_RESPONSE_BYTES + dice.pick((0, 1)))
        options = self.options(self.maybe_duration(b"TTL", 0.7))
        return [b"IDEM.COMPLETE", self.name, response, *options]

    def abort(self, target):
        return [b"IDEM.ABORT", self.name]
