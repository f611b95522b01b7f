-- SPDX-License-Identifier: Apache-2.0
-- SEATS.CONFIRM: a booking is paid for. It loses its deadline, leaves the user's count (unless its
-- reserve said LIFETIME) and gets its confirmation code. The same payment again gets the same
-- answer.
--
-- To the letter: KEYS reservation:B, plain or tagged, and behind it nothing or the user's key, with
-- ARGV booking_id, user_id, payment_id, confirmation_code, each of which may be missing or empty.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua);
--                                        made from KEYS[1] if it is not given
-- ARGV[1] booking  the booking it has to be, or empty
-- ARGV[2] user     the owner it has to belong to, or empty
-- ARGV[3] payment  or empty
-- ARGV[4] code     the confirmation code, should it be confirmed now; made here if it is not given
-- Returns {1, 'CONFIRMED', confirmation_code}
-- Refuses RESERVATION_NOT_FOUND, NOT_OWNER, INVALID_STATE, INVALID_ARGUMENT; BUSY without KEYS[2]
-- Errors  AGAIN
-- Derives zone:totals:{$event}:$zone, user:reservations:{$event}:$user and
--         user:confirmed:{$event}:$user of the booking, seats:bookings:{$event},
--         seats:rules:{$event};
--         queue:room:{$event}, and where there is one queue:passes:{$event} and
--         queue:user:{$event}:$user
-- batch: seats
-- uses: clock expiry slot common seats booking

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
-- Returns a code of ten characters in Crockford's base 32, out of 50 bits of a SHA-1: of the time
-- to the microsecond, the booking, and the run id of the server, which its customers do not know.
local function make_code(booking)
    local time, info = redis.call('TIME'), redis.pcall('INFO', 'server')
    local run_id = type(info) == 'string' and info:match('run_id:(%x+)') or ''
    local hash = redis.sha1hex(table.concat({time[1], time[2], KEYS[1], booking.entry,
        booking.created_at or '', run_id}, ' '))
    local code = {}
    for i = 1, 10 do
        local digit = tonumber(hash:sub(2 * i - 1, 2 * i), 16) % 32 + 1
        code[i] = ('0123456789ABCDEFGHJKMNPQRSTVWXYZ'):sub(digit, digit)
    end
    return table.concat(code)
end

local payment, code = ARGV[3] or '', ARGV[4] or ''
local now = now_ms()
local booking, key = open_booking(KEYS[1], KEYS[2], now)
if not booking then
    return key
end
if booking.closed_at then
    return no_booking()
end
local refusal = refuse_ids(booking, ARGV[1], ARGV[2]) or refuse_record(booking)
if refusal then
    return refusal
end
if booking.status == 'confirmed' then
    if payment ~= (booking.payment_id or '') then
        return {0, 'INVALID_STATE', string.format(
            'the booking is confirmed already, with payment "%s", not "%s"',
            booking.payment_id or '', payment)}
    end
    return {1, 'CONFIRMED', booking.confirmation_code or ''}
end
if booking.status ~= 'reserved' then
    return {0, 'INVALID_STATE', 'the booking is ' .. booking.status}
end

local confirmed_key = key('user:confirmed', booking.user_id)
local confirmed, lifetime = confirmed_seats(redis.call('GET', confirmed_key))
confirmed = confirmed + booking.quantity
if code == '' then
    code = make_code(booking)
end
check_counter(key('user:reservations', booking.user_id))
redis.call('HGET', key('zone:totals', booking.zone_id), 'confirmed') -- an error, if it is no hash
end_hold(booking, key)
if booking.lifetime then
    lifetime = lifetime + booking.quantity
    redis.call('PERSIST', key('user:reservations', booking.user_id))
else
    count_down(key('user:reservations', booking.user_id), booking.quantity)
end
redis.call('SET', confirmed_key, digits(confirmed) .. ' ' .. digits(lifetime))
if confirmed > limits.HF_INTEGER_MAX / 2 then -- few more would be beyond all bounds
    redis.call('HSET', key('seats:rules'), 'many', '1')
end
redis.call('HINCRBY', key('zone:totals', booking.zone_id), 'confirmed', booking.quantity)
redis.call('HSET', KEYS[1], 'status', 'confirmed', 'expires_at', '0', 'ttl', booking.ttl or '0',
    'confirmed_at', digits(now), 'payment_id', payment, 'confirmation_code', code)
redis.call('PERSIST', KEYS[1])
redis.pcall('ZADD', key('seats:bookings'), 0, booking.booking_id)
if redis.call('EXISTS', key('queue:room')) == 1 then -- the user's place in the waiting room is free
    redis.pcall('HDEL', key('queue:user', booking.user_id), 'pass', 'pass_deadline', 'pass_ttl',
        'pass_token')
    redis.pcall('ZREM', key('queue:passes'), booking.user_id)
end
return {1, 'CONFIRMED', code}
