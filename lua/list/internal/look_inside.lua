-- SPDX-License-Identifier: Apache-2.0
-- LIST: what there is to say of an event, a waiting room or a key of idempotency. Changes nothing.
--
-- KEYS[1] seats:zones:{$event}  sorted set, the zones of an event; or
--         queue:due:{$event}    sorted set, users by the deadline of their entry; or
--         idemp:$key            hash, one request
-- ARGV[1] kind  events, rooms or keys
-- Returns {field, value, …}; empty if there is nothing
-- Refuses nothing
-- Errors  none
-- uses: clock common

local now = now_ms()
if ARGV[1] == 'events' then
    local zones = redis.call('ZCARD', KEYS[1])
    return zones > 0 and {'zones', zones} or {}
end
if ARGV[1] == 'rooms' then
    local waiting = redis.call('ZCOUNT', KEYS[1], '(' .. digits(now), '+inf')
    return waiting > 0 and {'waiting', waiting} or {}
end
local known = redis.call('HMGET', KEYS[1], 'state', 'deadline')
if not known[1] or tonumber(known[2]) <= now then
    return {}
end
return {'state', known[1]:upper()}
