-- SPDX-License-Identifier: Apache-2.0
-- SEM.WAKE: sets the limit and hands free slots to the first in line.
--
-- KEYS[1] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[2] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[3] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[4] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[5] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV[1] limit
-- ARGV[2] heartbeat  in seconds, for clients that recorded none
-- ARGV[3] ttl        in seconds, for the same
-- Returns how many clients got a slot
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name
-- uses: clock common semaphore_notes semaphore_slots semaphore

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
drop_if_idle(sem) -- if all that waited were refused
return granted
