-- SPDX-License-Identifier: Apache-2.0
-- A semaphore, on keys that other programs work on as well. What those programs know decides:
--
--   main   sorted set, the holders of slots, by the end of the heartbeat
--   ttl    sorted set, the holders of slots, by the end of the TTL
--   max    string, the limit
--   line   sorted set, the waiters, by arrival
--   alive  sorted set, the waiters, by the end of the heartbeat or of the wait
--
-- Scores are seconds. What other programs do not know is beside it:
--
--   own    hash, a note on each id that came through these scripts:
--          H heartbeat ttl granted fence token in_use    it got a slot, with so many in use then
--          W heartbeat ttl wait_end limit token channel  it waits
--          The token is that of the ACQUIRE that waits or waited, the channel that of the engine
--          it waits in; both are empty if none did. Other programs remove ids but not their notes,
--          so a note counts only if the sorted sets have the id, in the state the note says.
--   fence  string, the last fence; it outlives the semaphore
--
-- A field of `own` in braces, which no id can have, is about the semaphore as a whole.
local DAY_MS = 86400000

-- The field with the time at which slots fell free that are still to be handed on: an earlier call
-- had used up its steps.
local HANDING_ON = '{handing on}'
-- The field with the first moment that earlier calls worked on: they had used up their steps, and
-- more is due.
local BEHIND = '{behind}'
-- The field with the number of slots that earlier calls of the same WAKE have granted.
local WOKEN = '{woken}'

-- The steps that one call may do: more than elsewhere, because a call that is answered in between
-- sees a semaphore on which something is still due.
local STEPS_MAX = 100
-- The steps that one grant counts for.
local GRANT_STEPS = 2

local WAITED = 'waited and got no slot'
local TAKEN_OVER = 'another call with this id took over'
local RELEASED = 'released while it waited'

-- Returns seconds as whole milliseconds, from 0 on; unlike a TTL, they have no upper bound.
local function span_ms(seconds)
    local ms = math.floor((tonumber(seconds) or -1) * 1000 + 0.5)
    if not (ms >= 0 and ms <= limits.HF_INTEGER_MAX) then
        error('a span of time is a number of seconds')
    end
    return ms
end

local function check_limit(text)
    local limit = tonumber(text)
    if not limit or not (limit >= 1 and limit <= limits.HF_INTEGER_MAX) or limit % 1 ~= 0 then
        error('a limit is a whole number from 1')
    end
    return limit
end

local function from_score(score)
    return math.floor(tonumber(score) * 1000 + 0.5)
end

-- Lets Redis remove the key a day after these milliseconds, but never sooner than it would have:
-- one client's short TTL must not remove what another client needs. Half a day of slack saves
-- writes.
local function keep(key, ms, is_new)
    if is_new or redis.call('PTTL', key) < ms + DAY_MS / 2 then
        redis.call('PEXPIRE', key, digits(ms + DAY_MS))
    end
end

-- ---- notes ------------------------------------------------------------------------------------

local function note_text(note)
    if note.holds then
        return string.format('H %.0f %.0f %.0f %.0f %s %.0f', note.heartbeat, note.ttl,
            note.granted, note.fence, note.token, note.in_use)
    end
    return string.format('W %.0f %.0f %.0f %.0f %s %s', note.heartbeat, note.ttl,
        note.wait_end, note.limit, note.token, note.channel)
end

local function write_note(sem, id, note)
    redis.call('HSET', sem.own, id, note_text(note))
end

local function read_note(text)
    if not text then
        return nil
    end
    local kind, heartbeat, ttl, time, number, token, rest =
        text:match('^([HW]) (%d+) (%d+) (%d+) (%d+) (%S*) (.*)$')
    if not kind then
        return nil
    end
    local note = {heartbeat = tonumber(heartbeat), ttl = tonumber(ttl), token = token}
    if kind == 'H' then
        note.holds, note.granted, note.fence = true, tonumber(time), tonumber(number)
        note.in_use = tonumber(rest) or 0
    else
        note.wait_end, note.limit, note.channel = tonumber(time), tonumber(number), rest
    end
    return note
end

-- Returns the field that holds the answer for a call that got a slot and lost it again before it
-- polled.
local function answer_field(id, token)
    return '{' .. id .. ' ' .. token .. '}'
end

-- ---- notifying waiters ------------------------------------------------------------------------

-- Returns the key of the list on which a client that joined the line by QUEUE waits for its slot.
local function notification_key(sem, id)
    local namespace, name = sem.main:match('^(.-)semaphore_main:(.*)$')
    if not name then
        error('the key of the slots has to end in semaphore_main:NAME')
    end
    local tag = name:match('^{.*}$')
    return namespace .. 'acquisition_notification:' .. (tag and tag .. ':' or '') .. id
end

-- Publishes the answer to the call that waits under this id, unless this script replies to it.
local function answer_call(sem, id, note, answer)
    if note.channel ~= '' and note.token ~= sem.token then
        redis.call('PUBLISH', note.channel,
            table.concat({sem.main, id, note.token, answer}, ' '))
    end
