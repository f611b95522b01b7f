-- SPDX-License-Identifier: Apache-2.0
-- SEM.CONFIRM: takes a slot that was handed over into use.
--
-- KEYS[1] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[2] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[3] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[4] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[5] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV[1] id
-- ARGV[2] limit
-- ARGV[3] heartbeat  in seconds, from now
-- ARGV[4] ttl        in seconds, from the grant
-- Returns {changed, in_use}; changed 0: the id holds no slot, or no longer
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name; and those of the keys
--         behind the first three that are not given: who calls with the keys of the layout alone
--         never gets AGAIN
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open semaphore

local id, limit = check_id(ARGV[1]), check_limit(ARGV[2])
local heartbeat, ttl = heartbeat_ms(ARGV[3]), ttl_ms(ARGV[4])

local sem, problem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], max = KEYS[3], line = KEYS[4], alive = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return problem or again()
end

local holds, _, note = find_client(sem, id)
if not holds then
    return {0, slots_in_use(sem)}
end

note = note or note_stranger(sem, id, heartbeat, ttl, '')
local ends = note.granted + ttl
local changed = ends > sem.now and 1 or 0
if changed == 1 then
    note.heartbeat, note.ttl, note.alive_until = heartbeat, ttl, sem.now + heartbeat
    write_note(sem, id, note)
    score_slots(sem.main, id, note.slots, note.alive_until)
    score_slots(sem.ttl, id, note.slots, ends)
    set_limit(sem, limit)
    keep_slots(sem, ttl)
else
    take_slots(sem, members_of(id, note.slots))
end
if hand_out_now(sem) then
    return again()
end
drop_if_idle(sem)
return {changed, slots_in_use(sem)}
