-- SPDX-License-Identifier: Apache-2.0
-- SEM.CARD: how many slots are in use.
--
-- KEYS[1] NS:semaphore_main:N               sorted set, holders by end of heartbeat
-- KEYS[2] NS:semaphore_ttl:N                sorted set, holders by end of TTL
-- KEYS[3] NS:semaphore_max:N                string, the limit
-- KEYS[4] NS:semaphore_waiting:N            sorted set, the line by arrival
-- KEYS[5] NS:semaphore_waiting_heartbeat:N  sorted set, the line by end of heartbeat
-- KEYS[6] NS:semaphore_own:N                hash, notes on the ids
-- KEYS[7] NS:semaphore_fence:N              string, the last fence
-- Reply   the number
-- uses: clock common semaphore

local sem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], max = KEYS[3], line = KEYS[4], alive = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return again()
end
return sem.in_use
