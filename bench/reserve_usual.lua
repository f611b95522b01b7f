-- SPDX-License-Identifier: Apache-2.0
--
-- The reserve script as teams write it by hand; what bench/server.py compares with.
--
-- KEYS   1 zone:availability:ZONE   2 user:reservations:USER:EVENT   3 reservation:BOOKING
-- ARGV   1 quantity  2 max_per_user  3 user_id  4 booking_id  5 zone_id  6 event_id  7 show_id
--        8 unit_price  9 ttl_seconds
-- Reply  {1, remaining, user_reserved} or {0, CODE, message}
local quantity = tonumber(ARGV[1])
local max_per_user = tonumber(ARGV[2])
local ttl = tonumber(ARGV[9])

if not quantity or quantity <= 0 then
    return {0, 'INVALID_QUANTITY', 'Quantity must be positive'}
end

local available = tonumber(redis.call('GET', KEYS[1]))
if not available then
    return {0, 'ZONE_NOT_FOUND', 'Zone not found'}
end
if available < quantity then
    return {0, 'INSUFFICIENT_STOCK', 'Available: ' .. available .. ', requested: ' .. quantity}
end

local reserved = tonumber(redis.call('GET', KEYS[2]) or '0')
if reserved + quantity > max_per_user then
    return {0, 'USER_LIMIT_EXCEEDED', 'User limit exceeded'}
end

local now = tonumber(redis.call('TIME')[1])
local remaining = redis.call('DECRBY', KEYS[1], quantity)
local user_reserved = redis.call('INCRBY', KEYS[2], quantity)
redis.call('EXPIRE', KEYS[2], ttl + 60)
redis.call('HSET', KEYS[3],
    'booking_id', ARGV[4],
    'user_id', ARGV[3],
    'zone_id', ARGV[5],
    'event_id', ARGV[6],
    'show_id', ARGV[7],
    'quantity', quantity,
    'unit_price', ARGV[8],
    'status', 'reserved',
    'created_at', now,
    'expires_at', now + ttl)
redis.call('EXPIRE', KEYS[3], ttl)

return {1, remaining, user_reserved}
