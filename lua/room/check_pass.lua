-- SPDX-License-Identifier: Apache-2.0
-- ROOM.CHECK: whether this is the user's pass, and still valid; its time starts again if asked for.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- KEYS[4] queue:room:{$event}        hash, the settings (parts/room.lua); it and the next are made
--                                    from the deadlines' key
-- KEYS[5] queue:passes:{$event}      sorted set, users by the deadline of their pass
-- ARGV[1] user
-- ARGV[2] pass
-- ARGV[3] renew  1: the time of a valid pass starts again
-- Returns 1 or 0
-- Refuses nothing
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common room room_admission

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local user = ARGV[1]
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[3], now)
if not room then
    return again()
end
local known = redis.call('HMGET', KEYS[2], 'pass', 'pass_deadline', 'pass_ttl')
if not known[1] then
    return 0
end
if tonumber(known[2]) <= now then
    drop_pass(room, user)
    return 0
end
if known[1] ~= ARGV[2] then
    return 0
end
if ARGV[3] == '1' then
    local ttl = tonumber(known[3] or room.pass_ms)
    local deadline = digits(now + ttl)
    redis.call('HSET', KEYS[2], 'pass_deadline', deadline, 'pass_ttl', digits(ttl))
    redis.call('ZADD', room.passes, 'XX', deadline, user)
    keep_for(KEYS[2], ttl)
    keep_for(room.passes, ttl)
end
return 1
