# SPDX-License-Identifier: Apache-2.0
"""Load of every family on a few scopes, and the bookkeeping of what was answered: so that after
whatever was done to the cluster meanwhile each acknowledged hold can be accounted for.

Each caller works as a client is told to: what is BUSY, ENGINE_DOWN or unknown it asks again with the
same id. What it may take for granted it notes down with the times between which it happened:

    first   before the first attempt was sent: it began later
    sent    before the last attempt was sent
    done    when the answer was there: it began earlier
"""

import contextlib
import itertools
import random
import threading
import time
from collections import Counter

from faults import PATIENCE_S, is_not_now, is_unknown
from raw_client import fields
from server import Error

SHORT_S, LONG_S = 0.15, 60
SLACK_S = 0.002  # Redis counts in milliseconds
ZONE = "floor"


class Asked:
    """A definite reply, and when."""

    def __init__(self, reply, first, sent, unknown):
        self.reply, self.first, self.sent, self.done = reply, first, sent, time.time()
        self.unknown = unknown  # an attempt before may have been carried out

    @property
    def refused(self):
        """The code of a refusal, or None."""
        reply = self.reply
        return reply[1] if isinstance(reply, list) and reply[:1] == [0] and len(
            reply) > 1 and isinstance(reply[1], str) else None


class Tally:
    """What is certainly held at this moment, and never more than there is."""

    def __init__(self, capacity):
        self.capacity, self.lock, self.held = capacity, threading.Lock(), {}

    def hold(self, name, quantity, until=float("inf")):
        with self.lock:
            self.held[name] = (quantity, until)
            now = time.time()
            sure = {held: entry for held, entry in self.held.items() if entry[1] > now}
            assert sum(entry[0] for entry in sure.values()) <= self.capacity, sure

    def drop(self, name):
        """It may be given back from now on."""
        with self.lock:
            self.held.pop(name, None)


class Load:
    """Threads of callers, until the block ends; what goes wrong in one of them is raised there.

        with Load([engine.connect, …], work) as load:      # makers of what commands are called on
            load.wait_more()

    `pause()` returns once no command is under way, until `resume()`.
    """

    def __init__(self, makers, families):
        self.families = families
        self.stopped, self.lock = threading.Event(), threading.Condition()
        self.paused, self.busy = False, 0  # whether no command may begin; how many are under way
        self.tries, self.turns, self.failures = Counter(), Counter(), []
        self.threads = [
            threading.Thread(target=self._run, args=(maker, family, number))
            for number, (family, maker) in enumerate(
                (family, maker) for family in families for maker in makers if family.takes(maker))]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stopped.set()
        self.resume()
        for thread in self.threads:
            thread.join()
        if kind is None:
            self.check()

    def check(self):
        for failure in self.failures:
            raise failure

    def _run(self, maker, family, number):
        caller = Caller(self, maker())
        try:
            for turn in itertools.count():
                if self.stopped.is_set():
                    return
                family.turn(caller, f"{number}-{turn}", random.Random(number * 100_000 + turn))
                with self.lock:
                    self.turns[family] += 1
        except BaseException as failure:
            self.failures.append(failure)
        finally:
            caller.to.close()

    def wait_more(self, count=4):
        """Until every family has gone on."""
        goals = {family: self.turns[family] + count for family in self.families}
        end = time.monotonic() + PATIENCE_S
        while any(self.turns[family] < goal for family, goal in goals.items()):
            self.check()
            assert time.monotonic() < end, f"stuck: {self.turns} for {goals}"
            time.sleep(0.01)

    def pause(self):
        with self.lock:
            self.paused = True
            assert self.lock.wait_for(lambda: self.busy == 0, PATIENCE_S), "still busy"

    def resume(self):
        with self.lock:
            self.paused = False
            self.lock.notify_all()

    @contextlib.contextmanager
    def command(self):
        """Around a command, which waits for the end of a pause."""
        with self.lock:
            self.lock.wait_for(lambda: not self.paused)
            self.busy += 1
        try:
            yield
        finally:
            with self.lock:
                self.busy -= 1
                self.lock.notify_all()


