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
-- Refuses ZONE_NOT_FOUND; BUSY for a zone that another program made, with more holds in its event
--         than can be added up (parts/zone.lua)
-- Errors  AGAIN
-- batch: seats
-- uses: clock expiry slot common seats zone

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local late = refuse_due(KEYS[3], now_ms())
if late then
    return late
end

local available = tonumber(redis.call('GET', KEYS[1]))
if not available then
    return {0, 'ZONE_NOT_FOUND', errors.ZONE_NOT_FOUND}
end
local zone = ARGV[1] or zone_name(KEYS[1])
local capacity, confirmed = zone_totals(KEYS[2], KEYS[3], zone, available)
if not capacity then
    return confirmed
end
local rules = redis.call('HMGET', KEYS[4] or keys_beside(KEYS[3])('seats:rules'),
    'max:' .. zone, 'lifetime:' .. zone)
return {'capacity', capacity, 'available', available,
    'reserved', capacity - available - confirmed, 'confirmed', confirmed,
    'max', tonumber(rules[1] or 0), 'lifetime', rules[2] and 1 or 0}
