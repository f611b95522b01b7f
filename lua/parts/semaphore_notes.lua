-- SPDX-License-Identifier: Apache-2.0
-- What is noted of a semaphore, on keys that other programs work on as well. What those programs
-- know decides:
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
--          H heartbeat ttl granted fence token in_use [slots]    it got slots, with so many in use
--                                                                then
--          W heartbeat ttl wait_end limit token channel [slots]  it waits
--          Without a number of slots it is 1.
--          The token is that of the ACQUIRE that waits or waited, the channel that of the engine
--          it waits in; both are empty if none did. Other programs remove ids but not their notes,
--          so a note counts only if the sorted sets have the id, in the state the note says.
--   fence  string, the last fence; it outlives the semaphore
--   names  sorted set, all ids that came through these scripts and hold or wait, with score 0: for
--          lists. Other programs remove ids but not their names, so a name counts only if the
--          other sorted sets have the id. Its key is made from that of `main`.
--
-- A field of `own` in braces, which no id can have, is about the semaphore as a whole.
--
-- Other programs count the members of `main`. So a client with n slots has n members there and in
-- `ttl`, its id and those of members_of(), always with the same score. In line it stands once.
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

local function check_slots(text)
    local slots = tonumber(text)
    if not slots or not (slots >= 1 and slots <= limits.SEM_SLOTS_MAX) or slots % 1 ~= 0 then
        error('slots are a whole number from 1 to limits.SEM_SLOTS_MAX')
    end
    return slots
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
    local slots = note.slots > 1 and ' ' .. digits(note.slots) or ''
    if note.holds then
        return string.format('H %.0f %.0f %.0f %.0f %s %.0f', note.heartbeat, note.ttl,
            note.granted, note.fence, note.token, note.in_use) .. slots
    end
    return string.format('W %.0f %.0f %.0f %.0f %s %s', note.heartbeat, note.ttl,
        note.wait_end, note.limit, note.token, note.channel) .. slots
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
    local last, slots = rest:match('^(%S*) (%d+)$')
    local note = {
        heartbeat = tonumber(heartbeat), ttl = tonumber(ttl), token = token,
        slots = tonumber(slots) or 1,
    }
    last = last or rest
    if kind == 'H' then
        note.holds, note.granted, note.fence = true, tonumber(time), tonumber(number)
        note.in_use = tonumber(last) or 0
    else
        note.wait_end, note.limit, note.channel = tonumber(time), tonumber(number), last
    end
    return note
end

-- Returns the notes on these ids.
local function read_notes(sem, ids)
    local notes = redis.call('HMGET', sem.own, unpack(ids))
    for i = 1, #ids do
        notes[i] = read_note(notes[i])
    end
    return notes
end

-- Returns how many slots a client with this note waits for; one that recorded nothing, for one.
local function slots_wanted(note)
    return note and not note.holds and note.slots or 1
end

-- Returns the members by which an id has so many slots: no id has braces.
local function members_of(id, slots)
    local members = {id}
    for i = 2, slots do
        members[i] = id .. '{' .. i .. '}'
    end
    return members
end

-- Returns the field that holds the answer for a call that left the semaphore before it polled:
--   in_use fence      it got slots and lost them again
--   R slots limit     it waited for more slots than the limit was in the end
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
