-- SPDX-License-Identifier: Apache-2.0
-- SEATS.OPEN: makes a zone, or changes its capacity; the free seats move by the difference. The
-- zone's own limit per user becomes what is given. A zone that another program made, by a SET of
-- its free seats, had the capacity that was free, on hold and confirmed (parts/zone.lua).
--
-- KEYS[1] zone:availability:{$event}:$zone  integer, free seats
-- KEYS[2] zone:totals:{$event}:$zone        hash: capacity, confirmed
-- KEYS[3] seats:due:{$event}                sorted set, what falls due when (parts/seats.lua)
-- KEYS[4] seats:zones:{$event}              sorted set, the names of the zones; this key is
--                                           made from KEYS[3] if it is not given
-- KEYS[5] seats:rules:{$event}              hash, what a reserve has to know of the event; made as
--                                           KEYS[4] is
-- ARGV[1] capacity
-- ARGV[2] zone      read from KEYS[1] if it is not given
-- ARGV[3] max       how many seats a user may have; limits.HF_INTEGER_MAX or not given: no limit
-- ARGV[4] lifetime  1: confirmed seats count against max
-- Returns {1, available, capacity}
-- Refuses INVALID_QUANTITY, CAPACITY_IN_USE; BUSY for a zone that another program made, with more
--         holds in its event than can be added up
-- Errors  AGAIN, ERR
-- uses: clock expiry slot common seats zone

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
if string.format('%d', limits.HF_INTEGER_MAX) ~= digits(limits.HF_INTEGER_MAX) then
    return redis.error_reply('ERR seats need a 64-bit server') -- reserve_seats writes times with %d
end
local capacity = tonumber(ARGV[1])
if not capacity or capacity % 1 ~= 0 or capacity < 0 or capacity > limits.HF_INTEGER_MAX then
    return {0, 'INVALID_QUANTITY', errors.INVALID_QUANTITY}
end
local late = refuse_due(KEYS[3], now_ms())
if late then
    return late
end

local available = tonumber(redis.call('GET', KEYS[1]))
local zone = ARGV[2] or zone_name(KEYS[1])
local former, confirmed = zone_totals(KEYS[2], KEYS[3], zone, available)
if not former then
    return confirmed
end
local in_use = former - (available or 0)
if capacity < in_use then
    return {0, 'CAPACITY_IN_USE', string.format(
        'capacity %.0f is below the %.0f seats reserved and %.0f confirmed',
        capacity, in_use - confirmed, confirmed)}
end
local max, lifetime = tonumber(ARGV[3]) or limits.HF_INTEGER_MAX, ARGV[4] == '1'
local key = keys_beside(KEYS[3])
local rules_key = KEYS[5] or key('seats:rules')
redis.call('HLEN', rules_key) -- an error, if it is no hash
redis.call('ZADD', KEYS[4] or key('seats:zones'), 0, zone)
redis.call('HDEL', rules_key, 'max:' .. zone, 'lifetime:' .. zone)
if max < limits.HF_INTEGER_MAX then
    redis.call('HSET', rules_key, 'max:' .. zone, digits(max))
    if lifetime then
        redis.call('HSET', rules_key, 'lifetime:' .. zone, '1')
    end
end
redis.call('SET', KEYS[1], digits(capacity - in_use))
redis.call('HSET', KEYS[2], 'capacity', digits(capacity), 'confirmed', digits(confirmed))
return {1, capacity - in_use, capacity}
