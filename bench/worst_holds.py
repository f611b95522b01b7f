# SPDX-License-Identifier: Apache-2.0
"""The scripts of quota and stock at their worst: 100,000 holds beside as many that are due as one
call gives back, each of another user; long lists; products of 1,024 shards."""

from worst_case import ANSWERED, AT_ONCE, LONG_AGO, MANY

SHARDS = 1024


class Tenant:
    """A tenant with 100,000 open holds."""

    def __init__(self, bench, tag="{%s}"):
        self.bench = bench
        self.name = tag % bench.id("t")
        self.made = 0
        self.keys = [f"quota:tenant:{self.name}:{kind}"
                     for kind in ("used", "limit", "held", "holds", "due")]
        self.names = f"quota:tenant:{self.name}:names"
        bench.redis.set(self.keys[1], 10 ** 9)
        self.hold(MANY, bench.now() + 1_800_000)

    def hold(self, count, at):
        used, _, held, holds, due = self.keys
        self.bench.build(
            f"redis.call('INCR', '{used}') redis.call('INCR', '{held}') "
            f"redis.call('HSET', '{holds}', 'h' .. i, '1 900000') "
            f"redis.call('ZADD', '{due}', '{at}', 'h' .. i) "
            f"redis.call('ZADD', '{self.names}', 0, 'h' .. i)", count, self.made + 1)
        self.made += count

    def expire(self, count=AT_ONCE):
        self.hold(count, LONG_AGO)

    def closed(self, hold):
        return f"quota:closed:{{{self.name.strip('{}')}}}:{hold}"


def time_quota(bench):
    tenant = Tenant(bench)
    mine = iter(range(1, MANY))

    def of_hold(*words):
        hold = f"h{next(mine)}"
        return [*tenant.keys, tenant.closed(hold)], [hold, *words]

    def reserve(_):
        hold = bench.id("n")
        return [*tenant.keys, tenant.closed(hold)], [1, hold, 600]

    calls = {
        "limit_quota": lambda i: (tenant.keys, [10 ** 9]),
        "reserve_quota": reserve,
        "commit_quota": lambda i: of_hold(),
        "cancel_quota": lambda i: of_hold(),
        "extend_quota": lambda i: of_hold(3600),
        "refund_quota": lambda i: (tenant.keys, [1]),
        "sync_quota": lambda i: (tenant.keys, [1000]),
        "get_quota": lambda i: (tenant.keys, []),
        "reclaim_quota": lambda i: (tenant.keys, [AT_ONCE]),
        "list_quota": lambda i: ([*tenant.keys, tenant.names], ["", 1000]),
    }
    for script, call in calls.items():
        bench.case(script, f"{AT_ONCE} of 100,000 holds expired", call, lambda i: tenant.expire())
    time_quota_close(bench)
    for tag in ("{%s}", "%s"):
        letter = Tenant(bench, tag)

        def again(i):
            bench.redis.zremrangebyscore(letter.keys[4], "-inf", LONG_AGO)
            letter.expire(10_000)
        for script, count in (("reserve_quota", 2), ("refund_quota", 1)):
            bench.case(script, "to the letter, 10,000 holds expired",
                       lambda i: (letter.keys[:count], [1]), again)


def time_quota_close(bench):
    """Somebody else set what is held to 0, so that all of the holds go at once."""
    tenant = None

    def make(i):
        nonlocal tenant
        tenant = Tenant(bench)
        tenant.expire()
        bench.redis.set(tenant.keys[2], 0)
    bench.case("close_quota", "100,000 holds that do not count, 32 expired",
               lambda i: ([*tenant.keys, tenant.names, f"quota:tenant:{tenant.name}:ended"], []),
               make, ANSWERED, repeats=5)


class Counter:
    """One counter of a product with 100,000 orders taken, or settled."""

    def __init__(self, bench, shard=None, orders=MANY, state="T"):
        self.bench, self.state = bench, state
        place = f"{bench.id('p')}_{'main' if shard is None else shard}"
        self.keys = [f"stock:{{{place}}}"] + [
            f"stock:{kind}:{{{place}}}" for kind in ("totals", "orders", "due", "users", "names")]
        self.transfers = [f"stock:outbox:{{{place}}}", f"stock:inbox:{{{place}}}"]
        self.made = 0
        bench.redis.set(self.keys[0], 10 ** 8)
        bench.redis.hset(self.keys[1], mapping={
            "loaded": 10 ** 8, "taken": 0, "shards": SHARDS if shard is not None else 0,
            **({"mode": "sharded", "epoch": 5} if shard is not None else {})})
        self.hold(orders, bench.now() + 1_800_000, state)

    def hold(self, count, at, state="T", hides=""):
        _, totals, orders, due, users, names = self.keys
        taken = (f"redis.call('HINCRBY', '{totals}', 'taken', 1) "
                 f"redis.call('ZADD', '{names}', 0, 'o' .. i) ") if state == "T" else ""
        self.bench.build(
            f"redis.call('HSET', '{orders}', 'o' .. i, '{state} 1 900000{hides}+' .. now .. ' u' .. i) "
            f"redis.call('ZADD', '{due}', '{at}', 'o' .. i) {taken}"
            f"redis.call('HSET', '{users}', 't u' .. i, '1')", count, self.made + 1)
        self.made += count

    def expire(self, hides=False):
        while self.bench.call("reclaim_stock", self.keys, [AT_ONCE])[1] == 0:
            pass
        self.hold(AT_ONCE, LONG_AGO, "T", f"/{self.bench.now() + 200_000}" if hides else "")


