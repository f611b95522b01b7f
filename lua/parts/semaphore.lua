-- SPDX-License-Identifier: Apache-2.0
-- What the commands on semaphores are made of.

-- Returns the semaphore as it is now; nil if the script has to answer AGAIN.
local function open_semaphore(keys)
    local sem = keys
    sem.now = now_ms()
    sem.names = sem.main:gsub('semaphore_main:', 'semaphore_names:', 1)
    sem.in_use = redis.call('ZCARD', sem.main)
    sem.waiting = redis.call('ZCARD', sem.line)
    sem.limit = 0
    sem.steps = STEPS_MAX
    sem.granted = {} -- the slots this call gave, by id
    -- The terms of clients that recorded none.
    sem.terms = {
        heartbeat = limits.SEM_HEARTBEAT_DEFAULT_MS, ttl = limits.SEM_TTL_DEFAULT_MS, token = '',
        channel = '', slots = 1,
    }
    if sem.in_use == 0 and sem.waiting == 0 then
        sem.is_new = true
        return sem
    end
    sem.limit = tonumber(redis.call('GET', sem.max)) or 0
    if not expire(sem) then
        return nil
    end
    return sem
end

-- Puts a waiter for several slots back at the head of the line: another program took it out and
-- gave it one slot, and there are no more.
local function put_back(sem, id, note)
    local first = redis.call('ZRANGE', sem.line, 0, 0, 'WITHSCORES')[2]
    take_slots(sem, {id})
    redis.call('ZADD', sem.line, first and tonumber(first) - 0.000001 or sem.now / 1000, id)
    redis.call('ZADD', sem.alive, math.min(note.wait_end, sem.now + GARBAGE_AFTER_MS) / 1000, id)
    write_note(sem, id, note)
    redis.call('ZADD', sem.names, 0, id)
    sem.waiting = sem.waiting + 1
end

-- Completes the grant of a slot that another program gave to a waiter of these scripts. Returns the
-- note on it; nil if the waiter needs more slots than there are, and is in line again.
local function adopt(sem, id, note)
    if note.channel ~= '' then
        redis.call('DEL', notification_key(sem, id))
    end
    if note.slots > 1 and sem.in_use - 1 + note.slots > math.max(sem.limit, note.limit) then
        put_back(sem, id, note)
        return nil
    end
    grant(sem, {id}, {note}, sem.now, true)
    return sem.granted[id]
end

-- Returns whether the id holds a slot, its position in line (from 1) if not, and its note.
local function find_client(sem, id)
    local holds = sem.in_use > 0 and redis.call('ZSCORE', sem.main, id) and true
    local rank = not holds and sem.waiting > 0 and redis.call('ZRANK', sem.line, id)
    if not holds and not rank then
        return false, nil, nil
    end
    local note = read_note(redis.call('HGET', sem.own, id))
    if note and holds and not note.holds then
        local slot = adopt(sem, id, note)
        if not slot then
            return false, 1, note
        end
        note = slot
    elseif note and not holds and note.holds then
        note = nil
    end
    return holds, rank and rank + 1 or nil, note
end

-- Writes and returns a note on a slot that a client of another program got by itself.
local function note_stranger(sem, id, heartbeat, ttl, token)
    local note = {
        holds = true, heartbeat = heartbeat, ttl = ttl, granted = sem.now,
        fence = take_fence(sem), token = token, in_use = sem.in_use,
        slots = 1,
    }
    redis.call('ZADD', sem.ttl, 'NX', (sem.now + ttl) / 1000, id)
    redis.call('ZADD', sem.names, 0, id)
    write_note(sem, id, note)
    save_fence(sem, ttl)
    keep_slots(sem, ttl)
    return note
end

local function set_limit(sem, limit)
    if sem.limit ~= limit then
        redis.call('SET', sem.max, digits(limit), 'KEEPTTL')
        sem.limit = limit
    end
end

-- Returns the slots that this many waiters from the first on wait for. Of more than one call can
-- read, each is taken to wait for one: who is granted nothing then still waits, or is refused.
local function slots_ahead(sem, ahead)
    if ahead == 0 or ahead > limits.SEM_SLOTS_MAX then
        return ahead
    end
    local slots = 0
    local ids = redis.call('ZRANGE', sem.line, 0, digits(ahead - 1))
    local notes = read_notes(sem, ids)
    for i = 1, #ids do
        slots = slots + slots_wanted(notes[i])
    end
    return slots
end

-- Returns whether the slots in use, those ahead in line wait for, and these fit the limit.
local function fits_behind(sem, ahead, slots, limit)
    return sem.in_use + ahead + slots <= limit
        and sem.in_use + slots_ahead(sem, ahead) + slots <= limit
end

-- Removes some of the notes on ids that other programs removed. They pile up if the semaphore is
-- never idle; once they outnumber the others, each client that joins the line sweeps a few.
local function sweep_notes(sem)
    if redis.call('HLEN', sem.own) <= 2 * (sem.in_use + sem.waiting) + STEPS_MAX then
        return
    end
    local cursor = redis.call('HGET', sem.own, '{swept}') or '0'
    local page = redis.call('HSCAN', sem.own, cursor, 'COUNT', 20)
    for i = 1, #page[2], 2 do
        local field = page[2][i]
        if field ~= HANDING_ON and not redis.call('ZSCORE', sem.main, field)
            and not redis.call('ZSCORE', sem.line, field) then
            redis.call('HDEL', sem.own, field)
            redis.call('ZREM', sem.names, field)
        end
    end
    redis.call('HSET', sem.own, '{swept}', page[1])
end

-- Puts an id that neither holds nor waits at the end of the line, also if the clock stepped back.
local function join_line(sem, id)
    local arrival = sem.now / 1000
    if sem.waiting > 0 then
        local last = redis.call('ZREVRANGE', sem.line, 0, 0, 'WITHSCORES')[2]
        arrival = math.max(arrival, tonumber(last) + 0.000001)
    else
        redis.call('HDEL', sem.own, HANDING_ON)
    end
    sweep_notes(sem)
    redis.call('ZADD', sem.line, arrival, id)
    redis.call('ZADD', sem.names, 0, id)
    sem.waiting = sem.waiting + 1
end

local function no_slot(sem, slots, limit)
    local why = slots == 1
        and string.format('%.0f of %.0f slots in use, %.0f waiting', sem.in_use, limit, sem.waiting)
        or string.format('SLOTS %.0f, but %.0f slots are free, %.0f waiting', slots,
            math.max(limit - sem.in_use, 0), sem.waiting)
    return {0, 'NO_SLOT', why}
end

-- Keeps the keys of a waiter for these milliseconds.
local function keep_line(sem, ms)
    keep(sem.line, ms, sem.is_new)
    keep(sem.alive, ms, sem.is_new)
    keep(sem.own, ms, sem.is_new)
    keep(sem.names, ms, sem.is_new)
    keep(sem.max, ms, sem.is_new)
end

-- Returns the milliseconds after which it is of use for a waiting call to poll: a slot falls free
-- by time, or its wait is over.
local function look_again_ms(sem, wait_end)
    return math.max(math.min(wait_end, from_score(slots_due(sem))) - sem.now, 0)
end
