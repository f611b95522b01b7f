# SPDX-License-Identifier: Apache-2.0
"""The load of reshard_load.py for what is no hold with a deadline: semaphores, locks, waiting rooms,
idempotency."""

import threading
import time

from raw_client import fields
from reshard_load import LONG_S, SHORT_S, SLACK_S, Family, Tally, seconds
from servers import wait_until


class Fences:
    """Each is handed out once, and who certainly holds what it guards has the highest."""

    def __init__(self):
        self.lock, self.highest, self.seen = threading.Lock(), 0, set()

    def note(self, fence, until):
        with self.lock:
            assert fence not in self.seen, f"{fence} was handed out before"
            self.seen.add(fence)
            if time.time() < until:
                assert fence > self.highest, f"{fence} is behind {self.highest}"
            self.highest = max(self.highest, fence)


class Semaphore(Family):
    """Clients that wait for one slot or two, ping and release; some die instead."""

    def __init__(self, scope, limit, wait_ms):
        self.scope, self.limit, self.wait_ms = scope, limit, wait_ms
        self.tally, self.fences = Tally(limit), set()
        self.waited = 0  # acquires that got their slots after a wait

    def set_up(self, caller):
        pass

    def turn(self, caller, name, chance):
        slots, dies = chance.randint(1, 2), chance.random() < 0.2
        heartbeat = SHORT_S if dies else LONG_S
        words = ("SEM.ACQUIRE", self.scope, name, self.limit, "HEARTBEAT", seconds(heartbeat),
                 "SLOTS", slots)
        if caller.waits:
            words += ("WAIT", self.wait_ms)
        got = caller.ask(*words)
        if got.refused:
            assert got.refused in ("NO_SLOT", "TIMEOUT"), got.reply
            waited = got.done - got.first
            # A slot with a short heartbeat may be lost before its client can be told of it.
            assert not caller.waits or dies or waited > self.wait_ms / 1000 - SLACK_S, got.reply
            time.sleep(0.005)
            return
        self.waited += got.done - got.first > 0.02
        self.tally.hold(name, slots, got.first + heartbeat - SLACK_S)
        assert got.reply[2] not in self.fences or got.unknown
        self.fences.add(got.reply[2])
        if dies:
            return
        pinged = caller.ask("SEM.PING", self.scope, name, seconds(LONG_S), seconds(LONG_S))
        assert pinged.reply[1] >= 1, pinged.reply
        self.tally.drop(name)
        released = caller.ask("SEM.RELEASE", self.scope, name)
        assert released.reply == 1 or released.unknown, released.reply

    def account(self, caller):
        wait_until(lambda: caller.ask("SEM.STATS", self.scope).reply[1::4] == [0, 0],
                   "those who died are gone, and nobody waits", 5)
        assert self.waited > 0


class Lock(Family):
    def __init__(self, scope):
        self.scope = scope
        self.tally, self.fences = Tally(1), Fences()

    def set_up(self, caller):
        pass

    def turn(self, caller, name, chance):
        dies = chance.random() < 0.2
        ttl = SHORT_S if dies else LONG_S
        got = caller.ask("LOCK.TRY", self.scope, seconds(ttl), "ID", name)
        if got.reply is None:
            time.sleep(0.005)
            return
        assert got.reply[0] == name
        self.tally.hold(name, 1, got.first + ttl - SLACK_S)
        self.fences.note(got.reply[1], got.first + ttl)
        if dies:
            return
        assert caller.ask("LOCK.EXTEND", self.scope, name, seconds(LONG_S)).reply == 1
        self.tally.drop(name)
        released = caller.ask("LOCK.UNLOCK", self.scope, name)
        assert released.reply == 1 or released.unknown, released.reply

    def account(self, caller):
        wait_until(lambda: caller.ask("LOCK.GET", self.scope).reply is None, "it is free", 5)


class Room(Family):
    """Users who join, wait for their pass, show it and leave; others who leave the line; and now
    and then somebody who admits. Nobody who joined is lost."""

    def __init__(self, scope):
        self.scope = scope
        self.lock, self.passes, self.patient = threading.Lock(), {}, {}

    def set_up(self, caller):
        assert caller.ask("ROOM.OPEN", self.scope, "RATE", 100).reply[0] == 1

    def turn(self, caller, name, chance):
        joined = caller.ask("ROOM.JOIN", self.scope, name, "TTL", "1h")
        assert joined.reply[0] == 1, joined.reply
        token = joined.reply[3]
        if chance.random() < 0.2:
            left = caller.ask("ROOM.LEAVE", self.scope, name)
            if left.reply == 1 or left.unknown:
                return
        elif chance.random() < 0.2:
            with self.lock:
                self.patient[name] = token  # stands in line to the end
            return
        while not self.is_inside(caller, name, token):
            self.admit(caller, chance)
        if name in self.passes:  # but for an admission whose outcome nobody knew
            assert caller.ask("ROOM.CHECK", self.scope, name, self.passes[name]).reply == 1
        done = caller.ask("ROOM.DONE", self.scope, name)
        assert done.reply == 1 or done.unknown, done.reply

    def is_inside(self, caller, name, token):
        asked = caller.ask("ROOM.POSITION", self.scope, name, "TOKEN", token)
        assert not asked.refused, f"{name} is lost: {asked.reply}"
        return asked.reply[0] == 0

    def admit(self, caller, chance):
        words = chance.choice([("ROOM.TICK", self.scope),
                               ("ROOM.ADMIT", self.scope, 2, "PASS", "1h")])
        reply = caller.ask(*words).reply
        with self.lock:
            for user, given in zip(reply[::2], reply[1::2]):
                assert user not in self.passes, f"{user} was admitted twice"
                self.passes[user] = given

    def account(self, caller):
        waiting = [name for name, token in self.patient.items()
                   if not self.is_inside(caller, name, token)]
        found = fields(caller.ask("ROOM.STATS", self.scope).reply)
        assert found["waiting"] == len(waiting), found
        assert found["inside"] == len(self.patient) - len(waiting), found


class Idempotency(Family):
    """Requests that are carried out once, whoever asks again."""

    def __init__(self, keys):
        """Each key is used once by each turn that is left."""
        self.keys, self.lock, self.answers = list(keys), threading.Lock(), {}

    def set_up(self, caller):
        pass

    def turn(self, caller, name, chance):
        with self.lock:
            key = self.keys.pop() if self.keys else None
        if key is None:
            time.sleep(0.01)
            return
        begun = caller.ask("IDEM.BEGIN", key, name, "TTL", "1h")
        assert begun.reply[:2] == [1, "NEW"] or begun.unknown, begun.reply
        if chance.random() < 0.3:
            ended = caller.ask("IDEM.ABORT", key)
            assert ended.reply == 1 or ended.unknown
            begun = caller.ask("IDEM.BEGIN", key, name, "TTL", "1h")
            assert begun.reply[:2] == [1, "NEW"] or begun.unknown, begun.reply
        again = caller.ask("IDEM.BEGIN", key, name, "TTL", "1h")
        assert again.reply[:2] == [0, "PROCESSING"], again.reply
        ended = caller.ask("IDEM.COMPLETE", key, f"answer {name}", "TTL", "1h")
        assert ended.reply == 1 or ended.unknown
        self.answers[key] = name

    def account(self, caller):
        for key, name in self.answers.items():
            assert caller.ask("IDEM.BEGIN", key, name).reply == [2, "COMPLETED", f"answer {name}"]