def time_stock(bench):
    counter = Counter(bench)
    mine = iter(range(1, MANY))
    calls = {
        "load_stock": lambda i: (counter.keys, [10 ** 8 + i, 0, 0, "merge"]),
        "take_stock": lambda i: (counter.keys, [bench.id("n"), "ann", 1, 600, 1000]),
        "settle_stock": lambda i: (counter.keys, [f"o{next(mine)}"]),
        "give_stock": lambda i: (counter.keys, [f"o{next(mine)}"]),
        "extend_order": lambda i: (counter.keys, [f"o{next(mine)}", 3600]),
        "adjust_stock": lambda i: (counter.keys, [5, "found"]),
        "get_stock": lambda i: (counter.keys, []),
        "list_orders": lambda i: (counter.keys, ["", 1000]),
        "reclaim_stock": lambda i: (counter.keys, [AT_ONCE]),
    }
    for script, call in calls.items():
        bench.case(script, f"{AT_ONCE} of 100,000 orders expired", call, lambda i: counter.expire())

    def settled(i):
        nonlocal counter
        counter = Counter(bench, state="S")
        counter.expire()
    bench.case("close_stock", "100,000 orders settled, 32 expired", lambda i: (counter.keys, []),
               settled, repeats=5)


def time_shards(bench):
    shard = Counter(bench, 7)
    mine = iter(range(1, MANY))
    with_transfers = [*shard.keys, shard.transfers[0]]
    knows = [5, "sharded"]
    calls = {
        "take_shard": lambda i: (shard.keys, [bench.id("n"), "ann", 1, 600, 1000, *knows, 1, 0, 0]),
        "close_shard": lambda i: (shard.keys, [f"o{next(mine)}", "", "G", *knows]),
        "extend_shard": lambda i: (shard.keys, [f"o{next(mine)}", 3600, "", *knows]),
        "find_order": lambda i: (shard.keys, [f"o{next(mine)}", "ann", *knows]),
        "list_shard": lambda i: (shard.keys, ["", 1000]),
        "adjust_shards": lambda i: (shard.keys, [5, "found"]),
        "load_shards": lambda i: (shard.keys, [10 ** 8 + i, SHARDS, 0, "steal"]),
        "limit_shards": lambda i: (shard.keys, []),
        "turn_shards": lambda i: (shard.keys, [4, "merged", 0]),
        "send_stock": lambda i: (with_transfers, [i % 5, 1, 100]),
        "receive_stock": lambda i: ([*shard.keys, shard.transfers[1]], [3, 10 + i, 5]),
        "forget_stock": lambda i: (with_transfers, [i % 5, 10 ** 6]),
    }
    for script, call in calls.items():
        for hides in (False, True):
            bench.case(script, f"{AT_ONCE} of 100,000 orders expired"
                       + (" that hide others" if hides else ""),
                       call, lambda i: shard.expire(hides), ANSWERED)
    for number in range(SHARDS):
        bench.redis.hset(shard.keys[1], f"to {number}", 10 ** 9 + number)
        bench.redis.hset(shard.transfers[1], f"from {number}", 10 ** 9 + number)
    read = [*shard.keys, *shard.transfers]
    bench.case("read_shard", "32 expired, counts of 1,024 shards",
               lambda i: (read, [*knows, 1]), lambda i: shard.expire())
    for number in range(SHARDS):
        bench.redis.hset(shard.transfers[0], number, f"{10 ** 9 + number} 5")
    for counts in (0, 1):
        bench.case("read_shard", "32 expired, 1,024 open transfers" + ", with counts" * counts,
                   lambda i: (read, [*knows, counts]), lambda i: shard.expire())

    def full(i):
        nonlocal shard
        shard = Counter(bench, 7, state="S")
    bench.case("wipe_shard", "100,000 orders settled",
               lambda i: ([*shard.keys, *shard.transfers], [6, "closed"]), full, repeats=5)
