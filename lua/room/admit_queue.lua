-- SPDX-License-Identifier: Apache-2.0
-- ROOM.ADMIT: the first in line leave it and get a pass, in one step, as many as INSIDE and START
-- of the room allow. At most limits.ROOM_ADMITTED_AT_ONCE in one call, so that it does not hold up
-- the server; a caller that wants to admit more calls again, with another token. With an id it does
-- so until `next` is empty, always with the whole count; the same calls again, within the retry
-- window, go on where the first ended, and answer with the passes they gave.
--
-- KEYS[1] queue:$event                   sorted set, users by arrival
-- KEYS[2] queue:due:{$event}             sorted set, users by the deadline of their entry
-- KEYS[3] queue:room:{$event}            hash, the settings (parts/room.lua); it and the next two
--                                        are made from the deadlines' key
-- KEYS[4] queue:passes:{$event}          sorted set, users by the deadline of their pass
-- KEYS[5] queue:admission:{$event}:$id   list, what was admitted with this id
-- ARGV[1] count
-- ARGV[2] pass   how long a pass is valid, in seconds; 0: as the room is set
-- ARGV[3] token  32 characters that nobody can guess: the passes are made from it
-- ARGV[4] id     or empty or missing: nothing is remembered
-- ARGV[5] +next  with an id: that of the call before, or 0 in the first
-- Returns {user, pass, user, pass, …}, the first in line first; with an id {next, user, pass, …} of
--         those whose passes are valid; next is empty at the end
-- Refuses INVALID_STATE: the id was used with another count or pass
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of the admitted and of those whose pass is over
-- uses: slot clock common expiry room room_admission admission

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local count, pass, token = math.floor(tonumber(ARGV[1])), tonumber(ARGV[2]), ARGV[3]
local given_ms = pass == 0 and 0 or to_ms(pass)
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[2], now)
if not room then
    return again()
end
local pass_ms = given_ms == 0 and room.pass_ms or given_ms
local id = ARGV[4] or ''
if id == '' then
    return (admit(room, now, count, pass_ms, token))
end

-- With an id.
local first = tonumber(ARGV[5] or 0)
local admission = find_admission(room, id, now)
if not admission then
    if first > 0 then
        return {''} -- the retry window ended between two calls
    end
    admission = begin_admission(room, id, now, count, given_ms)
elseif admission.count ~= count then
    return {0, 'INVALID_STATE', differs('the id was used', 'count', admission.count, count)}
elseif admission.given_ms ~= given_ms then
    return {0, 'INVALID_STATE',
        differs('the id was used', 'PASS', admission.given_ms, given_ms, ' ms')}
end
if first < admission.size then
    return admitted_before(room, admission, now, first)
end
return go_on(room, admission, now, pass_ms, token)
