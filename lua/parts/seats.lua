-- SPDX-License-Identifier: Apache-2.0
-- The seats of an event. What falls due stands in one sorted set by the time it does: a hold as
-- "h zone user quantity booking", and for the minute that an expired one still counts against its
-- user as "g zone user quantity booking deadline". An entry says all that is needed to give back
-- what it stands for; no record has to be there for that. In an event that was closed "c" comes
-- before all others, until what the event left behind is removed.
-- The names of an event's zones and of its confirmed bookings stand in sorted sets of their own,
-- all with score 0, so that ZRANGEBYLEX goes on behind the last name it returned; those of reserved
-- bookings do so from the first list on (parts/listing.lua). What a reserve has to know of its
-- event is in one hash: max:$zone, a zone's own limit per user, lifetime:$zone, 1 if confirmed
-- seats count against it, gate, 1 if the event is entered through its waiting room, with a pass,
-- closing, how far a CLOSE has added up the zones, listed, 1 if a reserve has to write the name
-- down, and many, 1 once a user has confirmed so many seats that their sum has to be watched. For
-- the audit the hash has also how many seats were ever refunded, modulo 2^53.
-- The record of a hold, of no booking in particular, is kept as a blank, which the next ones are
-- copied from; it is deleted with the last deadline.
-- All keys have one of two layouts: tagged, with the event in braces, as the engine writes them, or
-- plain, where zones and bookings do not say which event they belong to.
-- once a batch: reclaim_seats, then 0, 0

-- Scripts that are called without a key of the deadlines give back so many at most; a reserve so
-- often as many, since it may need the very seats that fell due.
local PATIENT_RECLAIMED, PATIENT_ROUNDS = 48, 10

-- Returns a function that makes the keys of an event: those of one id, and without an id those of
-- the event.
local function event_keys(namespace, event, tagged)
    return function(kind, id)
        if tagged then
            return namespace .. kind .. ':{' .. event .. '}' .. (id and ':' .. id or '')
        elseif not id then
            return namespace .. kind .. ':' .. event
        elseif kind == 'queue:user' then
            return namespace .. kind .. ':' .. event .. ':' .. id
        elseif kind == 'user:reservations' or kind == 'user:confirmed' then
            return namespace .. kind .. ':' .. id .. ':' .. event
        end
        return namespace .. kind .. ':' .. id
    end, tagged
end

-- Returns the same function from the event's key of deadlines, and whether its keys are tagged.
local function keys_beside(due_key)
    local namespace, event = due_key:match('^(.*)seats:due:{([^{}]*)}$')
    local tagged = event ~= nil
    if not tagged then
        namespace, event = due_key:match('^(.-)seats:due:([^{}]+)$')
    end
    if not event then
        error('the key of the deadlines has to end in seats:due:{event} or seats:due:event')
    end
    return event_keys(namespace, event, tagged)
end

-- Takes seats off a user's count, and deletes the count at 0. Returns what is left of it; 0 if what
-- stands there is no count, which is left alone.
local function count_down(user_key, quantity)
    local left = redis.pcall('DECRBY', user_key, quantity)
    if type(left) == 'table' then
        return 0
    elseif left <= 0 then
        redis.call('DEL', user_key)
        return 0
    end
    return left
end

