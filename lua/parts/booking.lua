-- SPDX-License-Identifier: Apache-2.0
-- One booking: a hash that stays until the hold expires or, released or refunded, until the retry
-- window is over. Redis deletes it then, should no script have done so: what it held stands among
-- the deadlines. Beside the fields that get_booking.lua returns it has lifetime (1, if the reserve
-- said so), ttl (of the reserve, in milliseconds, once expires_at - created_at does not tell it any
-- more), and once released or refunded, closed_at, and closed_us by the server's own clock in
-- microseconds: what was before its event was closed (seats:closed:{$event} says when) is not
-- remembered.
--
-- Scripts of other authors write records of the same name: with times in seconds or none, with an
-- EXPIRE, and with nothing among the deadlines. They are told by that. Such a hold can be released
-- and confirmed, and is not extended; if it lapses, its seats are lost as they were before.

local function refuse_argument(message)
    return {0, 'INVALID_ARGUMENT', message}
end

local function no_booking()
    return {0, 'RESERVATION_NOT_FOUND', errors.RESERVATION_NOT_FOUND}
end

-- Returns the booking's fields, and as `entry` what stands among the deadlines while it is
-- reserved; nil if there is no such booking, or its retry window is over.
local function find_booking(booking_key, now, key)
    local record = redis.call('HGETALL', booking_key)
    local booking = {}
    for i = 1, #record, 2 do
        booking[record[i]] = record[i + 1]
    end
    if not booking.status then
        return nil
    end
    if booking.closed_at then
        local ended = redis.call('GET', key('seats:closed'))
        if now >= booking.closed_at + limits.RETRY_WINDOW_MS
            or ended and tonumber(ended) > tonumber(booking.closed_us or 0) then
            redis.call('DEL', booking_key)
            return nil
        end
    end
    booking.entry = 'h ' .. (booking.zone_id or '') .. ' ' .. (booking.user_id or '') .. ' '
        .. (booking.quantity or '') .. ' ' .. (booking.booking_id or '')
    booking.foreign = booking.status == 'reserved'
        and not redis.call('ZSCORE', key('seats:due'), booking.entry)
    if not booking.foreign then
        booking.ttl = booking.ttl or digits((tonumber(booking.expires_at) or 0)
            - (tonumber(booking.created_at) or 0))
    end
    return booking
end

-- Returns the refusal if a record does not say what its seats are, or nil.
local function refuse_record(booking)
    for _, field in ipairs({'zone_id', 'user_id', 'event_id', 'quantity'}) do
        if not booking[field] or booking[field] == ''
            or field == 'quantity' and not booking[field]:match('^[1-9]%d*$') then
            return {0, 'INVALID_STATE', 'the record of the booking was not written by these '
                .. 'scripts, and has no valid ' .. field}
        end
    end
end

-- Is it due, and not given back yet?
local function is_over(booking, now)
    return booking.status == 'reserved' and not booking.foreign
        and tonumber(booking.expires_at) <= now
end

-- Finds the booking of a key, once what is due in its event was given back: all of it or, for
-- callers that know nothing of deadlines, as much as one call may. `other_key` is the event's key
-- of deadlines or, from the latter, the user's or nil.
-- Returns the booking and the function that makes the event's keys; or nil and the answer.
local function open_booking(booking_key, other_key, now)
    local namespace, event, id = booking_key:match('^(.*)reservation:{([^{}]*)}:(.+)$')
    local tagged = event ~= nil
    if not tagged then
        namespace, id = booking_key:match('^(.-)reservation:([^{}]+)$')
        event = id and redis.call('HGET', booking_key, 'event_id')
    end
    if not id then
        return nil, refuse_argument('"' .. booking_key .. '" is not the key of a booking')
    elseif not event then
        if redis.call('HEXISTS', booking_key, 'status') == 1 then
            return nil, refuse_record({zone_id = '-', user_id = '-'})
        end
        return nil, no_booking()
    end
    local key = event_keys(namespace, event, tagged)
    local due_key = key('seats:due')
    if other_key and other_key ~= due_key and other_key:find('seats:due:', 1, true) then
        return nil, refuse_argument('the deadlines are of another event than the booking')
    end
    local patient, answer = other_key ~= due_key, nil
    if not patient then
        answer = refuse_due(due_key, now)
    elseif reclaim_patiently(due_key, now) and redis.call('ZSCORE', due_key, 'c') then
        answer = busy() -- the event was closed, with this booking
    end
    if answer then
        return nil, answer
    end
    local booking = find_booking(booking_key, now, key)
    if not booking or patient and is_over(booking, now) then
        return nil, no_booking()
    end
    booking.booking_id, booking.event_id = booking.booking_id or id, booking.event_id or event
    if booking.booking_id ~= id or booking.event_id ~= event then
        return nil, refuse_argument('the record is not that of the booking its key names')
    end
    if other_key and other_key ~= due_key
        and other_key ~= key('user:reservations', booking.user_id or '') then
        return nil, refuse_argument('"' .. other_key .. '" is not the key of the booking\'s user')
    end
    return booking, key
end

-- Returns the refusal if ids that a caller gave, or none or empty ones, are not the booking's.
local function refuse_ids(booking, id, user)
    if (id or '') ~= '' and id ~= booking.booking_id then
        return refuse_argument('the record is of booking "' .. booking.booking_id .. '", not "'
            .. id .. '"')
    elseif (user or '') ~= '' and user ~= booking.user_id then
        return {0, 'NOT_OWNER', 'the booking does not belong to user "' .. user .. '"'}
    end
end

-- Ends the script, before it has changed anything, if a key that is to be added to is no counter.
local function check_counter(counter_key)
    local value = redis.call('GET', counter_key)
    if value and not value:match('^%-?%d+$') then
        error('"' .. counter_key .. '" is not an integer')
    end
end

-- Takes a reserved booking from among the deadlines. The zone did not know of the seats of another
-- author's record: if it has a capacity, they are more than that.
local function end_hold(booking, key)
    local totals_key = key('zone:totals', booking.zone_id)
    redis.call('ZREM', key('seats:due'), booking.entry)
    if booking.foreign and (tonumber(booking.expires_at) or 0) < 100000000000
        and redis.call('HEXISTS', totals_key, 'capacity') == 1 then
        redis.call('HINCRBY', totals_key, 'capacity', booking.quantity)
    end
end

-- Returns the seats that a user has confirmed, and how many of them count against the limit for
-- good, from the text "confirmed lifetime".
local function confirmed_seats(text)
    local confirmed, lifetime = (text or '0 0'):match('^(%d+) (%d+)$')
    return tonumber(confirmed), tonumber(lifetime)
end
