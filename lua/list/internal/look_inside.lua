-- SPDX-License-Identifier: Apache-2.0
-- LIST: what there is to say of an event, a waiting room or a key of idempotency. Of an event it
-- gives back what is due first; of the others it changes nothing.
--
-- KEYS[1] seats:zones:{$event}     sorted set, the zones of an event; or
--         queue:room:{$event}      hash, the settings of a room (parts/room.lua); or
--         idemp:$key               hash, one request
-- KEYS[2] seats:bookings:{$event}  sorted set, the bookings of the event; or
--         queue:due:{$event}       sorted set, users by the deadline of their entry
-- KEYS[3] seats:due:{$event}       sorted set, what falls due when (parts/seats.lua); or
--         queue:passes:{$event}    sorted set, users by the deadline of their pass
-- ARGV[1] kind   events, rooms or keys
-- ARGV[2] found  the number of the key that it was found by. A room that has several of its keys is
--                told for the first of them alone, so that it is listed once
-- Returns {field, value, …}; empty if there is nothing
-- Refuses nothing
-- Errors  AGAIN
-- Derives zone:availability:{$event}:$zone, user:reservations:{$event}:$user and
--         reservation:{$event}:$booking of what is due
-- uses: clock expiry slot common seats listing

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
if ARGV[1] == 'events' then
    if redis.call('ZSCORE', KEYS[3], 'c') then -- closed, with something of it left
        return {}
    end
    local late = refuse_due(KEYS[3], now)
    if late then
        return late
    end
    if not complete_names(KEYS[3], keys_beside(KEYS[3])) then
        return again()
    end
    local zones = redis.call('ZCARD', KEYS[1])
    return zones > 0 and {'zones', zones, 'bookings', redis.call('ZCARD', KEYS[2])} or {}
end
if ARGV[1] == 'rooms' then
    local after = '(' .. digits(now)
    local waiting = redis.call('ZCOUNT', KEYS[2], after, '+inf')
    local inside = redis.call('ZCOUNT', KEYS[3], after, '+inf')
    local first = redis.call('EXISTS', KEYS[1]) == 1 and '1' or waiting > 0 and '2'
        or inside > 0 and '3'
    return first == ARGV[2] and {'waiting', waiting, 'inside', inside} or {}
end
local known = redis.call('HMGET', KEYS[1], 'state', 'deadline')
if not known[1] or tonumber(known[2]) <= now then
    return {}
end
return {'state', known[1]:upper()}
