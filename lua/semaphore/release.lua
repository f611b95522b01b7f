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
-- ARGV[2] +first  if it is given, only what an acquire_slot got or waits for whose token is a
--                 number from this one on is given back, unless another call was answered with it
-- ARGV[3] +last   up to this one
-- Returns 1, or 0 if the id neither held a slot nor stood in line
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name; and those of the keys
--         behind the first four that are not given: who calls with the keys of the layout alone
--         never gets AGAIN
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open semaphore

local id = check_id(ARGV[1])

local sem, problem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], line = KEYS[3], alive = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return problem or again()
end

if ARGV[3] then
    local note = read_note(redis.call('HGET', sem.own, id))
    local token = note and not note.shared and tonumber(note.token)
    if not token or token < tonumber(ARGV[2]) or token > tonumber(ARGV[3]) then
        return 0
    end
end
local left = leave(sem, id)
if left == nil then
    return again()
end
return left and 1 or 0
