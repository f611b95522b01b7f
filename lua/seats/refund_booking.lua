-- SPDX-License-Identifier: Apache-2.0
-- SEATS.REFUND: gives a confirmed booking back. Its seats are free again, and its confirmation code
-- is no longer valid. Within the retry window the same call gets the same answer, with current
-- figures.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua);
--                                        made from KEYS[1] if it is not given
-- ARGV[1] booking  the booking it has to be, or empty
-- ARGV[2] user     the owner it has to belong to, or empty
-- Returns {1, 'REFUNDED', available}
-- Refuses RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE, INVALID_ARGUMENT; BUSY without KEYS[2]
-- Errors  AGAIN
-- Derives zone:availability:{$event}:$zone, zone:totals:{$event}:$zone,
--         user:reservations:{$event}:$user and user:confirmed:{$event}:$user of the booking,
--         seats:bookings:{$event}, seats:rules:{$event}
-- batch: seats
-- uses: clock expiry slot common seats booking

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
local booking, key = open_booking(KEYS[1], KEYS[2], now)
if not booking then
    return key
end
if booking.status == 'released' then
    return no_booking()
end
local refusal = refuse_ids(booking, ARGV[1], ARGV[2]) or refuse_record(booking)
if refusal then
    return refusal
end
if booking.status ~= 'confirmed' and booking.status ~= 'refunded' then
    return {0, 'INVALID_STATE',
        'the booking is ' .. booking.status .. ': only a confirmed one can be refunded; release it'}
end

local zone_key = key('zone:availability', booking.zone_id)
if booking.status == 'refunded' then
    return {1, 'REFUNDED', tonumber(redis.call('GET', zone_key) or 0)}
end
local quantity = tonumber(booking.quantity)
local confirmed_key = key('user:confirmed', booking.user_id)
local confirmed, lifetime = confirmed_seats(redis.call('GET', confirmed_key))
confirmed = confirmed - quantity
-- Errors, if they are not what they should be, before anything is changed.
local rules_key, totals_key = key('seats:rules'), key('zone:totals', booking.zone_id)
local refunded = tonumber(redis.call('HGET', rules_key, 'refunded') or 0)
redis.call('HGET', totals_key, 'confirmed')
check_counter(zone_key)
check_counter(key('user:reservations', booking.user_id))
if booking.lifetime then
    lifetime = lifetime - quantity
    count_down(key('user:reservations', booking.user_id), booking.quantity)
end
if confirmed > 0 then
    redis.call('SET', confirmed_key, digits(confirmed) .. ' ' .. digits(lifetime))
else
    redis.call('DEL', confirmed_key)
end
redis.call('HINCRBY', totals_key, 'confirmed', digits(-quantity))
-- Modulo 2^53, so that the sum of all refunds ever is never too much for Redis.
local room = limits.HF_INTEGER_MAX - refunded
refunded = room >= quantity and refunded + quantity or quantity - room - 1
redis.call('HSET', rules_key, 'refunded', digits(refunded))
redis.pcall('ZREM', key('seats:bookings'), booking.booking_id)
local available = redis.call('INCRBY', zone_key, booking.quantity)
redis.call('HDEL', KEYS[1], 'confirmation_code')
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'status', 'refunded', 'closed_at', digits(now),
    'closed_us', digits(time[1] * 1000000 + time[2]))
redis.call('PEXPIRE', KEYS[1], redis_ttl(limits.RETRY_WINDOW_MS))
return {1, 'REFUNDED', available}
