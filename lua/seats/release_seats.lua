-- SPDX-License-Identifier: Apache-2.0
-- SEATS.RELEASE: gives the seats of a booking back, to the zone and off the user's count. Within
-- the retry window the same call gets the same answer, with current figures.
--
-- To the letter: KEYS zone:availability:Z, user:reservations:U:E, reservation:B, plain or tagged,
-- with ARGV booking_id, user_id, each of which may be missing or empty.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua);
--                                        made from KEYS[1] if it is not given
-- ARGV[1] booking  the booking it has to be, or empty
-- ARGV[2] user     the owner it has to belong to, or empty
-- Returns {1, 'SUCCESS', available, user_reserved}
-- Refuses RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE, INVALID_ARGUMENT; BUSY without the key
--         of the deadlines
-- Errors  AGAIN
-- Derives zone:availability:{$event}:$zone, zone:totals:{$event}:$zone and
--         user:reservations:{$event}:$user of the booking, seats:bookings:{$event},
--         seats:closed:{$event}
-- batch: seats
-- uses: clock expiry slot common seats booking

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local booking_key, other_key, third_key = unpack(KEYS)
local given_zone
if third_key then
    given_zone, booking_key = booking_key, third_key
end
local now = now_ms()
local booking, key = open_booking(booking_key, other_key, now)
if not booking then
    return key
elseif booking.status == 'refunded' then
    return no_booking()
end
local refusal = refuse_ids(booking, ARGV[1], ARGV[2]) or refuse_record(booking)
if refusal then
    return refusal
end
local zone_key = key('zone:availability', booking.zone_id)
local user_key = key('user:reservations', booking.user_id)
if given_zone and given_zone ~= zone_key then
    return refuse_argument('"' .. given_zone .. '" is not the key of the booking\'s zone')
elseif booking.status == 'released' then
    local figures = redis.call('MGET', zone_key, user_key)
    return {1, 'SUCCESS', tonumber(figures[1] or 0), tonumber(figures[2] or 0)}
elseif booking.status ~= 'reserved' then
    return {0, 'INVALID_STATE', 'the booking is ' .. booking.status
        .. ': only a reserved one can be released'}
end

check_counter(zone_key)
check_counter(user_key)
end_hold(booking, key) -- a full Redis allows what this begins with, and then what follows it
redis.pcall('ZREM', key('seats:bookings'), booking.booking_id)
local user_count = count_down(user_key, booking.quantity)
local available = redis.call('INCRBY', zone_key, booking.quantity)
local time = redis.call('TIME')
redis.call('HSET', booking_key, 'status', 'released', 'closed_at', digits(now),
    'closed_us', digits(time[1] * 1000000 + time[2]))
redis.call('PEXPIRE', booking_key, redis_ttl(limits.RETRY_WINDOW_MS))
return {1, 'SUCCESS', available, user_count}
