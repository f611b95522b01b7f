-- SPDX-License-Identifier: Apache-2.0
-- SEM.WAKE: sets the limit and hands free slots to the first in line.
--
-- KEYS[1] NS:semaphore_main:N               sorted set, holders by end of heartbeat
-- KEYS[2] NS:semaphore_ttl:N                sorted set, holders by end of TTL
-- KEYS[3] NS:semaphore_waiting:N            sorted set, the line by arrival
-- KEYS[4] NS:semaphore_waiting_heartbeat:N  sorted set, the line by end of heartbeat
-- KEYS[5] NS:semaphore_max:N                string, the limit
-- KEYS[6] NS:semaphore_own:N                hash, notes on the ids
-- KEYS[7] NS:semaphore_fence:N              string, the last fence
-- ARGV[1] limit
-- ARGV[2] heartbeat in seconds, for clients that recorded none
-- ARGV[3] ttl in seconds, for the same
-- Reply   how many clients got a slot
-- uses: clock common semaphore

local limit, heartbeat, ttl = check_limit(ARGV[1]), to_ms(ARGV[2]), to_ms(ARGV[3])

local sem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], line = KEYS[3], alive = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return again()
end
if sem.in_use == 0 and sem.waiting == 0 then
    return 0
end

sem.terms.heartbeat, sem.terms.ttl = heartbeat, ttl
set_limit(sem, limit)
local granted, more = hand_out(sem, sem.now)
if more then
    redis.call('HINCRBY', sem.own, WOKEN, granted)
    return again()
end
local before = redis.call('HGET', sem.own, WOKEN)
if before then
    redis.call('HDEL', sem.own, WOKEN)
    granted = granted + tonumber(before)
end
return granted
