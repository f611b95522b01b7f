-- SPDX-License-Identifier: Apache-2.0
-- ROOM.STATS: how a waiting room is doing.
--
-- KEYS[1] queue:$event           sorted set, users by arrival
-- KEYS[2] queue:due:{$event}     sorted set, users by the deadline of their entry
-- KEYS[3] queue:room:{$event}    hash, the settings (parts/room.lua)
-- KEYS[4] queue:passes:{$event}  sorted set, users by the deadline of their pass
-- ARGV    none
-- Returns {'waiting', n, 'inside', n, 'admitted', n, 'rate', n, 'inside_max', n, 'started', 1 or 0,
--         'paused', 1 or 0, 'estimated_wait_s', n or -1, 'start_ms', n, 'random', 1 or 0,
--         'pass_ms', n, 'gate', 1 or 0}
-- Refuses nothing
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common room

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[2], now)
if not room then
    return again()
end
local waiting = redis.call('ZCARD', room.queue)
return {'waiting', waiting, 'inside', redis.call('ZCARD', room.passes),
    'admitted', room.admitted, 'rate', room.rate, 'inside_max', room.inside_max,
    'started', now < room.start and 0 or 1, 'paused', room.paused and 1 or 0,
    'estimated_wait_s', wait_s(room, now, waiting),
    'start_ms', room.start, 'random', room.random and 1 or 0, 'pass_ms', room.pass_ms,
    'gate', redis.call('HGET', room.settings, 'gate') == '1' and 1 or 0}
