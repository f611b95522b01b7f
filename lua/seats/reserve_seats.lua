-- SPDX-License-Identifier: Apache-2.0
-- SEATS.RESERVE: holds seats in a zone for a user until a deadline. The same call again changes
-- nothing and answers with current figures.
--
-- KEYS[1] zone:availability:{$event}:$zone  integer, free seats
-- KEYS[2] user:reservations:{$event}:$user  integer, what counts against the user's limit
-- KEYS[3] reservation:{$event}:$booking     hash, the booking (parts/booking.lua)
-- KEYS[4] seats:due:{$event}                sorted set, what falls due when (parts/seats.lua)
-- KEYS[5] user:confirmed:{$event}:$user     string, "confirmed lifetime" (parts/booking.lua)
-- KEYS[6] seats:rules:{$event}              hash, what a reserve has to know of the event
-- KEYS[7] seats:bookings:{$event}           sorted set, the names of the bookings; this key and the
--                                           rules' are made from KEYS[4] if they are not given
-- ARGV[1] quantity
-- ARGV[2] max_per_user
-- ARGV[3] user
-- ARGV[4] booking
-- ARGV[5] zone
-- ARGV[6] event
-- ARGV[7] show          or empty
-- ARGV[8] price         of one seat
-- ARGV[9] ttl           in seconds
-- ARGV[10] lifetime     1: confirmed seats go on counting against the user's limit; 0 if missing
-- ARGV[11] pass         the user's, where the event's waiting room has a gate; or empty
-- Returns {1, remaining, user_reserved, expires_at in ms or 0 if confirmed, status}
-- Refuses INVALID_QUANTITY, ZONE_NOT_FOUND, BOOKING_EXISTS, INSUFFICIENT_STOCK,
--         USER_LIMIT_EXCEEDED, NOT_ADMITTED; INVALID_ID for an id with a space in it
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user, where the event's waiting room has a gate
-- uses: clock common seats booking

-- The end of a refusal for the user's sake: what the count has beside seats that are held.
local GRACE = '; holds that expired count for 60 s more' -- limits.SEATS_USER_GRACE_MS

local KEYS, ARGV, call, find = KEYS, ARGV, redis.call, string.find -- globals take longer
local quantity, max_per_user, ttl_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), to_ms(ARGV[9])
if not quantity or quantity % 1 ~= 0 or quantity <= 0 then
    return {0, 'INVALID_QUANTITY', errors.INVALID_QUANTITY}
end
local now = now_ms()
local created_at = string.format('%d', now) -- quicker than digits()
if reclaim_seats(KEYS[4], created_at, limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local figures = call('MGET', KEYS[1], KEYS[2], KEYS[5])
local available, user_count = tonumber(figures[1]), tonumber(figures[2] or 0)
if not available then
    return {0, 'ZONE_NOT_FOUND', 'no such zone: open it first'}
end
local rules = call('HMGET', KEYS[6] or (KEYS[4]:gsub('seats:due:(%b{})$', 'seats:rules:%1')),
    'max:' .. ARGV[5], 'lifetime:' .. ARGV[5], 'gate', 'closing')
local closed, beyond_count = false, 0 -- beyond the count are confirmed seats it leaves out
if call('EXISTS', KEYS[3]) > 0 then
    local booking = find_booking(KEYS[3], now)
    if booking and not booking.closed_at then
        local same = {
            {'zone', booking.zone_id, ARGV[5]}, {'user', booking.user_id, ARGV[3]},
            {'quantity', tonumber(booking.quantity), quantity}, {'SHOW', booking.show_id, ARGV[7]},
            {'PRICE', tonumber(booking.unit_price), tonumber(ARGV[8])},
            {'TTL', tonumber(booking.ttl), ttl_ms, ' ms'},
            {'LIFETIME', tonumber(booking.lifetime or 0), tonumber(ARGV[10] or 0)},
        }
        for _, argument in ipairs(same) do
            if argument[2] ~= argument[3] then
                return {0, 'BOOKING_EXISTS', differs('the booking exists', unpack(argument))}
            end
        end
        return {1, available, user_count, tonumber(booking.expires_at), booking.status}
    end
    closed = booking ~= nil
end
if figures[3] then
    local confirmed, lifetime = confirmed_seats(figures[3])
    beyond_count = confirmed - lifetime
end
if rules[3] then
    local own = call('HMGET', KEYS[4]:gsub('seats:due:(%b{})$', 'queue:user:%1:') .. ARGV[3],
        'pass', 'pass_deadline')
    if not own[1] or own[1] ~= ARGV[11] or tonumber(own[2]) <= now then
        return {0, 'NOT_ADMITTED', string.format(
            'event "%s" is entered through its waiting room: ' .. ((ARGV[11] or '') == ''
            and 'PASS is missing, which admission gives to user "%s"'
            or 'PASS is not the pass of user "%s", or no longer valid'), ARGV[6], ARGV[3])}
    end
end
if quantity > available then
    return {0, 'INSUFFICIENT_STOCK',
        string.format('%.0f seats available, %.0f requested', available, quantity)}
end
if quantity > max_per_user - user_count
    or quantity > limits.HF_INTEGER_MAX - user_count - beyond_count then
    return {0, 'USER_LIMIT_EXCEEDED',
        string.format('the user has %.0f seats, %.0f requested, at most %.0f allowed' .. GRACE,
            user_count, quantity, max_per_user)}
end
local zone_max = tonumber(rules[1])
if zone_max then
    local counted = rules[2] and user_count + beyond_count or user_count
    if quantity > zone_max - counted then
        return {0, 'USER_LIMIT_EXCEEDED',
            string.format('the user has %.0f seats%s, %.0f requested, the zone allows at most %.0f'
                .. GRACE, counted, rules[2] and ' with those confirmed' or '', quantity, zone_max)}
    end
end

if find(ARGV[3], ' ', 1, true) or find(ARGV[4], ' ', 1, true) or find(ARGV[5], ' ', 1, true) then
    return {0, 'INVALID_ID', 'an id has no spaces'} -- they separate the ids in what falls due
end
if rules[4] then -- a CLOSE that sums the seats up zone by zone begins anew
    call('HDEL', KEYS[6] or (KEYS[4]:gsub('seats:due:(%b{})$', 'seats:rules:%1')), 'closing')
end
local entry = 'h ' .. ARGV[5] .. ' ' .. ARGV[3] .. ' ' .. ARGV[1] .. ' ' .. ARGV[4]
local expires_at = string.format('%d', now + ttl_ms)
available = call('DECRBY', KEYS[1], ARGV[1])
user_count = call('INCRBY', KEYS[2], ARGV[1])
if closed then
    call('DEL', KEYS[3]) -- kept for retries of what closed it, with a time to live
end
call('HSET', KEYS[3], 'booking_id', ARGV[4], 'user_id', ARGV[3], 'zone_id', ARGV[5],
    'event_id', ARGV[6], 'show_id', ARGV[7], 'quantity', ARGV[1], 'unit_price', ARGV[8],
    'status', 'reserved', 'created_at', created_at, 'expires_at', expires_at)
if ARGV[10] == '1' then
    call('HSET', KEYS[3], 'lifetime', '1')
end
call('ZADD', KEYS[4], expires_at, entry)
call('ZADD', KEYS[7] or (KEYS[4]:gsub('seats:due:(%b{})$', 'seats:bookings:%1')), 0, ARGV[4])
return {1, available, user_count, now + ttl_ms, 'reserved'}
