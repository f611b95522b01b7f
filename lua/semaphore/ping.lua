-- SPDX-License-Identifier: Apache-2.0
-- SEM.PING: the client is still alive. It never moves a position in line or the end of a TTL.
--
-- KEYS[1] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[2] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[3] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[4] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[5] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV[1] id
-- ARGV[2] heartbeat  in seconds, from now
-- ARGV[3] ttl        in seconds; not used
-- Returns {changed_waiting, changed_slot}; {0, 0}: the id was taken for dead
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name; and those of the keys
--         behind the first three that are not given: who calls with the keys of the layout alone
--         never gets AGAIN
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open semaphore

local id, heartbeat = check_id(ARGV[1]), heartbeat_ms(ARGV[2])

local sem, problem = open_semaphore({
    line = KEYS[1], alive = KEYS[2], main = KEYS[3], ttl = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return problem or again()
end

local alive_until = sem.now + heartbeat
local holds, position, note = find_client(sem, id)
if holds then
    score_slots(sem.main, id, note and note.slots or 1, alive_until)
    if note and note.alive_until > 0 then
        note.alive_until = alive_until
        write_note(sem, id, note)
        if not redis.call('ZSCORE', sem.ttl, id) then -- its key was gone
            score_slots(sem.ttl, id, note.slots, note.granted + note.ttl)
        end
    end
    keep_slots(sem, heartbeat)
elseif position and not (note and note.token ~= '') then
    if note then
        note.alive_until = alive_until
        write_note(sem, id, note)
    end
    redis.call('ZADD', sem.alive, alive_until / 1000, id)
    keep_line(sem, heartbeat)
end
return {position and 1 or 0, holds and 1 or 0}