class Caller:
    """One client, which asks until it knows."""

    def __init__(self, load, to):
        self.load, self.to = load, to

    def ask(self, *words):
        first, end, unknown = time.time(), time.monotonic() + PATIENCE_S, False
        while True:
            with self.load.command():
                sent = time.time()
                reply = self.to.call(*words)
            if not isinstance(reply, Error):
                return Asked(reply, first, sent, unknown)
            assert is_unknown(reply) or is_not_now(reply), f"{words}: {reply}"
            assert time.monotonic() < end, f"{words}: still {reply}"
            unknown = unknown or is_unknown(reply)
            with self.load.lock:
                self.load.tries[reply.code] += 1

    @property
    def waits(self):
        return not hasattr(self.to, "table")  # a program that calls scripts stands in no line


class Family:
    def takes(self, maker):
        return True


# ---- holds with a deadline: seats, quota, stock


class Holds(Family):
    """Takes, and then settles, gives back, extends or lets lapse. `records` has what was answered
    of each hold: settled, given or lapsed, and how much."""

    settled_share = 2  # so much of the capacity may stay settled, at most: half

    def __init__(self, scope, capacity):
        self.scope, self.capacity = scope, capacity
        self.tally = Tally(capacity)
        self.lock, self.settled, self.records = threading.Lock(), 0, {}

    def turn(self, caller, name, chance):
        quantity = chance.randint(1, 3)
        ttl = chance.choice([SHORT_S, LONG_S])
        taken = caller.ask(*self.take(name, quantity, ttl))
        if taken.refused or taken.reply[0] == -1:
            assert taken.refused in (None, "INSUFFICIENT_STOCK", "SOLD_OUT"), taken.reply
            return
        hold = Hold(quantity, ttl, taken)
        self.tally.hold(name, quantity, hold.earliest)
        self.end(caller, name, chance, hold)

    def end(self, caller, name, chance, hold):
        way = chance.choice(["settle", "settle", "give", "extend", "lapse"])
        if way == "lapse" and hold.ttl == LONG_S:
            way = "give"
        if way == "extend":
            asked = caller.ask(*self.extend(name))
            if hold.ended_before(asked):
                self.records[name] = ("lapsed", hold.quantity)
                return
            hold.ends_at(asked.reply[1] / 1000)  # no later than a multiple of its first TTL
            self.tally.hold(name, hold.quantity, hold.earliest)
            way = "settle"
        if way == "lapse":
            time.sleep(max(0, hold.latest - time.time()) + 0.001)
        if way == "give" or not self.may_settle(hold.quantity):
            self.tally.drop(name)
            lapsed = hold.ended_before(caller.ask(*self.give(name)))
            self.records[name] = ("lapsed" if lapsed else "given", hold.quantity)
            return
        self.settle_or_lapse(caller, name, chance, hold)

    def may_settle(self, quantity):
        """Counts it as settled, beforehand, if that leaves enough for others."""
        with self.lock:
            fits = self.settled + quantity <= self.capacity // self.settled_share
            self.settled += quantity if fits else 0
            return fits

    def settle_or_lapse(self, caller, name, chance, hold):
        if hold.ended_before(caller.ask(*self.settle(name))):
            self.records[name] = ("lapsed", hold.quantity)
        else:
            self.tally.hold(name, hold.quantity)
            if not self.undo(caller, name, chance):
                self.records[name] = ("settled", hold.quantity)
                return
            self.records[name] = ("undone", hold.quantity)
        with self.lock:
            self.settled -= hold.quantity

    def undo(self, caller, name, chance):
        """Gives back what was settled, if the family can and the chance says so."""
        return False

    def sum_of(self, state):
        return sum(quantity for how, quantity in self.records.values() if how == state)


