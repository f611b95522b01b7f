-- SPDX-License-Identifier: Apache-2.0
-- The slots of a semaphore: how they are granted, given up and handed on, by a command or because
-- time passed.

-- ---- slots ------------------------------------------------------------------------------------

-- Returns the next fence. Fences grow from grant to grant, also after the key was lost, unless the
-- clock stepped back.
local function take_fence(sem)
    if not sem.last_fence then
        sem.last_fence = tonumber(redis.call('GET', sem.fence)) or now_us() - 1
    end
    sem.last_fence = math.max(sem.last_fence + 1, sem.now * 1000)
    return sem.last_fence
end

local function save_fence(sem, ttl)
    redis.call('SET', sem.fence, digits(sem.last_fence), 'KEEPTTL')
    keep(sem.fence, ttl)
end

-- Keeps the keys of a slot until its TTL is over, whether its holder pings or not.
local function keep_slots(sem, ttl)
    keep(sem.main, ttl, sem.is_new)
    keep_marked(sem, sem.ttl, ttl)
    keep(sem.own, ttl, sem.is_new)
    keep(sem.names, ttl, sem.is_new)
    keep(sem.max, ttl, sem.is_new)
end

-- Writes down the last fence, and keeps what belongs to slots with such a TTL. While more is due
-- that waits for the end.
local function save_grants(sem, ttl)
    if sem.expiring then
        sem.longest_ttl = math.max(sem.longest_ttl or 0, ttl)
    else
        save_fence(sem, ttl)
        keep_slots(sem, ttl)
    end
end

-- Keeps the keys of a waiter for these milliseconds.
local function keep_line(sem, ms)
    keep(sem.line, ms, sem.is_new)
    keep_marked(sem, sem.alive, ms)
    keep(sem.own, ms, sem.is_new)
    keep(sem.names, ms, sem.is_new)
    keep(sem.max, ms, sem.is_new)
end

-- Notifies a client that it got a slot: the call that waits for it, unless this script replies to
-- it, or the client's list.
local function tell_granted(sem, id, terms, slot)
    if terms.channel ~= '' then
        answer_call(sem, id, terms, '1 ' .. digits(slot.in_use) .. ' ' .. digits(slot.fence))
    elseif terms.token == '' or terms.token ~= sem.token then
        push_notification(sem, id, slot.heartbeat)
    end
end

-- Sets when the heartbeat or the TTL of a holder ends, for all members by which it has its slots.
-- Returns how many were added.
local function score_slots(key, id, slots, until_ms)
    if slots == 1 then
        return redis.call('ZADD', key, until_ms / 1000, id)
    end
    local scored, score = {}, string.format('%.3f', until_ms / 1000) -- written once
    for i, member in ipairs(members_of(id, slots)) do
        scored[2 * i - 1], scored[2 * i] = score, member
    end
    return redis.call('ZADD', key, unpack(scored))
end

