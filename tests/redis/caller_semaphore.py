# SPDX-License-Identifier: Apache-2.0
"""A semaphore as the asyncio library of the layout `adv-sem` calls its scripts: the same keys, the same
arguments, the client's own clock in each of them, BLPOP on a list of its own. It knows nothing of
Holdfast: the scripts are files, which anybody may have replaced.

    semaphore = Semaphore(client, folder, "render", value=3)
    held = await semaphore.acquire()
    await semaphore.release(held)
"""

import asyncio
import time
import uuid

FOREVER_S = 2_147_483_647 - 10  # its TTL if none is set
NOTIFIED_S = 1                  # how long one BLPOP waits


class CannotAcquire(Exception):
    """The slot was lost between the notification and the call that takes it."""


class Keys:
    """The names of a semaphore's keys, plain, or with its name as the hash tag."""

    def __init__(self, name, tagged=False, namespace="adv-sem"):
        self.namespace, self.tag = namespace, f"{{{name}}}" if tagged else name
        self.lists = f"{namespace}:acquisition_notification:" + (f"{self.tag}:" if tagged else "")
        self.main, self.ttl, self.max, self.waiting, self.heartbeat = (
            f"{namespace}:semaphore_{part}:{self.tag}"
            for part in ("main", "ttl", "max", "waiting", "waiting_heartbeat"))


class Semaphore:
    """`clock` is what the client takes for the time."""

    def __init__(self, client, folder, name, value, *, heartbeat_s=180, ttl_s=None, tagged=False,
                 clock=time.time):
        self.client, self.value, self.clock = client, value, clock
        self.heartbeat_s, self.ttl_s = heartbeat_s, ttl_s or FOREVER_S
        self.keys = Keys(name, tagged)
        self.scripts = {script: client.register_script((folder / f"{script}.lua").read_text())
                        for script in ("queue", "wake_up_nexts", "acquire", "release", "ping", "card")}
        self.heartbeats = {}

    # ---- its calls

    async def queue(self, identity):
        keys = self.keys
        return await self.scripts["queue"](
            keys=[keys.waiting, keys.heartbeat],
            args=[identity, self.heartbeat_s, self.ttl_s, self.clock()])

    async def wake_up_nexts(self):
        keys = self.keys
        return await self.scripts["wake_up_nexts"](
            keys=[keys.main, keys.ttl, keys.waiting, keys.heartbeat],
            args=[self.value, self.heartbeat_s, self.ttl_s, self.clock(),
                  keys.lists + "@@@ACQUISITION_ID@@@"])

    async def notified(self, identity):
        return await self.client.blpop([self.keys.lists + identity], NOTIFIED_S) is not None

    async def take(self, identity):
        keys = self.keys
        changed, card = await self.scripts["acquire"](
            keys=[keys.main, keys.ttl, keys.max],
            args=[identity, self.value, self.heartbeat_s, self.ttl_s, self.clock()])
        return changed, card

    async def ping(self, identity):
        keys = self.keys
        waiting, held = await self.scripts["ping"](
            keys=[keys.waiting, keys.heartbeat, keys.main],
            args=[identity, self.heartbeat_s, self.ttl_s, self.clock()])
        return waiting, held

    async def give(self, identity):
        keys = self.keys
        return await self.scripts["release"](
            keys=[keys.main, keys.ttl, keys.waiting, keys.heartbeat], args=[identity])

    async def card(self):
        return await self.scripts["card"](keys=[self.keys.main, self.keys.ttl], args=[self.clock()])

    async def stats(self):
        """(slots in use, limit) of each semaphore of the namespace, as the library reads them."""
        found, prefix = {}, f"{self.keys.namespace}:semaphore_main:"
        async for key in self.client.scan_iter(prefix + "*", count=100, _type="ZSET"):
            name = key.decode().removeprefix(prefix)
            async with self.client.pipeline(transaction=False) as pipe:
                pipe.zremrangebyscore(key, "-inf", self.clock())
                pipe.get(f"{self.keys.namespace}:semaphore_max:{name}")
                pipe.zcard(key)
                _, limit, slots = await pipe.execute()
            if limit is not None:
                found[name] = (slots, int(limit))
        return found

    # ---- what its users see

    async def acquire(self, timeout_s=60, identity=None):
        identity = identity or uuid.uuid4().hex
        try:
            await asyncio.wait_for(self._wait_in_line(identity), timeout_s)
        except BaseException:
            await self.release(identity)
            raise
        return identity

    async def _wait_in_line(self, identity):
        await self.queue(identity)
        self.heartbeats[identity] = asyncio.create_task(self._keep_alive(identity))
        while True:
            await self.wake_up_nexts()
            if await self.notified(identity):
                break
        changed, _ = await self.take(identity)
        if changed == 0:
            raise CannotAcquire(identity)

    async def release(self, identity):
        if heartbeat := self.heartbeats.pop(identity, None):
            heartbeat.cancel()
        return await self.give(identity)

    async def locked(self):
        return await self.card() >= self.value

    async def _keep_alive(self, identity):
        while True:
            await asyncio.sleep(self.heartbeat_s / 5)
            if await self.ping(identity) == (0, 0):
                return  # taken for dead
