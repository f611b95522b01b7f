-- SPDX-License-Identifier: Apache-2.0
-- SEM.RELEASE: leaves the slot or the line; the slots go to the next in line in the same step.
--
-- KEYS[1] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[2] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[3] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[4] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[5] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV[1] id
-- Returns 1, or 0 if the id neither held a slot nor stood in line
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name
-- uses: clock common semaphore_notes semaphore_slots semaphore

local id = ARGV[1]

local sem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], line = KEYS[3], alive = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return again()
end

local left = false
if sem.in_use > 0 and redis.call('ZSCORE', sem.main, id) then
    -- Slots that were free before go first: a call that has to come again must still find its own.
    local _, more = hand_out(sem, sem.now)
    if more then
        return again()
    end
    local note = read_note(redis.call('HGET', sem.own, id))
    take_slots(sem, members_of(id, note and note.holds and note.slots or 1))
    left = true
    sem.steps = STEPS_MAX
    hand_out_now(sem)
elseif sem.waiting > 0 and redis.call('ZSCORE', sem.line, id) then
    left = true
    if remove_waiters(sem, {id}, RELEASED) then
        hand_out_now(sem)
    end
end
if left then
    drop_if_idle(sem)
end
return left and 1 or 0
