-- SPDX-License-Identifier: Apache-2.0
-- ROOM.LEAVE: a user leaves the line. A pass stays as it is.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- KEYS[4] queue:room:{$event}        hash, the settings (parts/room.lua); it and the next are made
--                                    from the deadlines' key
-- KEYS[5] queue:passes:{$event}      sorted set, users by the deadline of their pass
-- ARGV[1] user
-- Returns 1, or 0 if the user was not in line
-- Refuses nothing
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common room

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local room = enter_room(KEYS[1], KEYS[3], now_ms())
if not room then
    return again()
end
local left = redis.call('ZREM', room.queue, ARGV[1])
if left == 1 then
    redis.call('ZREM', room.due, ARGV[1])
    redis.pcall('HDEL', KEYS[2], 'token', 'deadline')
end
return left
