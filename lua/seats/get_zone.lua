-- SPDX-License-Identifier: Apache-2.0
-- SEATS.ZONE: a zone's totals. Always: capacity = available + reserved + confirmed.
--
-- KEYS[1] zone:availability:{$event}:$zone  integer, free seats
-- KEYS[2] zone:totals:{$event}:$zone        hash: capacity, confirmed
-- KEYS[3] seats:due:{$event}                sorted set, what falls due when (parts/seats.lua)
-- KEYS[4] seats:rules:{$event}              hash, what a reserve has to know of the event; this key
--                                           is made from KEYS[3] if it is not given
-- ARGV[1] zone     read from KEYS[1] if it is not given
-- Returns {'capacity', n, 'available', n, 'reserved', n, 'confirmed', n, 'max', n or 0 if there is
--         none, 'lifetime', 1 or 0}
-- Refuses ZONE_NOT_FOUND
-- Errors  AGAIN
-- uses: clock common seats

if reclaim_seats(KEYS[3], digits(now_ms()), limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local available = tonumber(redis.call('GET', KEYS[1]))
if not available then
    return {0, 'ZONE_NOT_FOUND', errors.ZONE_NOT_FOUND}
end
local totals = redis.call('HMGET', KEYS[2], 'capacity', 'confirmed')
local capacity, confirmed = tonumber(totals[1] or 0), tonumber(totals[2] or 0)
local zone = ARGV[1] or KEYS[1]:match('}:(.*)$')
local rules = redis.call('HMGET', KEYS[4] or event_keys(KEYS[3])('seats:rules'),
    'max:' .. zone, 'lifetime:' .. zone)
return {'capacity', capacity, 'available', available,
    'reserved', capacity - available - confirmed, 'confirmed', confirmed,
    'max', tonumber(rules[1] or 0), 'lifetime', rules[2] and 1 or 0}
