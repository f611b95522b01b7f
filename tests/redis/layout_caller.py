# SPDX-License-Identifier: Apache-2.0
"""A program that has the semaphore scripts of the field, and loads our files in their place.

It calls each with the KEYS and ARGV that the layout knows and nothing more, its own clock among
them, and reads the replies as such programs do. It knows no AGAIN.
"""

import time

FOR_EVER_S = 2 ** 31 - 1 - 10  # the TTL of a program that asks for none
SCRIPTS = ("queue", "wake_up_nexts", "acquire", "release", "ping", "card")
ID_PLACE = "@@@ACQUISITION_ID@@@"


def load(redis, folder):
    """The scripts by name, called by EVALSHA."""
    return {name: redis.register_script((folder / f"{name}.lua").read_text()) for name in SCRIPTS}


class LayoutCaller:
    """One client, with one id, of one semaphore. `name` has braces or not."""

    def __init__(self, redis, scripts, name, identity, limit=1, *, namespace="adv-sem",
                 heartbeat_s=180, ttl_s=FOR_EVER_S, pattern=None, clock=time.time):
        self.redis, self.scripts, self.id, self.limit = redis, scripts, identity, limit
        self.heartbeat_s, self.ttl_s, self.clock = heartbeat_s, ttl_s, clock
        key = f"{namespace}:semaphore_".__add__
        self.main, self.ttl, self.max = key(f"main:{name}"), key(f"ttl:{name}"), key(f"max:{name}")
        self.waiting = key(f"waiting:{name}")
        self.waiting_heartbeat = key(f"waiting_heartbeat:{name}")
        self.fence = key(f"fence:{name}")
        tag = f"{name}:" if name.startswith("{") else ""
        self.pattern = pattern or f"{namespace}:acquisition_notification:{tag}{ID_PLACE}"

    def run(self, script, keys, *arguments):
        return self.scripts[script](keys=keys, args=arguments)

    def queue(self):
        self.run("queue", [self.waiting, self.waiting_heartbeat],
                 self.id, self.heartbeat_s, self.ttl_s, self.clock())

    def wake(self):
        return self.run("wake_up_nexts",
                        [self.main, self.ttl, self.waiting, self.waiting_heartbeat],
                        self.limit, self.heartbeat_s, self.ttl_s, self.clock(), self.pattern)

    @property
    def list(self):
        return self.pattern.replace(ID_PLACE, self.id)

    def notified(self):
        return self.redis.lpop(self.list) is not None

    def confirm(self):
        changed, card = self.run("acquire", [self.main, self.ttl, self.max],
                                 self.id, self.limit, self.heartbeat_s, self.ttl_s, self.clock())
        return changed, card

    def take(self):
        """In line, woken, confirmed, with nobody ahead."""
        self.queue()
        self.wake()
        assert self.notified(), f"{self.id} was not notified"
        return self.confirm()

    def release(self):
        return self.run("release", [self.main, self.ttl, self.waiting, self.waiting_heartbeat],
                        self.id)

    def ping(self):
        changed_waiting, changed_semaphore = self.run(
            "ping", [self.waiting, self.waiting_heartbeat, self.main],
            self.id, self.heartbeat_s, self.ttl_s, self.clock())
        return changed_waiting, changed_semaphore

    def card(self):
        return self.run("card", [self.main, self.ttl], self.clock())

    def stats(self):
        """Slots in use and the limit, read as such programs do."""
        self.redis.zremrangebyscore(self.main, "-inf", self.clock())
        return self.redis.zcard(self.main), int(self.redis.get(self.max) or 0)

    def make_due(self, key, *ids):
        """These were due a second ago."""
        due = time.time() - 1
        self.redis.zadd(key, {identity: due for identity in ids}, xx=True)
