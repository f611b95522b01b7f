-- SPDX-License-Identifier: Apache-2.0
-- SEATS.CONFIRM: a booking is paid for. It loses its deadline, leaves the user's count (unless its
-- reserve said LIFETIME) and gets its confirmation code. The same payment again gets the same
-- answer.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua)
-- ARGV[1] booking
-- ARGV[2] user     the owner it has to belong to, or empty
-- ARGV[3] payment  or empty
-- ARGV[4] code     the confirmation code, should it be confirmed now
-- Returns {1, 'CONFIRMED', confirmation_code}
-- Refuses RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE
-- Errors  AGAIN
-- Derives zone:totals:{$event}:$zone, user:reservations:{$event}:$user and
--         user:confirmed:{$event}:$user of the booking; queue:room:{$event}, and where there is one
--         queue:passes:{$event} and queue:user:{$event}:$user
-- uses: clock common seats booking

local user, payment, code = ARGV[2], ARGV[3], ARGV[4]
local now = now_ms()
if reclaim_seats(KEYS[2], digits(now), limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local booking = find_booking(KEYS[1], now)
if not booking or booking.closed_at then
    return {0, 'RESERVATION_NOT_FOUND', errors.RESERVATION_NOT_FOUND}
end
if user ~= '' and user ~= booking.user_id then
    return {0, 'NOT_OWNER', 'the booking does not belong to user "' .. user .. '"'}
end
if booking.status == 'confirmed' then
    if payment ~= booking.payment_id then
        return {0, 'INVALID_STATE', string.format(
            'the booking is confirmed already, with payment "%s", not "%s"',
            booking.payment_id, payment)}
    end
    return {1, 'CONFIRMED', booking.confirmation_code}
end

local key = event_keys(KEYS[2])
local confirmed_key = key('user:confirmed', booking.user_id)
local confirmed, lifetime = confirmed_seats(redis.call('GET', confirmed_key))
confirmed = confirmed + booking.quantity
redis.call('ZREM', KEYS[2], booking.entry)
if booking.lifetime then
    lifetime = lifetime + booking.quantity
else
    count_down(key('user:reservations', booking.user_id), booking.quantity)
end
redis.call('SET', confirmed_key, digits(confirmed) .. ' ' .. digits(lifetime))
redis.call('HINCRBY', key('zone:totals', booking.zone_id), 'confirmed', booking.quantity)
redis.call('HSET', KEYS[1], 'status', 'confirmed', 'expires_at', '0', 'ttl', booking.ttl,
    'confirmed_at', digits(now), 'payment_id', payment, 'confirmation_code', code)
if redis.call('EXISTS', key('queue:room')) == 1 then -- the user's place in the waiting room is free
    redis.call('HDEL', key('queue:user', booking.user_id), 'pass', 'pass_deadline', 'pass_ttl',
        'pass_token')
    redis.call('ZREM', key('queue:passes'), booking.user_id)
end
return {1, 'CONFIRMED', code}
