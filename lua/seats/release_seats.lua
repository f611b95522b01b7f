-- SPDX-License-Identifier: Apache-2.0
-- SEATS.RELEASE: gives the seats of a booking back, to the zone and off the user's count. Within
-- the retry window the same call gets the same answer, with current figures.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua)
-- ARGV[1] booking
-- ARGV[2] user     the owner it has to belong to, or empty
-- Returns {1, 'SUCCESS', available, user_reserved}
-- Refuses RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE
-- Errors  AGAIN
-- Derives zone:availability:{$event}:$zone and user:reservations:{$event}:$user of the booking,
--         seats:bookings:{$event}, seats:closed:{$event}
-- uses: clock common expiry seats booking

local user = ARGV[2]
local now = now_ms()
if reclaim_seats(KEYS[2], digits(now), limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local booking = find_booking(KEYS[1], now)
if not booking or booking.status == 'refunded' then
    return {0, 'RESERVATION_NOT_FOUND', errors.RESERVATION_NOT_FOUND}
end
if user ~= '' and user ~= booking.user_id then
    return {0, 'NOT_OWNER', 'the booking does not belong to user "' .. user .. '"'}
end
if booking.status == 'confirmed' then
    return {0, 'INVALID_STATE', 'the booking is confirmed: only a reserved one can be released'}
end

local key = event_keys(KEYS[2])
local zone_key = key('zone:availability', booking.zone_id)
local user_key = key('user:reservations', booking.user_id)
if booking.status == 'released' then
    local figures = redis.call('MGET', zone_key, user_key)
    return {1, 'SUCCESS', tonumber(figures[1] or 0), tonumber(figures[2] or 0)}
end
redis.call('ZREM', KEYS[2], booking.entry)
redis.call('ZREM', key('seats:bookings'), booking.booking_id)
local user_count = count_down(user_key, booking.quantity)
local available = redis.call('INCRBY', zone_key, booking.quantity)
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'status', 'released', 'closed_at', digits(now),
    'closed_us', digits(time[1] * 1000000 + time[2]))
redis.call('PEXPIRE', KEYS[1], redis_ttl(limits.RETRY_WINDOW_MS))
return {1, 'SUCCESS', available, user_count}