end

local function answer_timeout(sem, id, note, why)
    if note and note.token ~= '' then
        answer_call(sem, id, note, '0 ' .. why)
    end
end

-- ---- slots ------------------------------------------------------------------------------------

-- Returns the next fence. Fences grow from grant to grant, also after the key was lost, unless the
-- clock stepped back.
local function take_fence(sem)
    if not sem.last_fence then
        sem.last_fence = tonumber(redis.call('GET', sem.fence)) or 0
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
    keep(sem.ttl, ttl, sem.is_new)
    keep(sem.own, ttl, sem.is_new)
    keep(sem.max, ttl, sem.is_new)
end

-- Notifies a client that it got a slot: the call that waits for it, unless this script replies to
-- it, or the client's list.
local function tell_granted(sem, id, terms, slot)
    if terms.channel ~= '' then
        answer_call(sem, id, terms, '1 ' .. digits(slot.in_use) .. ' ' .. digits(slot.fence))
    elseif terms.token == '' or terms.token ~= sem.token then
        local list = notification_key(sem, id)
        redis.call('RPUSH', list, '1')
        redis.call('PEXPIRE', list, digits(slot.heartbeat + GARBAGE_AFTER_MS))
    end
end

-- Gives slots to these ids from a time on, each on the terms of its note, if it has one. With
-- `held` another program has given them already.
local function grant(sem, ids, notes, at, held)
    local ends, ttl_ends, texts = {}, {}, {}
    local longest_ttl = 0
    for i, id in ipairs(ids) do
        local note = notes[i]
        local terms = note and not note.holds and note or sem.terms
        local slot = {
            holds = true, heartbeat = terms.heartbeat, ttl = terms.ttl, granted = at,
            fence = take_fence(sem), token = terms.token, in_use = sem.in_use + (held and 0 or i),
        }
        ends[2 * i - 1], ends[2 * i] = (at + slot.heartbeat) / 1000, id
        ttl_ends[2 * i - 1], ttl_ends[2 * i] = (at + slot.ttl) / 1000, id
        texts[2 * i - 1], texts[2 * i] = id, note_text(slot)
        longest_ttl = math.max(longest_ttl, slot.ttl)
        sem.granted[id] = slot
        if not held or terms.channel ~= '' then
            tell_granted(sem, id, terms, slot)
        end
    end
    sem.in_use = sem.in_use + redis.call('ZADD', sem.main, unpack(ends))
    redis.call('ZADD', sem.ttl, unpack(ttl_ends))
    redis.call('HSET', sem.own, unpack(texts))
    save_fence(sem, longest_ttl)
    keep_slots(sem, longest_ttl)
end

-- Grants free slots to the first in line. Returns how many, and whether the rest needs another
-- call.
local function hand_out(sem, at)
    local granted = 0
    while sem.in_use < sem.limit and sem.waiting > 0 do
        local count = math.min(sem.limit - sem.in_use, sem.waiting,
            math.floor(sem.steps / GRANT_STEPS))
        if count < 1 then
            return granted, true
        end
        local ids = redis.call('ZRANGE', sem.line, 0, digits(count - 1))
        local notes = redis.call('HMGET', sem.own, unpack(ids))
        for i = 1, #ids do
            notes[i] = read_note(notes[i])
        end
        redis.call('ZREM', sem.line, unpack(ids))
        redis.call('ZREM', sem.alive, unpack(ids))
        grant(sem, ids, notes, at)
        granted = granted + #ids
        sem.waiting = sem.waiting - #ids
        sem.steps = sem.steps - #ids * GRANT_STEPS
    end
    return granted, false
end

-- Does the same at the current time, as part of a command. Returns true if the script has to answer
-- AGAIN: the next script on this semaphore hands out the rest first.
local function hand_out_now(sem)
    local _, more = hand_out(sem, sem.now)
    if more then
        redis.call('HSET', sem.own, HANDING_ON, digits(sem.now))
    end
    return more
end

-- Takes the slots from these holders.
local function take_slots(sem, ids)
    if #ids == 0 then
        return
    end
    sem.in_use = sem.in_use - redis.call('ZREM', sem.main, unpack(ids))
    redis.call('ZREM', sem.ttl, unpack(ids))
    local notes = sem.behind and redis.call('HMGET', sem.own, unpack(ids)) or {}
    redis.call('HDEL', sem.own, unpack(ids))
    for i, id in ipairs(ids) do
        local slot = sem.granted[id] or read_note(notes[i])
        if slot and slot.holds and slot.token ~= '' and slot.granted >= (sem.behind or 0) then
            redis.call('HSET', sem.own, answer_field(id, slot.token),
                digits(slot.in_use) .. ' ' .. digits(slot.fence))
        end
    end
end

