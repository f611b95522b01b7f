-- SPDX-License-Identifier: Apache-2.0
-- What the commands on semaphores are made of.

-- ---- arguments ---------------------------------------------------------------------------------

-- Returns seconds as whole milliseconds, from 0 on; unlike a TTL, they have no upper bound.
local function span_ms(seconds)
    local ms = math.floor((tonumber(seconds) or -1) * 1000 + 0.5)
    if not (ms >= 0 and ms <= limits.HF_INTEGER_MAX) then
        error('a span of time is a number of seconds')
    end
    return ms
end

local function heartbeat_ms(seconds)
    return capped_ms(seconds, limits.SEM_HEARTBEAT_DEFAULT_MS)
end

local function ttl_ms(seconds)
    return capped_ms(seconds, limits.SEM_TTL_DEFAULT_MS)
end

local function check_id(id)
    if not id or id == '' or #id > limits.HF_ID_MAX or id:find('[%s%c{}]') then
        error('an id has 1 to limits.HF_ID_MAX bytes without spaces, control characters, { and }')
    end
    return id
end

local function check_limit(text)
    local limit = tonumber(text)
    if not limit or not (limit >= 1 and limit <= limits.HF_INTEGER_MAX) or limit % 1 ~= 0 then
        error('a limit is a whole number from 1')
    end
    return limit
end

local function check_slots(text)
    local slots = tonumber(text)
    if not slots or not (slots >= 1 and slots <= limits.SEM_SLOTS_MAX) or slots % 1 ~= 0 then
        error('slots are a whole number from 1 to limits.SEM_SLOTS_MAX')
    end
    return slots
end

-- ---- clients -----------------------------------------------------------------------------------

-- Puts a waiter for several slots back at the head of the line: another program took it out and
-- gave it one slot, and there are no more.
local function put_back(sem, id, note)
    local first = redis.call('ZRANGE', sem.line, 0, 0, 'WITHSCORES')[2]
    take_slots(sem, {id})
    note.arrival = first and tonumber(first) - 0.000001 or sem.now / 1000
    redis.call('ZADD', sem.line, note.arrival, id)
    redis.call('ZADD', sem.alive, math.min(note.wait_end, sem.now + GARBAGE_AFTER_MS) / 1000, id)
    write_note(sem, id, note)
    redis.call('ZADD', sem.names, 0, id)
    sem.waiting = sem.waiting + 1
end

-- Completes the grant of a slot that another program gave to a waiter of these scripts. Returns the
-- note on it; nil if the waiter needs more slots than there are, and is in line again.
local function adopt(sem, id, note)
    if note.channel ~= '' then
        redis.call('DEL', unpack(notification_lists(sem, id)))
    end
    if note.slots > 1 and sem.in_use - 1 + note.slots > math.max(sem.limit, note.limit) then
        put_back(sem, id, note)
        return nil
    end
    grant(sem, {id}, {note}, sem.now, true)
    return sem.granted[id]
end

-- Returns the score of an id that holds a slot, unless it is due and one call could not drop all
-- that is.
local function holder_score(sem, id)
    local score = sem.in_use > 0 and redis.call('ZSCORE', sem.main, id)
    return score and not (sem.is_behind and from_score(score) <= sem.now) and score
end

-- Takes the slots of a holder whose TTL is over: the key that said when is gone. Returns whether it
-- was so.
local function drop_unnoticed(sem, id, note)
    if note.alive_until == 0 or note.granted + note.ttl > sem.now then
        return false
    end
    take_slots(sem, members_of(id, note.slots))
    hand_out_now(sem)
    return true
end

-- Returns whether an id that no sorted set has is there after all, its position if it waits, and
-- its note.
local function find_lost(sem, id)
    local note = not sem.is_new and read_note(redis.call('HGET', sem.own, id))
    if not note or not restore(sem, id, note) then
        return false, nil, nil
    end
    return note.holds, not note.holds and redis.call('ZRANK', sem.line, id) + 1 or nil, note
end

-- Returns whether the id holds a slot, its position in line (from 1) if not, and its note.
local function find_client(sem, id)
    local holds = holder_score(sem, id) and true
    local rank = not holds and sem.waiting > 0 and redis.call('ZRANK', sem.line, id)
    if not holds and not rank then
        return find_lost(sem, id)
    end
    local note = read_note(redis.call('HGET', sem.own, id))
    if note and holds and not note.holds then
        local slot = adopt(sem, id, note)
        if not slot then
            return false, 1, note
        end
        note = slot
    elseif note and holds and drop_unnoticed(sem, id, note) then
        return false, nil, nil
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
        slots = 1, alive_until = 0, -- its own program lets go of it without a word
    }
    redis.call('ZADD', sem.ttl, 'NX', (sem.now + ttl) / 1000, id)
    redis.call('ZADD', sem.names, 0, id)
    write_note(sem, id, note)
    save_fence(sem, ttl)
    keep_slots(sem, ttl)
    return note
