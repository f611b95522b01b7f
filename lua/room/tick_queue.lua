-- SPDX-License-Identifier: Apache-2.0
-- ROOM.TICK: the first in line leave it and get a pass, as many as RATE, INSIDE, START and PAUSED
-- of the room allow now. At most limits.ROOM_ADMITTED_AT_ONCE in one call; a caller that gets so
-- many calls again, with another token.
--
-- KEYS[1] queue:$event           sorted set, users by arrival
-- KEYS[2] queue:due:{$event}     sorted set, users by the deadline of their entry
-- KEYS[3] queue:room:{$event}    hash, the settings (parts/room.lua)
-- KEYS[4] queue:passes:{$event}  sorted set, users by the deadline of their pass
-- ARGV[1] token    32 characters that nobody can guess: the passes are made from it
-- ARGV[2] limited  1: nobody is admitted to a room that has neither RATE nor INSIDE
-- Returns {user, pass, user, pass, …}, the first in line first
-- Refuses nothing
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of the admitted and of those whose pass is over
-- uses: slot clock common room room_admission

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[2], now)
if not room then
    return again()
end
if room.paused or (ARGV[2] == '1' and room.rate == 0 and room.inside_max == 0) then
    return {}
end
local allowed = allowed_now(room, now)
local most = room.rate == 0 and limits.ROOM_ADMITTED_AT_ONCE or math.floor(allowed / 1000)
local reply, admitted = admit(room, now, most, room.pass_ms, ARGV[1])
if room.rate ~= 0 and admitted > 0 then
    redis.call('HSET', room.settings, 'allowance', digits(allowed - admitted * 1000),
        'allowance_at', digits(math.max(now, room.allowance_at)))
end
return reply
