-- SPDX-License-Identifier: Apache-2.0
-- ROOM.DONE: a user's pass ends, so that its place inside is free. The line stays as it is.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- KEYS[4] queue:room:{$event}        hash, the settings (parts/room.lua)
-- KEYS[5] queue:passes:{$event}      sorted set, users by the deadline of their pass
-- ARGV[1] user
-- Returns 1, or 0 if the user had no pass
-- Refuses nothing
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common room

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
local deadline = tonumber(redis.call('HGET', KEYS[2], 'pass_deadline') or nil)
if not deadline then
    return 0
end
drop_pass(room, user)
return deadline > now and 1 or 0