end

-- Takes an id out of its slots or of the line, and hands on what that frees. Returns whether it was
-- there; nil if the script has to answer AGAIN.
local function leave(sem, id)
    local holds = holder_score(sem, id)
    local waits = not holds and sem.waiting > 0 and redis.call('ZSCORE', sem.line, id)
    if not holds and not waits then
        holds, waits = find_lost(sem, id)
    end
    if holds then
        -- Slots that were free before go first: a call that comes again must still find its own.
        local _, more = hand_out(sem, sem.now)
        if more and not sem.by_layout then
            return nil
        end
        local note = read_note(redis.call('HGET', sem.own, id))
        take_slots(sem, members_of(id, note and note.holds and note.slots or 1))
        sem.steps = math.max(sem.steps, STEPS_OWN)
        hand_out_now(sem)
    elseif waits then
        if remove_waiters(sem, {id}, RELEASED) then
            hand_out_now(sem)
        end
    else
        return false
    end
    drop_if_idle(sem)
    return true
end

local function set_limit(sem, limit)
    if sem.limit ~= limit then
        redis.call('SET', sem.max, digits(limit), 'PX', digits(limits.HF_TTL_MAX_MS + DAY_MS))
        redis.call('HSET', sem.own, LIMIT, digits(limit))
        if not sem.is_new then -- otherwise whoever sets it keeps all keys
            keep(sem.own, 0)
        end
        sem.limit = limit
    end
end

-- Returns the slots that this many waiters from the first on wait for. Of more than one call can
-- read, each is taken to wait for one: who is granted nothing then still waits, or is refused.
local function slots_ahead(sem, ahead)
    if ahead == 0 or ahead > AHEAD_READ then
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

-- Returns whether an answer that a call left behind is older than any call that may come for it.
local function is_stale_answer(sem, answer)
    local at = tonumber(answer:match('^R? ?%d+ %d+ (%d+)$') or 0)
    return at + limits.RETRY_WINDOW_MS < sem.now
end

-- Removes some of the notes on ids that other programs removed, and of the answers that nobody came
-- for. They pile up if the semaphore is never idle; once they outnumber the others, each client
-- that joins the line sweeps a few. A field in braces that is no answer is about the semaphore as a
-- whole. Redis returns all fields of a small hash: of those it is the turn of others each time.
local function sweep_notes(sem)
    if redis.call('HLEN', sem.own) <= 2 * (sem.in_use + sem.waiting) + SWEPT_FROM then
        return
    end
    local cursor = redis.call('HGET', sem.own, SWEPT) or '0'
    local page = redis.call('HSCAN', sem.own, cursor, 'COUNT', SWEPT_AT_ONCE)
    local fields, count = page[2], #page[2] / 2
    for step = 1, math.min(count, 2 * SWEPT_AT_ONCE) do
        local at = 2 * ((sem.now + step) % count) + 1
        local field, text = fields[at], fields[at + 1]
        if not field:find('{', 1, true) then
            restore_or_forget(sem, field, read_note(text))
        elseif text:find('^R? ?%d+ %d+') and is_stale_answer(sem, text) then
            redis.call('HDEL', sem.own, field)
        end
    end
    redis.call('HSET', sem.own, SWEPT, page[1])
end

-- Puts an id that neither holds nor waits at the end of the line, also if the clock stepped back.
-- Returns the score of its arrival.
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
    return arrival
end

local function no_slot(sem, slots, limit)
    local why = slots == 1
        and string.format('%.0f of %.0f slots in use, %.0f waiting', sem.in_use, limit, sem.waiting)
        or string.format('SLOTS %.0f, but %.0f slots are free, %.0f waiting', slots,
            math.max(limit - sem.in_use, 0), sem.waiting)
    return {0, 'NO_SLOT', why}
end

-- Returns the milliseconds after which it is of use for a waiting call to poll: a slot falls free
-- by time, or its wait is over.
local function look_again_ms(sem, wait_end)
    return math.max(math.min(wait_end, from_score(slots_due(sem))) - sem.now, 0)
end
