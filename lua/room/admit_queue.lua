-- SPDX-License-Identifier: Apache-2.0
-- ROOM.ADMIT: the first in line leave it and get a pass, in one step, as many as INSIDE and START
-- of the room allow. At most limits.ROOM_ADMITTED_AT_ONCE in one call, so that it does not hold up
-- the server; a caller that wants to admit more calls again, with another token.
--
-- KEYS[1] queue:$event           sorted set, users by arrival
-- KEYS[2] queue:due:{$event}     sorted set, users by the deadline of their entry
-- KEYS[3] queue:room:{$event}    hash, the settings (parts/room.lua); it and the next are made from
--                                the deadlines' key
-- KEYS[4] queue:passes:{$event}  sorted set, users by the deadline of their pass
-- ARGV[1] count
-- ARGV[2] pass   how long a pass is valid, in seconds; 0: as the room is set
-- ARGV[3] token  32 characters that nobody can guess: the passes are made from it
-- Returns {user, pass, user, pass, …}, the first in line first
-- Refuses nothing
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of the admitted and of those whose pass is over
-- uses: clock common room room_admission

local count, pass, token = math.floor(tonumber(ARGV[1])), tonumber(ARGV[2]), ARGV[3]
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[2], now)
if not room then
    return again()
end
return (admit(room, now, count, pass == 0 and room.pass_ms or to_ms(pass), token))
