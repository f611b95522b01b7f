-- SPDX-License-Identifier: Apache-2.0
-- SEATS.EXTEND: moves a booking's deadline to now + ttl; never to an earlier time, and never later
-- than limits.EXTEND_FACTOR first TTLs after its start.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua);
--                                        made from KEYS[1] if it is not given
-- ARGV[1] booking
-- ARGV[2] ttl      in seconds
-- Returns {1, expires_at in ms}
-- Refuses RESERVATION_NOT_FOUND, INVALID_STATE, INVALID_ARGUMENT; BUSY without KEYS[2]
-- Errors  AGAIN
-- Derives user:reservations:{$event}:$user of the booking
-- batch: seats
-- uses: clock expiry slot common seats booking

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local ttl_ms = to_ms(ARGV[2])
local now = now_ms()
local booking, key = open_booking(KEYS[1], KEYS[2], now)
if not booking then
    return key
end
if booking.closed_at then
    return no_booking()
end
if booking.status == 'confirmed' then
    return {0, 'INVALID_STATE', 'the booking is confirmed and has no deadline'}
end
if booking.foreign then
    return {0, 'INVALID_STATE',
        'the booking was not reserved by these scripts: it has no deadline here'}
end
local latest = booking.created_at + limits.EXTEND_FACTOR * booking.ttl
local deadline = math.min(now + ttl_ms, latest)
if deadline <= tonumber(booking.expires_at) then
    return {1, tonumber(booking.expires_at)}
end
redis.call('HSET', KEYS[1], 'expires_at', digits(deadline), 'ttl', booking.ttl)
redis.call('PEXPIREAT', KEYS[1], redis_time(digits(deadline)))
redis.call('ZADD', key('seats:due'), digits(deadline), booking.entry)
keep_count(key('user:reservations', booking.user_id), deadline, now)
return {1, deadline}