class Hold:
    def __init__(self, quantity, ttl, taken):
        self.quantity, self.ttl = quantity, ttl
        self.earliest, self.latest = taken.first + ttl - SLACK_S, taken.done + ttl  # of its end

    def ends_at(self, when):
        self.earliest = self.latest = when

    def ended_before(self, asked):
        """Was the hold over when this came? The answer has to be right wherever there is no doubt:
        what lapsed is never settled, and nothing lapses early."""
        over = asked.refused in ("RESERVATION_NOT_FOUND", "HOLD_NOT_FOUND", "NOT_FOUND")
        assert over or asked.refused is None, asked.reply
        if asked.sent > self.latest and not asked.unknown:
            assert over, f"lapsed {asked.sent - self.latest} s before: {asked.reply}"
        if asked.done < self.earliest:
            assert not over, f"lapsed {self.earliest - asked.done} s too early: {asked.reply}"
        return over


def seconds(ttl):
    return f"{round(ttl * 1000)}ms"


class Seats(Holds):
    def set_up(self, caller):
        assert caller.ask("SEATS.OPEN", self.scope, ZONE, self.capacity).reply[0] == 1

    def take(self, name, quantity, ttl):
        return ("SEATS.RESERVE", self.scope, ZONE, name, f"u{name.split('-')[0]}", quantity, 10**6,
                "TTL", seconds(ttl))

    def settle(self, name):
        return "SEATS.CONFIRM", self.scope, name

    def give(self, name):
        return "SEATS.RELEASE", self.scope, name

    def extend(self, name):
        return "SEATS.EXTEND", self.scope, name, seconds(LONG_S)

    def undo(self, caller, name, chance):
        if chance.random() < 0.5:
            return False
        self.tally.drop(name)
        assert not (asked := caller.ask("SEATS.REFUND", self.scope, name)).refused, asked.reply
        return True

    def account(self, caller):
        zone = fields(caller.ask("SEATS.ZONE", self.scope, ZONE).reply)
        confirmed = self.sum_of("settled")
        assert zone == {"capacity": self.capacity, "available": self.capacity - confirmed,
                        "reserved": 0, "confirmed": confirmed}
        for name, (how, quantity) in self.records.items():
            record = caller.ask("SEATS.GET", self.scope, name).reply
            if how == "settled":
                found = fields(record)
                assert (found["status"], found["quantity"]) == ("confirmed", quantity), record
            else:
                assert record[:2] == [0, "RESERVATION_NOT_FOUND"] or fields(record)["status"] in (
                    "released", "refunded"), (name, how, record)


class Quota(Holds):
    def set_up(self, caller):
        assert caller.ask("QUOTA.LIMIT", self.scope, self.capacity).reply[0] == 1

    def take(self, name, quantity, ttl):
        return "QUOTA.RESERVE", self.scope, quantity, "HOLD", name, "TTL", seconds(ttl)

    def settle(self, name):
        return "QUOTA.COMMIT", self.scope, name

    def give(self, name):
        return "QUOTA.CANCEL", self.scope, name

    def extend(self, name):
        return "QUOTA.EXTEND", self.scope, name, seconds(LONG_S)

    def account(self, caller):
        assert caller.ask("QUOTA.GET", self.scope).reply == [self.sum_of("settled"), self.capacity,
                                                             0]


class Stock(Holds):
    def __init__(self, scope, capacity, shards=1):
        super().__init__(scope, capacity)
        self.shards = shards

    def takes(self, maker):
        return self.shards == 1 or maker.__name__ != "scripts"  # an engine's, if in shards

    def set_up(self, caller):
        assert caller.ask("STOCK.LOAD", self.scope, self.capacity, "SHARDS", self.shards, "POLICY",
                          "steal").reply == [1, self.capacity]

    def take(self, name, quantity, ttl):
        return "STOCK.TAKE", self.scope, name, "ann", quantity, "TTL", seconds(ttl)

    def settle(self, name):
        return "STOCK.SETTLE", self.scope, name

    def give(self, name):
        return "STOCK.GIVE", self.scope, name

    def extend(self, name):
        return "STOCK.EXTEND", self.scope, name, seconds(LONG_S)

    def account(self, caller):
        found = fields(caller.ask("STOCK.GET", self.scope).reply)
        sold = self.sum_of("settled")
        assert (found["sold"], found["taken"], found["available"]) == (
            sold, 0, self.capacity - sold), found