-- Of the records of bookings with these names, deletes those that are the event's. In the plain
-- layout another event may have a booking of the same name, once ours was deleted by Redis.
local function delete_records(key, tagged, names)
    local records, before, due_key, ours = {}, key('reservation', ''), key('seats:due'), nil
    for _, name in ipairs(names) do
        local record = before .. name
        local event = not tagged and redis.pcall('HGET', record, 'event_id')
        if type(event) == 'string' and event ~= ours
            and due_key:sub(-#event - 1) == ':' .. event then
            ours = event
        end
        if not event or event == ours then
            records[#records + 1] = record
        end
    end
    if #records > 0 then
        redis.call('DEL', unpack(records))
    end
end

-- Removes some of what a closed event left behind: limits.CLOSED_AT_ONCE of its users, bookings and
-- zones. Returns whether there is more.
local function remove_closed(due_key, key, tagged)
    local left, gone = limits.CLOSED_AT_ONCE, {}
    -- Takes the first names from a sorted set, as many as there are steps left.
    local function take(names_key, first)
        local names = left > 0 and redis.call('ZRANGE', names_key, first, first + left - 1) or {}
        if #names > 0 then
            redis.call('ZREM', names_key, unpack(names))
            left = left - #names
        end
        return names
    end
    for _, entry in ipairs(take(due_key, 1)) do
        gone[#gone + 1] = key('user:reservations', entry:match('^%a [^ ]* ([^ ]*)') or '')
    end
    local bookings = take(key('seats:bookings'), 0)
    for _, name in ipairs(bookings) do
        local user = redis.call('HGET', key('reservation', name), 'user_id') or ''
        gone[#gone + 1] = key('user:reservations', user)
        gone[#gone + 1] = key('user:confirmed', user)
    end
    delete_records(key, tagged, bookings)
    for _, name in ipairs(take(key('seats:zones'), 0)) do
        gone[#gone + 1] = key('zone:availability', name)
        gone[#gone + 1] = key('zone:totals', name)
    end
    if #gone > 0 then
        redis.call('DEL', unpack(gone))
    end
    if left == 0 then
        return true
    end
    local gate = redis.call('HGET', key('seats:rules'), 'gate')
    -- The rules of many zones are large.
    redis.call('UNLINK', key('seats:rules'), key('seats:blank'), due_key)
    if gate then -- it is the waiting room's, which stays
        redis.call('HSET', key('seats:rules'), 'gate', gate)
    end
    local time = redis.call('TIME') -- what was released before is not remembered any more
    redis.call('SET', key('seats:closed'), digits(time[1] * 1000000 + time[2]), 'PX',
        limits.RETRY_WINDOW_MS)
    return false
end

-- Adds to the free seats of zones what these entries, just taken from among the deadlines, held. If
-- what stands in the key of one of them is no count, all is put back, and that is an error.
local function add_seats(key, zones, entries)
    local done = {}
    for zone, quantity in pairs(zones) do
        local zone_key, seats = key('zone:availability', zone), digits(quantity)
        local answer = redis.pcall('INCRBY', zone_key, seats)
        if type(answer) == 'table' then
            for other_key, added in pairs(done) do
                redis.call('DECRBY', other_key, added)
            end
            for i = 1, #entries, 2 do
                redis.call('ZADD', key('seats:due'), entries[i + 1], entries[i])
            end
            error('seats that fell due cannot be given back: ' .. zone_key .. ' holds no count; '
                .. 'nothing was changed')
        end
        done[zone_key] = seats
    end
end

-- Gives back what is due at a time (in digits), the oldest first, at most `limit` entries or,
-- without one, as due_share() says. Returns how many more are due, how many holds expired, the
-- deadline of the first of them, and whether anything was changed. Of an event that was closed it
-- removes some records instead.
local function reclaim_seats(due_key, at, limit)
    local due = redis.call('ZCOUNT', due_key, '-inf', at)
    if due == 0 then
        return 0, 0
    end
    local now = tonumber(at)
    local taken = due_share(due, limit)
    if taken == 0 then
        return due, 0
    end
    local entries = redis.call('ZRANGE', due_key, 0, taken - 1, 'WITHSCORES')
    local key, tagged = keys_beside(due_key)
    if entries[1] == 'c' then
        if ARGV[#ARGV] == '\255behind' then -- who comes before may not be done with it
            return due, 0
        end
        return remove_closed(due_key, key, tagged) and 1 or 0, 0, nil, true
    end
    -- A full Redis allows what this begins with, and then what follows it.
    redis.call('ZREMRANGEBYRANK', due_key, 0, taken - 1)

    local zones, users, names, graces, first_due = {}, {}, {}, {}, nil
    for i = 1, #entries, 2 do
        local entry, deadline = entries[i], entries[i + 1]
        local kind, zone, user, quantity, booking =
            entry:match('^([hg]) ([^ ]*) ([^ ]*) (%d+) ([^ ]*)')
        if kind == 'h' then
            first_due = first_due or tonumber(deadline)
            zones[zone] = (zones[zone] or 0) + quantity
            names[#names + 1] = booking
        end
        if kind == 'h' and now < deadline + limits.SEATS_USER_GRACE_MS then
            graces[#graces + 1] = i
        elseif kind then
            users[user] = (users[user] or 0) + quantity
        end
    end
    add_seats(key, zones, entries)
    for _, i in ipairs(graces) do
        -- With a clock set back the same booking may expire at the same time twice: both count.
        local deadline = entries[i + 1]
        local grace = 'g' .. entries[i]:sub(2) .. ' ' .. deadline
        local ends = string.format('%d', deadline + limits.SEATS_USER_GRACE_MS)
        while redis.call('ZADD', due_key, 'NX', ends, grace) == 0 do
            grace = grace .. '+'
        end
    end
    for user, quantity in pairs(users) do
        count_down(key('user:reservations', user), digits(quantity))
    end
    if #names > 0 then
        delete_records(key, tagged, names)
        redis.pcall('ZREM', key('seats:bookings'), unpack(names))
    end
    if due == taken and redis.call('EXISTS', due_key) == 0 then
        redis.call('DEL', key('seats:blank')) -- nobody holds anything, so it may be long unused
    end
    return due - taken, #names, first_due, true
end

-- Gives back what is due for a caller that does not know AGAIN. Returns whether there is more.
local function reclaim_patiently(due_key, now)
    return reclaim_seats(due_key, digits(now), PATIENT_RECLAIMED) > 0
end

local function busy()
    return {0, 'BUSY', 'more holds of the event expired than one call gives back: call again'}
end

-- Gives back all that is due. Returns nil, or the answer if there is more than one call gives back:
-- AGAIN or, to a caller that does not know it and so is patient, BUSY; and whether anything was
-- changed.
local function refuse_due(due_key, now, patient)
    if patient then
        for _ = 1, PATIENT_ROUNDS do
            if not reclaim_patiently(due_key, now) then
                return nil
            end
        end
        return busy()
    end
    local more, _, _, changed = reclaim_seats(due_key, digits(now))
    return more > 0 and again() or nil, changed
end

-- Lets Redis delete a user's count when the hold with this deadline no longer counts; never sooner
-- than another hold wants. A count without an end has seats in it that were confirmed for life.
local function keep_count(user_key, deadline, now)
    local ends = deadline + limits.SEATS_USER_GRACE_MS
    local left = redis.call('PTTL', user_key)
    if left >= 0 and left < ends - now then
        redis.call('PEXPIREAT', user_key, redis_time(digits(ends)))
    end
end
