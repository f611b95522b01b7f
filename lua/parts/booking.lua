-- SPDX-License-Identifier: Apache-2.0
-- One booking: a hash that stays until the hold expires or, released or refunded, until the retry
-- window is over. Beside the fields that get_booking.lua returns it has lifetime (1, if the reserve
-- said so), ttl (of the reserve, in milliseconds, once expires_at - created_at does not tell it any
-- more), and once released or refunded, closed_at, and closed_us by the server's own clock in
-- microseconds: what was before its event was closed (seats:closed:{$event} says when) is not
-- remembered.

-- Returns the booking's fields, and as `entry` what stands among the deadlines while it is
-- reserved; nil if there is no such booking, or its retry window is over.
local function find_booking(booking_key, now)
    local record = redis.call('HGETALL', booking_key)
    local booking = {}
    for i = 1, #record, 2 do
        booking[record[i]] = record[i + 1]
    end
    if not booking.status then
        return nil
    end
    if booking.closed_at then
        local namespace, tag = booking_key:match('^(.*)reservation:({[^{}]*}):')
        local ended = tag and redis.call('GET', namespace .. 'seats:closed:' .. tag)
        if now >= booking.closed_at + limits.RETRY_WINDOW_MS
            or ended and tonumber(ended) > tonumber(booking.closed_us or 0) then
            redis.call('DEL', booking_key)
            return nil
        end
    end
    booking.entry = 'h ' .. booking.zone_id .. ' ' .. booking.user_id .. ' ' .. booking.quantity
        .. ' ' .. booking.booking_id
    booking.ttl = booking.ttl or digits(booking.expires_at - booking.created_at)
    return booking
end

-- Returns the seats that a user has confirmed, and how many of them count against the limit for
-- good, from the text "confirmed lifetime".
local function confirmed_seats(text)
    local confirmed, lifetime = (text or '0 0'):match('^(%d+) (%d+)$')
    return tonumber(confirmed), tonumber(lifetime)
end
