# SPDX-License-Identifier: Apache-2.0
"""Another program's client of a semaphore, by the key layout that the field knows.

It knows nothing of ours: five sorted sets and strings, a list for each waiter, times from its own
clock. Whoever wants a slot stands in line, wakes those whose turn it is, waits on its list, and
confirms. Its scripts are as plain as that layout allows. Like the known ones they let keys expire
`slack_s` after their own TTL, whatever else is in them.
"""

import time

LAYOUT = """
local main, ttls, line, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = tonumber(ARGV[1])
local function drop_expired()
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', ttls, '-inf', now)) do
        redis.call('ZREM', main, id)
        redis.call('ZREM', ttls, id)
    end
    redis.call('ZREMRANGEBYSCORE', main, '-inf', now)
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', alive, '-inf', now)) do
        redis.call('ZREM', line, id)
        redis.call('ZREM', alive, id)
    end
end
"""
QUEUE = LAYOUT + """
local id, heartbeat = ARGV[2], tonumber(ARGV[3])
redis.call('ZADD', line, now, id)
redis.call('ZADD', alive, now + heartbeat, id)
redis.call('EXPIRE', line, ARGV[4])
redis.call('EXPIRE', alive, ARGV[4])
"""
WAKE = LAYOUT + """
local limit, heartbeat, ttl, list = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
drop_expired()
local woken = 0
while redis.call('ZCARD', main) < limit do
    local first = redis.call('ZPOPMIN', line)
    if #first == 0 then
        break
    end
    redis.call('ZREM', alive, first[1])
    redis.call('ZADD', main, now + heartbeat, first[1])
    redis.call('ZADD', ttls, now + ttl, first[1])
    redis.call('EXPIRE', main, ARGV[6])
    redis.call('RPUSH', list .. first[1], '1')
    redis.call('EXPIRE', list .. first[1], 60)
    woken = woken + 1
end
return woken
"""
CONFIRM = LAYOUT + """
local id, limit, heartbeat, ttl = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if not redis.call('ZSCORE', main, id) then
    return 0
end
redis.call('ZADD', main, now + heartbeat, id)
redis.call('ZADD', ttls, now + ttl, id)
redis.call('EXPIRE', ttls, ARGV[6])
redis.call('SET', KEYS[5], limit, 'EX', ARGV[6])
return 1
"""
RELEASE = LAYOUT + """
local id = ARGV[2]
redis.call('ZREM', ttls, id)
redis.call('ZREM', line, id)
redis.call('ZREM', alive, id)
return redis.call('ZREM', main, id)
"""
PING = LAYOUT + """
local id, heartbeat = ARGV[2], tonumber(ARGV[3])
for _, key in ipairs({line, alive, main}) do
    redis.call('EXPIRE', key, ARGV[4])
end
local waits = redis.call('ZADD', alive, 'XX', 'CH', now + heartbeat, id)
return {waits, redis.call('ZADD', main, 'XX', 'CH', now + heartbeat, id)}
"""
CARD = LAYOUT + """
drop_expired()
return redis.call('ZCARD', main)
"""


class OtherClient:
    """One client, with one id, of one semaphore."""

    def __init__(self, redis, name, identity, limit, heartbeat_s=180, ttl_s=86400, slack_s=10):
        self.redis, self.keys_s = redis, ttl_s + slack_s
        self.id, self.limit, self.heartbeat_s, self.ttl_s = identity, limit, heartbeat_s, ttl_s
        self.lists = "adv-sem:acquisition_notification:"
        parts = ("main", "ttl", "waiting", "waiting_heartbeat", "max")
        self.keys = [f"adv-sem:semaphore_{part}:{name}" for part in parts]

    def run(self, script, *arguments):
        return self.redis.eval(script, len(self.keys), *self.keys, time.time(), *arguments)

    def queue(self):
        self.run(QUEUE, self.id, self.heartbeat_s, self.keys_s)

    def wake(self):
        """Hands free slots out; how many got one."""
        return self.run(WAKE, self.limit, self.heartbeat_s, self.ttl_s, self.lists,
                        self.keys_s)

    def told(self, timeout_s):
        """Waits on its list."""
        return self.redis.blpop([self.lists + self.id], timeout_s) is not None

    def confirm(self):
        return self.run(CONFIRM, self.id, self.limit, self.heartbeat_s, self.ttl_s,
                        self.keys_s) == 1

    def acquire(self, timeout_s=30):
        """All of it: in line, and woken by anybody."""
        self.queue()
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            self.wake()
            if self.told(0.02):
                return self.confirm()
        self.release()
        return False

    def release(self):
        return self.run(RELEASE, self.id)

    def ping(self):
        return self.run(PING, self.id, self.heartbeat_s, self.keys_s)

    def card(self):
        return self.run(CARD)
