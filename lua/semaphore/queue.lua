-- SPDX-License-Identifier: Apache-2.0
-- SEM.QUEUE: stands in line without waiting for the answer. It grants nothing.
--
-- KEYS[1] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[2] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[3] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[4] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[5] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV[1] id
-- ARGV[2] heartbeat  in seconds; 30 days if it is longer, as for all of these scripts
-- ARGV[3] ttl        in seconds; the same
-- Returns {1, position}; position 0: the id holds a slot. When it gets one, '1' is pushed to the
--         list adv-sem:acquisition_notification:ID, on a cluster
--         adv-sem:acquisition_notification:{$name}:ID, or to that of the pattern that WAKE was
--         given. Who queues again with a slot, by the keys of the layout alone, is notified again.
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name; and those of the keys
--         behind the first two that are not given: who calls with the keys of the layout alone
--         never gets AGAIN
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open semaphore

local id, heartbeat, ttl = check_id(ARGV[1]), heartbeat_ms(ARGV[2]), ttl_ms(ARGV[3])

local sem, problem = open_semaphore({
    line = KEYS[1], alive = KEYS[2], main = KEYS[3], ttl = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return problem or again()
end

local holds, position, note = find_client(sem, id)
if holds then
    if sem.by_layout then -- it waits for its list all the same: it lost the answer to a call
        push_notification(sem, id, heartbeat)
    end
    return {1, 0}
end
local arrival = note and note.arrival
if not position then
    redis.call('DEL', unpack(notification_lists(sem, id)))
    arrival = join_line(sem, id)
    position = sem.waiting
end
-- An ACQUIRE that waits is its own sign of life.
if not note or note.token == '' then
    write_note(sem, id,
        {heartbeat = heartbeat, ttl = ttl, wait_end = 0, limit = 0, token = '', channel = '',
            slots = 1, alive_until = sem.now + heartbeat,
            arrival = arrival or tonumber(redis.call('ZSCORE', sem.line, id))})
    redis.call('ZADD', sem.alive, (sem.now + heartbeat) / 1000, id)
    keep_line(sem, heartbeat)
end
return {1, position}
