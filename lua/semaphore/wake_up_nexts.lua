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
-- ARGV[4] +now       not used: the time is that of the server
-- ARGV[5] +pattern   of the lists on which clients wait that joined the line by QUEUE, with
--                    @@@ACQUISITION_ID@@@ in place of the id; the usual ones if it is not given
-- Returns how many clients got a slot
-- Refuses nothing
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name; and those of the keys
--         behind the first four that are not given: who calls with the keys of the layout alone
--         never gets AGAIN
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open semaphore

-- Returns an error to answer with if clients cannot be notified by the pattern: without the tag of
-- the other keys a cluster would end the script at the first list, half done.
local function check_pattern(sem)
    local pattern = ARGV[5]
    local list = list_by(pattern, 'a')
    if not list then
        return redis.error_reply('ERR a pattern of notification lists has ' .. ID_PLACE
            .. ' in place of the id; nothing was changed')
    end
    local tag = tag_of(sem.main)
    if tag and tag ~= tag_of(list) then
        local found = redis.pcall('EXISTS', sem.main, list, list_by(pattern, 'b'))
        if type(found) == 'table' then
            return redis.error_reply('CROSSSLOT on a cluster the pattern of notification lists '
                .. 'has the tag of the other keys, ' .. tag .. '; nothing was changed')
        end
    end
    sem.pattern = pattern
end

-- Remembers the pattern of lists that a program waits on, for slots that are handed on by others.
local function save_pattern(sem)
    if sem.pattern and sem.pattern ~= usual_pattern(sem)
        and sem.pattern ~= redis.call('HGET', sem.own, PATTERN) then
        redis.call('HSET', sem.own, PATTERN, sem.pattern)
        keep(sem.own, 0)
    end
end

local limit, heartbeat, ttl = check_limit(ARGV[1]), heartbeat_ms(ARGV[2]), ttl_ms(ARGV[3])
local has_pattern = ARGV[5] and ARGV[5] ~= ''

local sem, problem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], line = KEYS[3], alive = KEYS[4], max = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
}, nil, has_pattern and check_pattern or nil)
if not sem then
    return problem or again()
end
if sem.in_use == 0 and sem.waiting == 0 then
    return 0
end

sem.terms.heartbeat, sem.terms.ttl = heartbeat, ttl
set_limit(sem, limit)
save_pattern(sem)
local woken = redis.call('HGET', sem.own, WOKEN)
local before, since = (woken or ''):match('^W (%d+) (%d+)')
if woken and sem.now >= (tonumber(since) or 0) + GARBAGE_AFTER_MS then
    redis.call('HDEL', sem.own, WOKEN) -- whoever called did not call again
    woken, before = nil, nil
end
local granted, more = hand_out(sem, sem.now)
if more and sem.by_layout then -- the next calls hand out the rest
    redis.call('HSET', sem.own, HANDING_ON, digits(sem.now))
    return granted
elseif more then
    if not woken then
        redis.call('HSET', sem.own, WOKEN,
            'W ' .. digits(granted) .. ' ' .. digits(sem.now))
    end
    return again()
end
if woken then
    redis.call('HDEL', sem.own, WOKEN)
    granted = granted + tonumber(before)
end
drop_if_idle(sem) -- if all that waited were refused
return granted
