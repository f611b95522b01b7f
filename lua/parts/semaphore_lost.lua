-- SPDX-License-Identifier: Apache-2.0
-- Holders and waiters that are noted, but that the sorted sets no longer have. Another program took
-- them out, and then they are gone; or it let a whole key expire, by a TTL that was long enough for
-- its own clients alone, and then they are put back.
--
-- What a program takes out it takes out of both sorted sets, of slots and TTLs or of the line and
-- its heartbeats. So an id that is in neither was taken out, unless it came before the second key
-- was made, or that has no KEPT: then it counts as lost.

-- A call that waits polls more often than that.
local POLLED_WITHIN_MS = 10000

-- Was the id taken out of this key, which it was in since then?
local function was_taken_out(key, id, since)
    local made = not redis.call('ZSCORE', key, id) and redis.call('ZSCORE', key, KEPT)
    return made and since >= tonumber(made) - KEPT_BASE
end

-- Marks a key that is made anew as later than all that was lost with the former one.
local function mark_later(sem, key)
    redis.call('ZADD', key, 'NX', digits(KEPT_BASE + sem.now + 1), KEPT)
end

local function restore_holder(sem, id, note)
    local ends = note.granted + note.ttl
    if math.min(note.alive_until, ends) <= sem.now or was_taken_out(sem.ttl, id, note.granted) then
        return false
    end
    sem.in_use = sem.in_use + score_slots(sem.main, id, note.slots, note.alive_until)
    score_slots(sem.ttl, id, note.slots, ends)
    mark_later(sem, sem.ttl)
    keep_slots(sem, ends - sem.now)
    return true
end

local function restore_waiter(sem, id, note)
    if note.arrival == 0 or was_taken_out(sem.alive, id, from_score(note.arrival)) then
        return false
    end
    local score = redis.call('ZSCORE', sem.alive, id)
    local alive_until = score and from_score(score)
        or note.alive_until > 0 and note.alive_until
        or math.min(note.wait_end, sem.now + POLLED_WITHIN_MS)
    if alive_until <= sem.now then
        return false
    end
    sem.waiting = sem.waiting + redis.call('ZADD', sem.line, note.arrival, id)
    redis.call('ZADD', sem.alive, alive_until / 1000, id)
    mark_later(sem, sem.alive)
    keep_line(sem, math.max(alive_until, note.wait_end) - sem.now)
    return true
end

-- Puts a client back that no sorted set has, if it was lost. Returns whether it is there again.
local function restore(sem, id, note)
    if note.holds then
        return restore_holder(sem, id, note)
    end
    return restore_waiter(sem, id, note)
end

-- Puts a client back that was lost, or forgets it if it was taken out.
local function restore_or_forget(sem, id, note)
    if redis.call('ZSCORE', sem.main, id) or redis.call('ZSCORE', sem.line, id)
        or note and restore(sem, id, note) then
        return
    end
    redis.call('HDEL', sem.own, id)
    redis.call('ZREM', sem.names, id)
    redis.call('ZREM', sem.ttl, unpack(members_of(id, note and note.slots or 1)))
    redis.call('ZREM', sem.alive, id)
end

-- Are there more clients that came through these scripts than the sorted sets have members?
local function misses_some(sem)
    return redis.call('ZCARD', sem.names) > sem.in_use + sem.waiting
end

-- Puts back all that were lost. Returns false if it takes another call.
local function mend(sem)
    local after = redis.call('HGET', sem.own, MENDING)
    local resumed = after
    while sem.steps > 0 do
        local ids = redis.call('ZRANGEBYLEX', sem.names, after and '(' .. after or '-', '+',
            'LIMIT', 0, math.ceil(math.min(sem.steps, BATCH) / GRANT_STEPS))
        if #ids == 0 and not (resumed and misses_some(sem)) then
            redis.call('HDEL', sem.own, MENDING)
            sem.steps = math.max(sem.steps, STEPS_OWN)
            return true
        elseif #ids == 0 then -- an earlier call gave up in the middle of another loss
            resumed, after = nil, nil
        else
            local notes = redis.call('HMGET', sem.own, unpack(ids))
            for i, id in ipairs(ids) do
                restore_or_forget(sem, id, read_note(notes[i]))
            end
            sem.steps, after = sem.steps - GRANT_STEPS * #ids, ids[#ids]
        end
    end
    redis.call('HSET', sem.own, MENDING, after)
    sem.steps = STEPS_OWN
    return false
end
