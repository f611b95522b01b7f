-- SPDX-License-Identifier: Apache-2.0
-- The seats of an event. What falls due stands in one sorted set by the time it does: a hold as
-- "h zone user quantity booking", and for the minute that an expired one still counts against its
-- user as "g zone user quantity booking deadline". An entry says all that is needed to give back
-- what it stands for; no record has to be there for that. In an event that was closed "c" comes
-- before all others, until what the event left behind is removed.
-- The names of an event's zones and of its reserved and confirmed bookings stand in sorted sets of
-- their own, all with score 0, so that ZRANGEBYLEX goes on behind the last name it returned. What a
-- reserve has to know of its event is in one hash: max:$zone, a zone's own limit per user,
-- lifetime:$zone, 1 if confirmed seats count against it, and gate, 1 if the event is entered
-- through its waiting room, with a pass. For the audit the hash has also how many seats were ever
-- refunded, modulo 2^53.
-- Redis makes every function here anew for each call of a script, so there are few: RESERVE has to
-- be fast.

-- Returns a function that makes the keys of an event, from its key of deadlines seats:due:{$event}:
-- those of one id, and without an id those of the event.
local function event_keys(due_key)
    local namespace, tag = due_key:match('^(.*)seats:due:({[^{}]*})$')
    if not tag then
        error('the key of the deadlines has to end in seats:due:{event}')
    end
    return function(kind, id)
        return namespace .. kind .. ':' .. tag .. (id and ':' .. id or '')
    end
end

-- Takes seats off a user's count, and deletes the count at 0. Returns what is left of it.
local function count_down(user_key, quantity)
    local left = redis.call('DECRBY', user_key, quantity)
    if left <= 0 then
        redis.call('DEL', user_key)
        return 0
    end
    return left
end

-- Gives back what is due at a time (in digits), the oldest first, at most `limit` entries. Returns
-- how many more are due, how many holds expired, and the deadline of the first of them. Of an event
-- that was closed it removes some records instead.
local function reclaim_seats(due_key, at, limit)
    local due = redis.call('ZCOUNT', due_key, '-inf', at)
    if due == 0 then
        return 0, 0
    end
    local now = tonumber(at)
    local taken = math.min(due, limit)
    local entries = redis.call('ZRANGE', due_key, 0, taken - 1, 'WITHSCORES')
    local key = event_keys(due_key)
    if entries[1] == 'c' then
        local most, gone = limits.CLOSED_AT_ONCE, {}
        local graces = redis.call('ZRANGE', due_key, 1, most)
        local bookings = redis.call('ZRANGE', key('seats:bookings'), 0, most - 1)
        local zones = redis.call('ZRANGE', key('seats:zones'), 0, most - 1)
        if #graces > 0 then
            for i, entry in ipairs(graces) do
                gone[i] = key('user:reservations', entry:match('^%a [^ ]* ([^ ]*)') or '')
            end
            redis.call('ZREM', due_key, unpack(graces))
        elseif #bookings > 0 then
            for _, name in ipairs(bookings) do
                local record = key('reservation', name)
                local user = redis.call('HGET', record, 'user_id') or ''
                gone[#gone + 1] = record
                gone[#gone + 1] = key('user:reservations', user)
                gone[#gone + 1] = key('user:confirmed', user)
            end
            redis.call('ZREM', key('seats:bookings'), unpack(bookings))
        elseif #zones > 0 then
            for _, name in ipairs(zones) do
                gone[#gone + 1] = key('zone:availability', name)
                gone[#gone + 1] = key('zone:totals', name)
            end
            redis.call('ZREM', key('seats:zones'), unpack(zones))
        else
            gone = {key('seats:rules'), due_key}
        end
        local left = #graces + #bookings + #zones
        local gate = left == 0 and redis.call('HGET', key('seats:rules'), 'gate')
        redis.call('DEL', unpack(gone))
        if gate then -- it is the waiting room's, which stays
            redis.call('HSET', key('seats:rules'), 'gate', gate)
        end
        if left > 0 then
            return 1, 0
        end
        local time = redis.call('TIME') -- what was released before is not remembered any more
        redis.call('SET', key('seats:closed'), digits(time[1] * 1000000 + time[2]), 'PX',
            limits.RETRY_WINDOW_MS)
        return 0, 0
    end
    redis.call('ZREMRANGEBYRANK', due_key, 0, taken - 1)

    local zones, users, records, names, first_due = {}, {}, {}, {}, nil
    for i = 1, #entries, 2 do
        local entry, deadline = entries[i], entries[i + 1]
        local kind, zone, user, quantity, booking =
            entry:match('^([hg]) ([^ ]*) ([^ ]*) (%d+) ([^ ]*)')
        if kind == 'h' then
            first_due = first_due or tonumber(deadline)
            zones[zone] = (zones[zone] or 0) + quantity
            records[#records + 1] = key('reservation', booking)
            names[#names + 1] = booking
        end
        if kind == 'h' and now < deadline + limits.SEATS_USER_GRACE_MS then
            -- With a clock set back the same booking may expire at the same time twice: both count.
            local grace = 'g' .. entry:sub(2) .. ' ' .. deadline
            local ends = deadline + limits.SEATS_USER_GRACE_MS
            while redis.call('ZADD', due_key, 'NX', ends, grace) == 0 do
                grace = grace .. '+'
            end
        elseif kind then
            users[user] = (users[user] or 0) + quantity
        end
    end
    for zone, quantity in pairs(zones) do
        redis.call('INCRBY', key('zone:availability', zone), digits(quantity))
    end
    for user, quantity in pairs(users) do
        count_down(key('user:reservations', user), digits(quantity))
    end
    if #records > 0 then
        redis.call('DEL', unpack(records))
        redis.call('ZREM', key('seats:bookings'), unpack(names))
    end
    return due - taken, #records, first_due
end
