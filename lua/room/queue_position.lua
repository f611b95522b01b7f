-- SPDX-License-Identifier: Apache-2.0
-- ROOM.POSITION: where a user stands in line, counted from 1, and how many do. Who shows the token
-- of the join gets the pass, once the user is admitted.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- KEYS[4] queue:room:{$event}        hash, the settings (parts/room.lua); it and the next are made
--                                    from the deadlines' key
-- KEYS[5] queue:passes:{$event}      sorted set, users by the deadline of their pass
-- ARGV[1] user
-- ARGV[2] token  that ROOM.JOIN returned, or empty
-- Returns {position, total, estimated_wait_s or -1, in_waiting_room, refresh_s}, and of a user who
--         is admitted and whose token it is also the pass; position 0: not drawn yet, or admitted
-- Refuses NOT_IN_QUEUE
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common room

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local user, token = ARGV[1], ARGV[2]
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[3], now)
if not room then
    return again()
end
local rank = redis.call('ZRANK', room.queue, user)
local total = redis.call('ZCARD', room.queue)
if rank then
    local position = is_undrawn(room, now) and 0 or rank + 1
    local wait = wait_s(room, now, position == 0 and total or position)
    local tenth = math.min(limits.ROOM_REFRESH_MAX_S,
        math.max(limits.ROOM_REFRESH_MIN_S, math.floor(wait / 10)))
    return {position, total, wait, 1, wait < 0 and limits.ROOM_REFRESH_UNKNOWN_S or tenth}
end
local known = redis.call('HMGET', KEYS[2], 'pass', 'pass_deadline', 'pass_token')
if token and token ~= '' and known[3] == token and tonumber(known[2]) > now then
    return {0, total, 0, 0, 0, known[1]}
end
return {0, 'NOT_IN_QUEUE', errors.NOT_IN_QUEUE}
