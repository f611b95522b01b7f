-- SPDX-License-Identifier: Apache-2.0
-- SEM.PING: still alive. Never moves a place in line or the end of a TTL.
--
-- KEYS[1] NS:semaphore_waiting:N            sorted set, the line by arrival
-- KEYS[2] NS:semaphore_waiting_heartbeat:N  sorted set, the line by end of heartbeat
-- KEYS[3] NS:semaphore_main:N               sorted set, holders by end of heartbeat
-- KEYS[4] NS:semaphore_ttl:N                sorted set, holders by end of TTL
-- KEYS[5] NS:semaphore_max:N                string, the limit
-- KEYS[6] NS:semaphore_own:N                hash, notes on the ids
-- KEYS[7] NS:semaphore_fence:N              string, the last fence
-- ARGV[1] id
-- ARGV[2] heartbeat in seconds, from now
-- ARGV[3] ttl in seconds; not used
-- Reply   {changed_waiting, changed_slot}; {0, 0}: the id was taken for dead
-- uses: clock common semaphore

local id, heartbeat = ARGV[1], to_ms(ARGV[2])

local sem = open_semaphore({
    line = KEYS[1], alive = KEYS[2], main = KEYS[3], ttl = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return again()
end

local alive_until = (sem.now + heartbeat) / 1000
local holds, place, note = find_client(sem, id)
if holds then
    redis.call('ZADD', sem.main, alive_until, id)
    keep_slots(sem, heartbeat)
elseif place and not (note and note.token ~= '') then
    redis.call('ZADD', sem.alive, alive_until, id)
    keep_line(sem, heartbeat)
end
return {place and 1 or 0, holds and 1 or 0}
