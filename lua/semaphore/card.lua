-- SPDX-License-Identifier: Apache-2.0
-- SEM.CARD: how many slots are in use.
--
-- KEYS[1] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[2] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[3] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[4] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[5] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV    none
-- Returns the number
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name; and those of the keys
--         behind the first two that are not given: who calls with the keys of the layout alone
--         never gets AGAIN
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open

local sem, problem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], max = KEYS[3], line = KEYS[4], alive = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return problem or again()
end
return slots_in_use(sem)
