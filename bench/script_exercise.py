# SPDX-License-Identifier: Apache-2.0
"""The load under which bench/script_times.py times the scripts: each is called often, also where a
call meets as much to do as one call ever does: 100 holds that fell due, 100 to admit, slots for 100
who stand in line.

What is to fall due gets its time set to long ago in the sorted sets of the deadlines: the scripts
see what they would see after nobody called for a while."""

import itertools
import time

from peers import Error, wait_until

HEAP = 100             # more than one call gives back or hands out
LONG_AGO = 1000        # a time after the epoch, in ms or s
WAITERS = 20           # ACQUIREs that wait, on a connection each
WAIT_MS = 200
SEM = "adv-sem:semaphore_"
BODY = "x" * 4096      # a response that is kept


class Exercise:
    """Calls every script through a server, often and in its worst case. `times`: how often that."""

    def __init__(self, server, redis, times):
        self.server, self.redis, self.times = server, redis, times
        self.connection = server.connect()
        self.numbers = itertools.count(1)

    def id(self, kind="i"):
        return f"{kind}-{next(self.numbers)}"

    def ids(self, count=HEAP):
        return [self.id() for _ in range(count)]

    def calls(self, *commands):
        """Sends all of them, then reads the answers."""
        for command in commands:
            self.connection.send(*command)
        answers = [self.connection.read() for _ in commands]
        for command, answer in zip(commands, answers):
            assert not isinstance(answer, Error), (command, answer)
            assert not (isinstance(answer, list) and answer[1:2] in (["TIMEOUT"], ["BUSY"])), (
                command, answer)
        return answers

    def set_due(self, key, members, since=LONG_AGO, apart=False):
        """These are due since then, all at the same time or each at another."""
        assert len(members) >= HEAP, (key, len(members))
        self.redis.zadd(key, {member: since + (i if apart else 0)
                              for i, member in enumerate(members)}, xx=True)

    def make_due(self, key, make, since=LONG_AGO):
        """What `make` adds to the deadlines in this key is due at once."""
        before = set(self.redis.zrange(key, 0, -1))
        make()
        self.set_due(key, [member for member in self.redis.zrange(key, 0, -1)
                           if member not in before], since)

    def each_meets(self, heap, *commands):
        """Each of the commands finds such a heap of work; they are made when their turn comes."""
        for _ in range(self.times):
            for command in commands:
                heap()
                self.calls(command())

    # ---- the families

    def seats(self):
        event, zones = self.id("e"), self.ids()
        due = f"seats:due:{{{event}}}"
        self.calls(*[("SEATS.OPEN", event, zone, 10 ** 6) for zone in zones])

        def reserve(bookings):
            self.calls(*[("SEATS.RESERVE", event, zone, booking, f"u-{booking}", 1, 4)
                         for zone, booking in zip(zones, bookings)])

        def expired(since=None):
            self.make_due(due, lambda: reserve(self.ids()), since or time.time() * 1000 - 1000)

        def expired_long_ago():
            """Also the minute is over in which they count against their users."""
            expired(LONG_AGO)

        def grace_over():
            expired()
            self.make_due(due, lambda: self.calls(("SEATS.ZONE", event, zones[0])))

        def booking():
            made = self.id()
            reserve([made])
            return made

        for heap in (lambda: None, expired, expired_long_ago, grace_over):
            self.each_meets(
                heap,
                lambda: ("SEATS.OPEN", event, zones[0], 10 ** 6),
                lambda: ("SEATS.RESERVE", event, zones[0], self.id(), self.id(), 1, 4),
                lambda: ("SEATS.ZONE", event, zones[1]),
                lambda: ("SEATS.USER", event, "u-1"))
            for _ in range(self.times):
                for words in (("SEATS.CONFIRM",), ("SEATS.RELEASE",), ("SEATS.GET",),
                              ("SEATS.EXTEND", "900")):
                    mine = booking()
                    heap()
                    self.calls((words[0], event, mine, *words[1:]))

    def quota(self):
        tenant = self.id("t")
        self.calls(("QUOTA.LIMIT", tenant, 10 ** 9))

        def reserve(holds):
            self.calls(*[("QUOTA.RESERVE", tenant, 1, "HOLD", hold, "TTL", 600) for hold in holds])

        def expired():
            self.make_due(f"quota:tenant:{{{tenant}}}:due", lambda: reserve(self.ids()))

        kept = self.ids(4 * self.times + 1)
        reserve(kept)
        for heap in (lambda: None, expired):
            self.each_meets(
                heap,
                lambda: ("QUOTA.LIMIT", tenant, 10 ** 9),
                lambda: ("QUOTA.RESERVE", tenant, 1, "HOLD", self.id(), "TTL", 600),
                lambda: ("QUOTA.COMMIT", tenant, kept.pop()),
                lambda: ("QUOTA.CANCEL", tenant, kept.pop()),
                lambda: ("QUOTA.EXTEND", tenant, kept[0], 900),
                lambda: ("QUOTA.REFUND", tenant, 1),
                lambda: ("QUOTA.MARK", tenant),
                lambda: ("QUOTA.SYNC", tenant, 1000),
                lambda: ("QUOTA.LIST", tenant),
                lambda: ("QUOTA.GET", tenant))

    def stock(self):
        product = self.id("p")
        self.calls(("STOCK.LOAD", product, 10 ** 9))

        def take(orders):
            self.calls(*[("STOCK.TAKE", product, order, "ann", 1) for order in orders])

        def expired():
            self.make_due(f"stock:due:{{{product}_main}}", lambda: take(self.ids()))

        kept = self.ids(4 * self.times + 1)
        take(kept)
        for heap in (lambda: None, expired):
            self.each_meets(
                heap,
                lambda: ("STOCK.LOAD", product, 10 ** 9),
                lambda: ("STOCK.TAKE", product, self.id(), "ann", 1),
                lambda: ("STOCK.SETTLE", product, kept.pop()),
                lambda: ("STOCK.GIVE", product, kept.pop()),
                lambda: ("STOCK.EXTEND", product, kept[0], 900),
                lambda: ("STOCK.ADJUST", product, 5, "recount"),
                lambda: ("STOCK.LIST", product),
                lambda: ("STOCK.SHARDS", product),
                lambda: ("STOCK.GET", product))

    def shards(self):
        """Sold out by both policies, with orders that fall due at every place."""
        for policy in (("POLICY", "steal"), ("WATERMARK", 300, "POLICY", "merge")):
            product = self.id("p")
            self.calls(("STOCK.LOAD", product, 1000, "SHARDS", 10, *policy))
            orders = self.ids(1000)
            for i in range(0, 1000, HEAP):
                self.calls(*[("STOCK.TAKE", product, order, "ann", 1)
                             for order in orders[i:i + HEAP]])
            self.calls(*[("STOCK.SETTLE", product, order) for order in orders[:50]])
            self.calls(*[("STOCK.GIVE", product, order) for order in orders[50:100]])
            left = orders[100:]
            for command in (("STOCK.GET", product), ("STOCK.TAKE", product, self.id(), "ann", 1),
                            ("STOCK.GIVE", product, orders[100]),
                            ("STOCK.EXTEND", product, orders[101], 900),
                            ("STOCK.ADJUST", product, 100, "found"),
                            ("STOCK.LIST", product), ("STOCK.SHARDS", product),
                            ("STOCK.LOAD", product, 1200, "SHARDS", 10, *policy)):
                for place in ["main", *range(10)]:
                    key = f"stock:due:{{{product}_{place}}}"
                    known = set(self.redis.zrange(key, 0, -1))
                    late = [order for order in left if order.encode() in known][:HEAP]
                    self.redis.zadd(key, {order: LONG_AGO for order in late or ["-"]}, xx=True)
                self.calls(command)
                self.calls(*[("STOCK.TAKE", product, order, "ann", 1) for order in left])

    def room(self):
        event = self.id("e")

        def join(users):
            self.calls(*[("ROOM.JOIN", event, user, "MAX", 10 ** 6) for user in users])

        def lapsed():
            self.make_due(f"queue:due:{{{event}}}", lambda: join(self.ids()))

        for heap in (lambda: join(self.ids()), lapsed):
            self.each_meets(
                heap,
                lambda: ("ROOM.JOIN", event, self.id()),
                lambda: ("ROOM.POSITION", event, "ann"),
                lambda: ("ROOM.LEAVE", event, "ann"),
                lambda: ("ROOM.CHECK", event, "ann", "none"),
                lambda: ("ROOM.ADMIT", event, HEAP))

    def semaphore(self):
        self.semaphore_with(apart=True)
        if self.times > 1:
            self.semaphore_with(apart=False)
        self.semaphore_wait()

    def semaphore_with(self, apart):
        """100 hold a slot, 100 stand in line; holders die, or those in line, or all of them."""
        name, limit = self.id("s"), HEAP
        main, alive = f"{SEM}main:{{{name}}}", f"{SEM}waiting_heartbeat:{{{name}}}"

        def full():
            self.calls(*[("SEM.ACQUIRE", name, who, limit) for who in self.ids(limit)],
                       *[("SEM.QUEUE", name, who, 60, 600) for who in self.ids()])

        def holders_dead():
            full()
            self.set_due(main, self.redis.zrange(main, 0, HEAP - 1), apart=apart)

        def line_dead():
            full()
            self.set_due(alive, self.redis.zrange(alive, 0, HEAP - 1), apart=apart)

        def all_dead():
            holders_dead()
            self.set_due(alive, self.redis.zrange(alive, 0, HEAP - 1), apart=apart)

        for heap in (full, holders_dead, line_dead, all_dead):
            for command in (
                    lambda: ("SEM.ACQUIRE", name, self.id(), limit),
                    lambda: ("SEM.QUEUE", name, self.id(), 60, 600),
                    lambda: ("SEM.PING", name, "ann", 60, 600),
                    lambda: ("SEM.CONFIRM", name, "ann", limit, 60, 600),
                    lambda: ("SEM.RELEASE", name, self.holder(main)),
                    lambda: ("SEM.WAKE", name, 2 * HEAP, 60, 600),
                    lambda: ("SEM.CARD", name), lambda: ("SEM.STATS", name)):
                self.each_meets(heap, command)
                self.redis.delete(*[key for key in self.redis.scan_iter(f"{SEM}*{{{name}}}*")])

    def holder(self, main):
        return (self.redis.zrange(main, 0, 0) or [b"nobody"])[0]

    def semaphore_wait(self):
        """ACQUIREs that wait: half of them get the slot, the others wait in vain."""
        name = self.id("s")
        first, others = self.id(), self.ids(WAITERS)
        self.calls(("SEM.ACQUIRE", name, first, 1))
        connections = [self.server.connect() for _ in others]
        for connection, who in zip(connections, others):
            connection.send("SEM.ACQUIRE", name, who, 1, "WAIT", WAIT_MS)
        key = f"{SEM}waiting:{{{name}}}"
        wait_until(lambda: self.redis.zcard(key) == WAITERS, "all stand in line")
        for who in [first, *others[:WAITERS // 2]]:
            self.calls(("SEM.RELEASE", name, who))
        for connection in connections:
            connection.read()
            connection.close()

    def lists(self):
        """Long lists, and scopes that are closed with what is left in them."""
        event, tenant, product, name = (self.id(kind) for kind in ("e", "t", "p", "s"))
        ids = self.ids(3 * HEAP)
        self.calls(("SEATS.OPEN", event, "floor", 10 ** 6), ("QUOTA.LIMIT", tenant, 10 ** 6),
                   ("STOCK.LOAD", product, 10 ** 6))
        self.calls(*[("SEATS.RESERVE", event, "floor", i, i, 1, 4) for i in ids])
        self.calls(*[("SEATS.CONFIRM", event, i) for i in ids])
        self.calls(*[("QUOTA.RESERVE", tenant, 1, "HOLD", i) for i in ids])
        self.calls(*[("STOCK.TAKE", product, i, i, 1, "MAX", 4) for i in ids])
        self.calls(*[("SEM.ACQUIRE", name, i, HEAP) for i in ids])
        for _ in range(self.times):
            self.calls(("SEATS.LIST", event, "COUNT", 1000), ("QUOTA.LIST", tenant, "COUNT", 1000),
                       ("SEM.LIST", name, "COUNT", 1000))
        self.calls(*[("SEATS.REFUND", event, i) for i in ids[:HEAP]],
                   *[("STOCK.EXTEND", product, i, 900) for i in ids[:HEAP]],
                   *[("QUOTA.CANCEL", tenant, i) for i in ids],
                   *[("STOCK.GIVE", product, i) for i in ids],
                   ("SEATS.CLOSE", event, "FORCE"), ("QUOTA.CLOSE", tenant),
                   ("STOCK.CLOSE", product))

    def rooms(self):
        """Rooms with settings: all ways in, through the gate and out."""
        event = self.id("e")
        self.calls(("SEATS.OPEN", event, "floor", 10 ** 6))
        for _ in range(self.times):
            ids = self.ids()
            self.calls(("ROOM.OPEN", event, "RATE", 10 ** 6, "INSIDE", 10 ** 6, "GATE"),
                       *[("ROOM.JOIN", event, i) for i in ids])
            admitted = self.calls(("ROOM.TICK", event))[0]
            for user, pass_ in zip(admitted[::2], admitted[1::2]):
                self.calls(("ROOM.CHECK", event, user, pass_, "RENEW"),
                           ("SEATS.RESERVE", event, "floor", user, user, 1, 4, "PASS", pass_),
                           ("SEATS.CONFIRM", event, user), ("ROOM.DONE", event, user))
            self.calls(("ROOM.STATS", event), ("ROOM.OPEN", event))

    def locks(self):
        for _ in range(HEAP):
            name = self.id("l")
            self.calls(("LOCK.TRY", name, 10, "ID", "mine"), ("LOCK.EXTEND", name, "mine", 20),
                       ("LOCK.GET", name), ("LOCK.UNLOCK", name, "mine"))

    def idempotency(self):
        for _ in range(HEAP):
            key = self.id("k")
            self.calls(("IDEM.BEGIN", key, "f"), ("IDEM.ABORT", key), ("IDEM.BEGIN", key, "f"),
                       ("IDEM.COMPLETE", key, BODY), ("IDEM.BEGIN", key, "f"))

    def worker(self):
        """What really falls due, and a worker to give it back; with no commands in between."""
        event, tenant, product = self.id("e"), self.id("t"), self.id("p")
        self.calls(("SEATS.OPEN", event, "floor", 10 ** 6), ("QUOTA.LIMIT", tenant, 10 ** 6),
                   ("STOCK.LOAD", product, 10 ** 6))
        ids = self.ids(3 * HEAP)
        self.calls(*[("SEATS.RESERVE", event, "floor", i, i, 1, 4, "TTL", "500ms") for i in ids])
        self.calls(*[("QUOTA.RESERVE", tenant, 1, "HOLD", i, "TTL", "500ms") for i in ids])
        self.calls(*[("STOCK.TAKE", product, i, "ann", 1, "TTL", "500ms") for i in ids])
        self.calls(*[("ROOM.JOIN", event, i, "MAX", 10 ** 6, "TTL", "500ms") for i in ids])
        wait_until(self.worker_is_done, "the worker gives it all back")

    def worker_is_done(self):
        said = dict(line.rsplit(" ", 1) for line in self.server.call("METRICS").splitlines()
                    if line.startswith("holdfast_worker_returned"))
        kinds = ("seats", "quota", "stock", "queue")
        return all(int(said[f"holdfast_worker_returned_{kind}_total"]) > 0 for kind in kinds)

    FAMILIES = (seats, quota, stock, shards, room, rooms, lists, semaphore, locks, idempotency)

    def close(self):
        self.connection.close()
