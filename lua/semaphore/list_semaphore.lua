-- SPDX-License-Identifier: Apache-2.0
-- SEM.LIST: the holders and the waiters of a semaphore, a page at a time, in the order of their
-- names. Clients of other programs are not among them.
--
-- KEYS[1] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[2] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[3] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[4] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[5] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- KEYS[8] adv-sem:semaphore_names:$name              sorted set, the ids that hold or wait by name
-- ARGV[1] after  the cursor of the page before, or empty
-- ARGV[2] count  how many clients at most; half of limits.PAGE_SCRIPT_LOOKS are the
--                most
-- Returns {cursor, {'id', id, 'state', 'holding' or 'waiting', 'slots', n, 'position', n,
--         'fence', n, 'age_ms', ms, 'expires_in_ms', ms}, ...}; a holder has no position, a waiter
--         no fence
-- Refuses INVALID_ARGUMENT
-- Errors  AGAIN
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open page

local sem, problem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], max = KEYS[3], line = KEYS[4], alive = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return problem or again()
end

local function holder(id, note, heartbeat_end)
    local ends = from_score(heartbeat_end)
    local ttl_end = redis.call('ZSCORE', sem.ttl, id)
    if ttl_end then
        ends = math.min(ends, from_score(ttl_end))
    end
    local left = ends - sem.now
    if not note or not note.holds then
        return {'id', id, 'state', 'holding', 'slots', 1, 'expires_in_ms', left}
    end
    return {'id', id, 'state', 'holding', 'slots', note.slots, 'fence', note.fence,
        'age_ms', sem.now - note.granted, 'expires_in_ms', left}
end

local function waiter(id, note, rank)
    local arrival = redis.call('ZSCORE', sem.line, id)
    local ends = note and not note.holds and note.token ~= '' and note.wait_end
    if not ends then
        ends = from_score(redis.call('ZSCORE', sem.alive, id) or sem.now / 1000)
    end
    return {'id', id, 'state', 'waiting', 'slots', slots_wanted(note), 'position', rank + 1,
        'age_ms', math.max(sem.now - from_score(arrival), 0), 'expires_in_ms', ends - sem.now}
end

-- A client takes as long as two records elsewhere, and a step of what fell due as three.
local names, cursor = page_names(KEYS[8], ARGV[1] or '', ARGV[2],
    math.ceil(limits.PAGE_SCRIPT_LOOKS / 2) + 3 * (STEPS_MAX - sem.steps))
if not names then
    return no_cursor(ARGV[1])
end
local page = {cursor}
local notes = #names > 0 and read_notes(sem, names) or {}
for i, id in ipairs(names) do
    local note = notes[i]
    local heartbeat_end = redis.call('ZSCORE', sem.main, id)
    local rank = not heartbeat_end and redis.call('ZRANK', sem.line, id)
    if heartbeat_end then
        page[#page + 1] = holder(id, note, heartbeat_end)
    elseif rank then
        page[#page + 1] = waiter(id, note, rank)
    end
end
return page
