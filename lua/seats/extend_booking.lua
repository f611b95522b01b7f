-- SPDX-License-Identifier: Apache-2.0
-- SEATS.EXTEND: moves a booking's deadline to now + ttl; never to an earlier time, and never later
-- than limits.EXTEND_FACTOR first TTLs after its start.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua)
-- ARGV[1] booking
-- ARGV[2] ttl      in seconds
-- Returns {1, expires_at in ms}
-- Refuses RESERVATION_NOT_FOUND, INVALID_STATE
-- Errors  AGAIN
-- uses: clock common seats booking

local ttl_ms = to_ms(ARGV[2])
local now = now_ms()
if reclaim_seats(KEYS[2], digits(now), limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local booking = find_booking(KEYS[1], now)
if not booking or booking.closed_at then
    return {0, 'RESERVATION_NOT_FOUND', errors.RESERVATION_NOT_FOUND}
end
if booking.status == 'confirmed' then
    return {0, 'INVALID_STATE', 'the booking is confirmed and has no deadline'}
end
local latest = booking.created_at + limits.EXTEND_FACTOR * booking.ttl
local deadline = math.min(now + ttl_ms, latest)
if deadline <= tonumber(booking.expires_at) then
    return {1, tonumber(booking.expires_at)}
end
redis.call('HSET', KEYS[1], 'expires_at', digits(deadline), 'ttl', booking.ttl)
redis.call('ZADD', KEYS[2], digits(deadline), booking.entry)
return {1, deadline}
