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
--          H heartbeat ttl granted fence token in_use slots until
--              it got slots, with so many in use then; its heartbeat ends at `until`
--          W heartbeat ttl wait_end limit token channel slots until arrival
--              it waits; `until` is 0 if its wait is its heartbeat
--          Notes of former versions lack the last figures: one slot, and nothing is known of the
--          others.
--          The token is that of the ACQUIRE that waits or waited, the channel that of the engine
--          it waits in; both are empty if none did. With a ! before it, other calls were answered
--          with the same slots since: they are not taken back if nobody reads the first answer.
--          Other programs remove ids but not their notes, so a note counts only if the sorted sets
--          have the id, in the state the note says, or lost it with the whole key: those programs
--          let keys expire. semaphore_lost.lua tells one from the other.
--   fence  string, the last fence; it outlives the semaphore
--   names  sorted set, all ids that came through these scripts and hold or wait, with score 0: for
--          lists. Other programs remove ids but not their names, so a name counts only if the
--          other sorted sets have the id.
--
-- A field of `own` in braces, which no id can have, is about the semaphore as a whole.
--
-- Other programs count the members of `main`. So a client with n slots has n members there and in
-- `ttl`, its id and those of members_of(), always with the same score. In line it stands once.
--
-- `ttl` and `alive` have one member more, KEPT, whose score says when these scripts made the key
-- and is so high that it is never due. Whoever came before that was lost with the former key.
local DAY_MS = 86400000
local KEPT = '{kept}'
local KEPT_BASE = 1e15

-- The field with the time at which slots fell free that are still to be handed on: an earlier call
-- had used up its steps.
local HANDING_ON = '{handing on}'
-- The field with the first moment that earlier calls worked on: they had used up their steps, and
-- more is due.
local BEHIND = '{behind}'
-- The field with the number of clients that earlier calls of the same WAKE have granted slots to,
-- and since when: "W count since_ms", with " over" behind it once nothing is left to hand out.
local WOKEN = '{woken}'
-- The field with the limit, for when the key that others know is gone.
local LIMIT = '{limit}'
-- The field with the pattern of the lists on which clients of another program wait, if it is not
-- the usual one.
local PATTERN = '{pattern}'
-- The field with the last name that was looked at after a key was gone: there are more.
local MENDING = '{mending}'
-- The field with the cursor of the sweep.
local SWEPT = '{swept}'

-- The steps that one call may do: so many take less than a millisecond.
local STEPS_MAX = 12
-- The steps that are left to a command itself, however many what was due has taken.
local STEPS_OWN = 4
-- The waiters whose notes one call reads to tell how many slots they wait for.
local AHEAD_READ = 30
-- The fields that one sweep looks at.
local SWEPT_AT_ONCE = 10
-- The fields of `own` that may be there for nothing before the sweep begins.
local SWEPT_FROM = 100
-- The steps that are done by one command on Redis at most.
local BATCH = 50
-- The steps that one grant counts for, and a client that is put back.
local GRANT_STEPS = 2

local WAITED = 'waited and got no slot'
local TAKEN_OVER = 'another call with this id took over'
local RELEASED = 'released while it waited'

local function from_score(score)
    return math.floor(tonumber(score) * 1000 + 0.5)
end

-- Lets Redis remove the key a day after these milliseconds, but never sooner than it would have:
-- one client's short TTL must not remove what another client needs. Half a day of slack saves
-- writes.
local function keep(key, ms, is_new)
    if is_new or redis.call('PTTL', key) < ms + DAY_MS / 2 then
        redis.call('PEXPIRE', key, digits(ms + DAY_MS))
        return true
    end
end

-- Does the same with one of the two keys that say when they were made.
local function keep_marked(sem, key, ms)
    if keep(key, ms, sem.is_new) then
        redis.call('ZADD', key, 'NX', digits(KEPT_BASE + sem.now), KEPT)
    end
end

-- ---- keys -------------------------------------------------------------------------------------

-- The keys of a semaphore. All of them are made from any one of them: a namespace, a word that says
-- what the key holds, and the name, with or without braces around it. A program that knows only the
-- layout of the field gives only the keys of that layout.

-- What stands for the id in the pattern of a notification list.
local ID_PLACE = '@@@ACQUISITION_ID@@@'