-- Gives slots to these ids from a time on, each on the terms of its note, if it has one. With
-- `held` another program has given each of them one already.
local function grant(sem, ids, notes, at, held)
    local texts, longest_ttl = {}, 0
    local in_use = sem.in_use - (held and #ids or 0)
    for i, id in ipairs(ids) do
        local note = notes[i]
        local terms = note and not note.holds and note or sem.terms
        in_use = in_use + terms.slots
        local slot = {
            holds = true, heartbeat = terms.heartbeat, ttl = terms.ttl, granted = at,
            fence = take_fence(sem), token = terms.token, in_use = in_use, slots = terms.slots,
            alive_until = at + terms.heartbeat,
        }
        sem.in_use = sem.in_use + score_slots(sem.main, id, slot.slots, slot.alive_until)
        score_slots(sem.ttl, id, slot.slots, at + slot.ttl)
        sem.first_main = sem.first_main and math.min(sem.first_main, slot.alive_until / 1000)
        sem.first_ttl = sem.first_ttl and math.min(sem.first_ttl, (at + slot.ttl) / 1000)
        texts[2 * i - 1], texts[2 * i] = id, note_text(slot)
        if terms == sem.terms then -- otherwise it was named when it joined the line
            redis.call('ZADD', sem.names, 0, id)
        end
        longest_ttl = math.max(longest_ttl, slot.ttl)
        sem.granted[id] = slot
        if not held or terms.channel ~= '' then
            tell_granted(sem, id, terms, slot)
        end
    end
    redis.call('HSET', sem.own, unpack(texts))
    save_grants(sem, longest_ttl)
end

-- Returns the steps that the grant of so many slots counts for: at most what one call may do.
local function grant_steps(slots)
    return math.min(STEPS_MAX, GRANT_STEPS + math.floor((slots - 1) / 7))
end

-- Returns how many of the waiters with these notes, from the first on, can have their slots now:
-- nobody gets any before the one ahead. And if the next cannot, why: 'slots', 'limit' or 'steps'.
local function count_fitting(sem, notes, count)
    local free, steps = sem.limit - sem.in_use, sem.steps
    for i = 1, count do
        local slots = slots_wanted(notes[i])
        local lacks = slots > sem.limit and 'limit' or slots > free and 'slots'
            or grant_steps(slots) > steps and 'steps'
        if lacks then
            return i - 1, lacks
        end
        free, steps = free - slots, steps - grant_steps(slots)
    end
    return count, nil
end

-- Takes waiters out of the line. Their notes stay.
local function leave_line(sem, ids)
    sem.waiting = sem.waiting - redis.call('ZREM', sem.line, unpack(ids))
    redis.call('ZREM', sem.alive, unpack(ids))
    sem.first_alive = nil
end

-- Refuses a waiter: the limit was lowered below the slots it waits for, and it would hold up the
-- line for ever.
local function refuse_waiter(sem, id, note)
    local figures = digits(note.slots) .. ' ' .. digits(sem.limit)
    leave_line(sem, {id})
    redis.call('HDEL', sem.own, id)
    redis.call('ZREM', sem.names, id)
    if note.token ~= '' then
        redis.call('HSET', sem.own, answer_field(id, note.token),
            'R ' .. figures .. ' ' .. digits(sem.now))
        answer_call(sem, id, note, '2 ' .. figures)
    end
    sem.steps = sem.steps - GRANT_STEPS
end

-- Grants that come between the calls of one WAKE are its own until nothing is left to hand out: a
-- waiter that polls gets its slot by itself. Adds them to what it has granted so far (WOKEN).
local function count_woken(sem, granted, more)
    local woken = granted > 0 and redis.call('HGET', sem.own, WOKEN)
    local count, since = (woken or ''):match('^W (%d+) (%d+)$')
    if count then
        redis.call('HSET', sem.own, WOKEN,
            'W ' .. digits(count + granted) .. ' ' .. since .. (more and '' or ' over'))
    end
    return granted, more
end

-- Grants free slots to the first in line. Returns to how many clients, and whether the rest needs
-- another call.
local function hand_out(sem, at)
    local granted = 0
    while sem.in_use < sem.limit and sem.waiting > 0 do
        local count = math.min(sem.limit - sem.in_use, sem.waiting, BATCH,
            math.floor(sem.steps / GRANT_STEPS))
        if count < 1 then
            return count_woken(sem, granted, true)
        end
        local ids = redis.call('ZRANGE', sem.line, 0, digits(count - 1))
        local notes = read_notes(sem, ids)
        local fitting, lacks = count_fitting(sem, notes, #ids)
        local first = {unpack(ids, 1, fitting)}
        if fitting > 0 then
            leave_line(sem, first)
            for i = 1, fitting do
                sem.steps = sem.steps - grant_steps(slots_wanted(notes[i]))
            end
            grant(sem, first, notes, at)
            granted = granted + fitting
        elseif lacks == 'limit' then
            refuse_waiter(sem, ids[1], notes[1])
        else
            return count_woken(sem, granted, lacks == 'steps')
        end
    end
    return count_woken(sem, granted, false)
end

-- Does the same at the current time, as part of a command. Returns true if there is more to hand
-- out and the script has to answer AGAIN: the next script on this semaphore does that first.
local function hand_out_now(sem)
    local _, more = hand_out(sem, sem.now)
    if more then
        redis.call('HSET', sem.own, HANDING_ON, digits(sem.now))
    end
    return more and not sem.by_layout
end

-- Takes the slots of these members from their holders.
local function take_slots(sem, ids)
    if #ids == 0 then
        return
    end
    sem.in_use = sem.in_use - redis.call('ZREM', sem.main, unpack(ids))
    redis.call('ZREM', sem.ttl, unpack(ids))
    sem.first_main, sem.first_ttl = nil, nil
    redis.call('ZREM', sem.names, unpack(ids))
    local notes = sem.behind and redis.call('HMGET', sem.own, unpack(ids)) or {}
    redis.call('HDEL', sem.own, unpack(ids))
    for i, id in ipairs(ids) do
        local slot = sem.granted[id] or read_note(notes[i])
        if slot and slot.holds and slot.token ~= '' and slot.granted >= (sem.behind or 0) then
            redis.call('HSET', sem.own, answer_field(id, slot.token),
                digits(slot.in_use) .. ' ' .. digits(slot.fence) .. ' ' .. digits(sem.now))
        end
    end
end

-- Removes these waiters. Returns whether one waited for several slots: those behind it may fit.
local function remove_waiters(sem, ids, why)
    if #ids == 0 then
        return false
    end
    local several = false
    local notes = read_notes(sem, ids)
    for i, id in ipairs(ids) do
        if notes[i] and not notes[i].holds then
            answer_timeout(sem, id, notes[i], why)
        end
        several = several or slots_wanted(notes[i]) > 1
    end
    leave_line(sem, ids)
    redis.call('HDEL', sem.own, unpack(ids))
    redis.call('ZREM', sem.names, unpack(ids))
    return several
end

-- Removes a semaphore without holders and waiters, with its limit.
local function drop_if_idle(sem)
    if sem.in_use > 0 or sem.waiting > 0 then
        return
    end
    sem.limit = 0
    redis.call('UNLINK', sem.max, sem.ttl, sem.alive, sem.names)
    redis.call('HDEL', sem.own, HANDING_ON, BEHIND, WOKEN, LIMIT, MENDING)
    redis.call('PEXPIRE', sem.own, limits.RETRY_WINDOW_MS) -- if answers are left, or old notes
end

-- ---- time -------------------------------------------------------------------------------------

local function first_score(key)
    return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or math.huge)
end

-- Returns the first moment at which a holder loses its slot; infinite if there is no holder.
local function slots_due(sem)
    if sem.in_use == 0 then
        return math.huge
    end
    return math.min(first_score(sem.main), first_score(sem.ttl))
end

-- Returns the ids that are due in this millisecond, as many as the call has steps left. `first` is
-- the first score in the key.
local function ids_due(sem, key, first, due)
    if first == math.huge or from_score(first) > due or sem.steps == 0 then
        return {}
    end
    local bound = math.max(first, (due + 0.499) / 1000)
    local ids = redis.call('ZRANGEBYSCORE', key, '-inf', bound, 'LIMIT', 0,
        math.min(sem.steps, BATCH))
    sem.steps = sem.steps - #ids
    return ids
end

-- Returns the same of a sorted set that goes with another one. Ids that the other one no longer has
-- are left over from what another program did, and are removed.
local function partners_due(sem, key, other, first, due)
    local partners, left_over = {}, {}
    for _, id in ipairs(ids_due(sem, key, first, due)) do
        local list = redis.call('ZSCORE', other, id) and partners or left_over
        list[#list + 1] = id
    end
    if #left_over > 0 then
        redis.call('ZREM', key, unpack(left_over))
        sem.first_ttl, sem.first_alive = nil, nil
    end
    return partners
end

-- Removes holders and waiters that are due in this millisecond. Returns whether others may fit
-- since.
local function drop_due(sem, due)
    local in_use, first_ttl, first_alive = sem.in_use, sem.first_ttl, sem.first_alive
    take_slots(sem, ids_due(sem, sem.main, sem.first_main, due))
    take_slots(sem, partners_due(sem, sem.ttl, sem.main, first_ttl, due))
    local several = remove_waiters(sem,
        partners_due(sem, sem.alive, sem.line, first_alive, due), WAITED)
    return several or sem.in_use < in_use
end

-- Returns the first score of all that say when something is due. They are read again only after
-- their key was changed.
local function next_score(sem)
    sem.first_main = sem.in_use > 0 and (sem.first_main or first_score(sem.main)) or math.huge
    sem.first_ttl = sem.in_use > 0 and (sem.first_ttl or first_score(sem.ttl)) or math.huge
    sem.first_alive = sem.waiting > 0 and (sem.first_alive or first_score(sem.alive)) or math.huge
    return math.min(sem.first_main, sem.first_ttl, sem.first_alive)
end

-- Carries out all that is due up to now, in the order in which it fell due; a slot that fell free
-- is granted as of that moment. Returns false if that takes another call.
local function expire(sem)
    local handing_on = sem.waiting > 0 and tonumber(redis.call('HGET', sem.own, HANDING_ON)) or nil
    local was_handing_on, now, dropped = handing_on, sem.now, false
    local more, first_due = false, nil
    sem.expiring = true
    while not more do
        local score = next_score(sem)
        local due = score < math.huge and from_score(score) or math.huge
        if handing_on and due > math.min(handing_on, now) then
            more = select(2, hand_out(sem, handing_on))
            if not more then
                handing_on = nil
            end
        elseif due > now then
            break
        elseif sem.steps == 0 then
            more = true
        else
            if not dropped then
                dropped, first_due = true, due
                sem.behind = tonumber(redis.call('HGET', sem.own, BEHIND) or nil)
            end
            handing_on = drop_due(sem, due) and due or handing_on
        end
    end
    sem.expiring = false
    if sem.longest_ttl then
        save_grants(sem, sem.longest_ttl)
    end
    if handing_on then
        redis.call('HSET', sem.own, HANDING_ON, digits(handing_on))
    elseif was_handing_on then
        redis.call('HDEL', sem.own, HANDING_ON)
    end
    if more and first_due and not sem.behind then
        redis.call('HSET', sem.own, BEHIND, digits(first_due))
    elseif sem.behind and not more then
        redis.call('HDEL', sem.own, BEHIND)
    end
    if dropped or was_handing_on then
        drop_if_idle(sem)
    end
    sem.behind, sem.steps = nil, math.max(sem.steps, STEPS_OWN)
    return not more
end