-- Takes these waiters out of the line.
local function remove_waiters(sem, ids, why)
    if #ids == 0 then
        return
    end
    local notes = redis.call('HMGET', sem.own, unpack(ids))
    for i, id in ipairs(ids) do
        local note = read_note(notes[i])
        if note and not note.holds then
            answer_timeout(sem, id, note, why)
        end
    end
    sem.waiting = sem.waiting - redis.call('ZREM', sem.line, unpack(ids))
    redis.call('ZREM', sem.alive, unpack(ids))
    redis.call('HDEL', sem.own, unpack(ids))
end

-- Removes a semaphore without holders and waiters, with its limit.
local function drop_if_idle(sem)
    if sem.in_use > 0 or sem.waiting > 0 then
        return
    end
    sem.limit = 0
    redis.call('DEL', sem.max, sem.ttl, sem.alive)
    redis.call('HDEL', sem.own, HANDING_ON, BEHIND, WOKEN)
    redis.call('PEXPIRE', sem.own, GARBAGE_AFTER_MS) -- if answers are left there, or old notes
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

local function waiters_due(sem)
    return sem.waiting > 0 and first_score(sem.alive) or math.huge
end

-- Returns the ids that are due in the millisecond of this score, as many as the call has steps
-- left.
local function ids_due(sem, key, score)
    local bound = math.max(score, (from_score(score) + 0.499) / 1000)
    local ids = redis.call('ZRANGEBYSCORE', key, '-inf', bound, 'LIMIT', 0, sem.steps)
    sem.steps = sem.steps - #ids
    return ids
end

-- Returns the same of a sorted set that goes with another one. Ids that the other one no longer has
-- are left over from what another program did, and are removed.
local function partners_due(sem, key, other, score)
    local partners, left_over = {}, {}
    for _, id in ipairs(ids_due(sem, key, score)) do
        local list = redis.call('ZSCORE', other, id) and partners or left_over
        list[#list + 1] = id
    end
    if #left_over > 0 then
        redis.call('ZREM', key, unpack(left_over))
    end
    return partners
end

-- Removes holders and waiters that are due at this score. Returns whether that freed a slot.
local function drop_due(sem, score)
    local in_use = sem.in_use
    take_slots(sem, ids_due(sem, sem.main, score))
    take_slots(sem, partners_due(sem, sem.ttl, sem.main, score))
    remove_waiters(sem, partners_due(sem, sem.alive, sem.line, score), WAITED)
    return sem.in_use < in_use
end

-- Carries out all that is due up to now, in the order in which it fell due; a slot that fell free
-- is granted as of that moment. Returns false if that takes another call.
local function expire(sem)
    local handing_on = sem.waiting > 0 and tonumber(redis.call('HGET', sem.own, HANDING_ON)) or nil
    local was_handing_on, now, dropped = handing_on, sem.now, false
    local more, first_due = false, nil
    while not more do
        local score = math.min(slots_due(sem), waiters_due(sem))
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
            handing_on = drop_due(sem, score) and due or handing_on
        end
    end
    if handing_on then
        redis.call('HSET', sem.own, HANDING_ON, digits(handing_on))
    elseif was_handing_on then
        redis.call('HDEL', sem.own, HANDING_ON)
    end
    if more and first_due then
        redis.call('HSETNX', sem.own, BEHIND, digits(first_due))
    elseif sem.behind then
        redis.call('HDEL', sem.own, BEHIND)
    end
    if dropped then
        drop_if_idle(sem)
    end
    sem.behind, sem.steps = nil, STEPS_MAX
    return not more
end

-- Returns the semaphore as it is now; nil if the script has to answer AGAIN.
local function open_semaphore(keys)
    local sem = keys
    sem.now = now_ms()
    sem.in_use = redis.call('ZCARD', sem.main)
    sem.waiting = redis.call('ZCARD', sem.line)
    sem.limit = 0
    sem.steps = STEPS_MAX
    sem.granted = {} -- the slots this call gave, by id
    -- The terms of clients that recorded none.
    sem.terms = {
        heartbeat = limits.SEM_HEARTBEAT_DEFAULT_MS, ttl = limits.SEM_TTL_DEFAULT_MS, token = '',
        channel = '',
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

-- ---- what the commands are made of ------------------------------------------------------------

-- Completes the grant of a slot that another program gave to a waiter of these scripts.
local function adopt(sem, id, note)
    if note.channel ~= '' then
        redis.call('DEL', notification_key(sem, id))
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
        note = adopt(sem, id, note)
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
    }
    redis.call('ZADD', sem.ttl, 'NX', (sem.now + ttl) / 1000, id)
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
    sem.waiting = sem.waiting + 1
end

-- Keeps the keys of a waiter for these milliseconds.
local function keep_line(sem, ms)
    keep(sem.line, ms, sem.is_new)
    keep(sem.alive, ms, sem.is_new)
    keep(sem.own, ms, sem.is_new)
    keep(sem.max, ms, sem.is_new)
end

-- Returns the milliseconds after which it is of use for a waiting call to poll: a slot falls free
-- by time, or its wait is over.
local function look_again_ms(sem, wait_end)
    return math.max(math.min(wait_end, from_score(slots_due(sem))) - sem.now, 0)
end
