-- SPDX-License-Identifier: Apache-2.0
-- SEM.QUEUE: stands in line without waiting for the answer. Grants nothing.
--
-- KEYS[1] NS:semaphore_waiting:N            sorted set, the line by arrival
-- KEYS[2] NS:semaphore_waiting_heartbeat:N  sorted set, the line by end of heartbeat
-- KEYS[3] NS:semaphore_main:N               sorted set, holders by end of heartbeat
-- KEYS[4] NS:semaphore_ttl:N                sorted set, holders by end of TTL
-- KEYS[5] NS:semaphore_max:N                string, the limit
-- KEYS[6] NS:semaphore_own:N                hash, notes on the ids
-- KEYS[7] NS:semaphore_fence:N              string, the last fence
-- ARGV[1] id
-- ARGV[2] heartbeat in seconds
-- ARGV[3] ttl in seconds
-- Reply   {1, position}; 0: the id holds a slot. When it gets one, '1' is pushed to the list
--         NS:acquisition_notification:ID, where N is in braces NS:acquisition_notification:{N}:ID.
-- uses: clock common semaphore

local id, heartbeat, ttl = ARGV[1], to_ms(ARGV[2]), to_ms(ARGV[3])

local sem = open_semaphore({
    line = KEYS[1], alive = KEYS[2], main = KEYS[3], ttl = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return again()
end

local holds, place, note = find_client(sem, id)
if holds then
    return {1, 0}
end
if not place then
    redis.call('DEL', notification_key(sem, id))
    join_line(sem, id)
    place = sem.waiting
end
-- An ACQUIRE that waits is its own sign of life.
if not note or note.token == '' then
    write_note(sem, id,
        {heartbeat = heartbeat, ttl = ttl, wait_end = 0, limit = 0, token = '', channel = ''})
    redis.call('ZADD', sem.alive, (sem.now + heartbeat) / 1000, id)
    keep_line(sem, heartbeat)
end
return {1, place}