-- Returns all keys of the semaphore with this namespace and name; nil if those given are others.
local function complete_keys(given, namespace, name)
    local sem = {
        main = namespace .. 'semaphore_main:' .. name,
        ttl = namespace .. 'semaphore_ttl:' .. name,
        max = namespace .. 'semaphore_max:' .. name,
        line = namespace .. 'semaphore_waiting:' .. name,
        alive = namespace .. 'semaphore_waiting_heartbeat:' .. name,
        own = namespace .. 'semaphore_own:' .. name,
        fence = namespace .. 'semaphore_fence:' .. name,
        names = namespace .. 'semaphore_names:' .. name,
        namespace = namespace, name = name, by_layout = not given.fence,
    }
    for what, key in pairs(given) do
        if sem[what] ~= key then
            return nil
        end
    end
    return name ~= '' and sem or nil
end

-- Returns the semaphore that has these keys, with those that were not given; nil, with an error to
-- answer with, if they are not the keys of one semaphore.
local function name_keys(given)
    local word = given.main and 'semaphore_main:' or 'semaphore_waiting:'
    local key = given.main or given.line or ''
    local first = key:find(word, 1, true)
    while first do
        local sem = complete_keys(given, key:sub(1, first - 1), key:sub(first + #word))
        if sem then
            return sem
        end
        first = key:find(word, first + 1, true)
    end
    return nil, redis.error_reply('ERR the keys of a semaphore are NAMESPACE:semaphore_main:NAME '
        .. 'and those beside it, all of one namespace and one name; nothing was changed')
end

-- Returns the hash tag of a key, with its braces, as Redis reads it; nil if it has none.
local function tag_of(key)
    local first = key:find('{', 1, true)
    local last = first and key:find('}', first + 1, true)
    return last and last > first + 1 and key:sub(first, last) or nil
end

-- ---- lists of waiters -------------------------------------------------------------------------

-- Returns the pattern of the lists on which clients wait that joined the line by QUEUE: in the slot
-- of the other keys.
local function usual_pattern(sem)
    local tag = not tag_of(sem.namespace) and tag_of(sem.name)
    return sem.namespace .. 'acquisition_notification:' .. (tag and tag .. ':' or '') .. ID_PLACE
end

-- Returns the list of an id by a pattern, or nil if the pattern has no place for it.
local function list_by(pattern, id)
    local first, last = pattern:find(ID_PLACE, 1, true)
    return first and pattern:sub(1, first - 1) .. id .. pattern:sub(last + 1)
end

-- ---- notes ------------------------------------------------------------------------------------

local function note_text(note)
    if note.holds then
        return string.format('H %.0f %.0f %.0f %.0f %s%s %.0f %.0f %.0f', note.heartbeat, note.ttl,
            note.granted, note.fence, note.shared and '!' or '', note.token, note.in_use,
            note.slots, note.alive_until)
    end
    return string.format('W %.0f %.0f %.0f %.0f %s %s %.0f %.0f %.6f', note.heartbeat, note.ttl,
        note.wait_end, note.limit, note.token, note.channel, note.slots, note.alive_until,
        note.arrival)
end

local function write_note(sem, id, note)
    redis.call('HSET', sem.own, id, note_text(note))
end

local function read_note(text)
    if not text then
        return nil
    end
    local kind, heartbeat, ttl, time, number, token, rest =
        text:match('^([HW]) (%d+) (%d+) (%d+) (%d+) !?(%S*) (.*)$')
    if not kind then
        return nil
    end
    local last, slots, alive_until, arrival = rest:match('^(%S*) ?(%d*) ?(%d*) ?([%d.]*)$')
    local note = {
        heartbeat = tonumber(heartbeat), ttl = tonumber(ttl), token = token,
        slots = tonumber(slots) or 1, shared = text:find(' !', 1, true) ~= nil,
        alive_until = tonumber(alive_until) or 0, arrival = tonumber(arrival) or 0,
    }
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
--   in_use fence at      it got slots and lost them again, at that time
--   R slots limit at     it waited for more slots than the limit was in the end
local function answer_field(id, token)
    return '{' .. id .. ' ' .. token .. '}'
end

-- ---- notifying waiters ------------------------------------------------------------------------

-- Returns the lists on which a client that joined the line by QUEUE may wait for its slot: the one
-- of the pattern that this WAKE was given; or the usual one, and that of a program which has
-- another.
local function notification_lists(sem, id)
    if sem.pattern then
        return {list_by(sem.pattern, id)}
    end
    sem.other_pattern = sem.other_pattern or redis.call('HGET', sem.own, PATTERN) or ''
    return {list_by(usual_pattern(sem), id), list_by(sem.other_pattern, id) or nil}
end

-- Notifies a client that it has a slot, by its lists. What else may be there under such a name is
-- no reason to end in the middle.
local function push_notification(sem, id, heartbeat)
    for _, list in ipairs(notification_lists(sem, id)) do
        redis.pcall('RPUSH', list, '1')
        redis.call('PEXPIRE', list, digits(heartbeat + GARBAGE_AFTER_MS))
    end
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
