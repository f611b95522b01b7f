-- SPDX-License-Identifier: Apache-2.0
-- The seats of an event. What falls due stands in one sorted set by the time it does: a hold as
-- "h booking", and for the minute that an expired one still counts against its user as
-- "g quantity deadline size user booking", where size is that of the user's id in bytes.
-- Every function here is made anew for each call of a script, so there are few: RESERVE is to be
-- fast.

-- Makes keys of the event of which this is the key of the deadlines: seats:due:{E}.
local function event_keys(due_key)
    local namespace, tag = due_key:match('^(.*)seats:due:({[^{}]*})$')
    if not tag then
        error('the key of the deadlines has to end in seats:due:{event}')
    end
    return function(kind, id)
        return namespace .. kind .. ':' .. tag .. ':' .. id
    end
end

-- Takes seats off a user's count, which is no longer there once it is 0. What is left of it.
local function count_down(user_key, quantity)
    local left = redis.call('DECRBY', user_key, quantity)
    if left <= 0 then
        redis.call('DEL', user_key)
        return 0
    end
    return left
end

-- Gives back what is due at a time (in digits), the oldest first, at most so many. How much more is
-- due, how many holds expired, and the deadline of the first of them.
local function reclaim_seats(due_key, at, limit)
    local due = redis.call('ZCOUNT', due_key, '-inf', at)
    if due == 0 then
        return 0, 0
    end
    local USER_GRACE_MS = 60000
    local now = tonumber(at)
    local taken = math.min(due, limit)
    local entries = redis.call('ZRANGE', due_key, 0, taken - 1)
    local key = event_keys(due_key)
    redis.call('ZREMRANGEBYRANK', due_key, 0, taken - 1)

    local zones, users, records, first_due = {}, {}, {}, nil
    local function expire_hold(booking)
        local record = key('reservation', booking)
        local zone, user, quantity, expires_at =
            unpack(redis.call('HMGET', record, 'zone_id', 'user_id', 'quantity', 'expires_at'))
        if not quantity then
            return -- somebody removed the record: what it held is not known
        end
        first_due = first_due or tonumber(expires_at)
        records[#records + 1] = record
        zones[zone] = (zones[zone] or 0) + quantity
        local grace_end = expires_at + USER_GRACE_MS
        if now >= grace_end then
            users[user] = (users[user] or 0) + quantity
            return
        end
        -- With a clock set back the same booking may expire at the same time twice: both count.
        local grace = 'g ' .. quantity .. ' ' .. expires_at .. ' ' .. #user .. ' ' .. user .. ' '
            .. booking
        while redis.call('ZADD', due_key, 'NX', digits(grace_end), grace) == 0 do
            grace = grace .. '+'
        end
    end
    for _, entry in ipairs(entries) do
        if entry:sub(1, 2) == 'h ' then
            expire_hold(entry:sub(3))
        else
            local quantity, size, user = entry:match('^g (%d+) %d+ (%d+) (.*)$')
            user = user:sub(1, tonumber(size))
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
    end
    return due - taken, #records, first_due
end
