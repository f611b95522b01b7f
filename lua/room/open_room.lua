-- SPDX-License-Identifier: Apache-2.0
-- ROOM.OPEN: sets how an event's waiting room admits; each call sets everything.
--
-- KEYS[1] queue:$event           sorted set, users by arrival
-- KEYS[2] queue:due:{$event}     sorted set, users by the deadline of their entry
-- KEYS[3] queue:room:{$event}    hash, the settings (parts/room.lua)
-- KEYS[4] queue:passes:{$event}  sorted set, users by the deadline of their pass
-- KEYS[5] seats:rules:{$event}   hash, what the event asks of a reserve: `gate`
-- ARGV[1] rate    users per second that ROOM.TICK admits; 0: unlimited
-- ARGV[2] inside  passes alive at most; 0: unlimited
-- ARGV[3] start   nobody is admitted before, in ms since the epoch; 0: no start
-- ARGV[4] order   fifo or random
-- ARGV[5] pass    how long a pass is valid, in seconds
-- ARGV[6] paused  1: ROOM.TICK admits nobody
-- ARGV[7] gate    1: SEATS.RESERVE needs a pass
-- ARGV[8] token   32 characters that nobody can guess: by them the order is drawn
-- Returns {1, waiting, inside}
-- Refuses INVALID_STATE: too many are in line to draw their order
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common room

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local rate, inside, start = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local random, pass_ms, gate = ARGV[4] == 'random', to_ms(ARGV[5]), ARGV[7] == '1'
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[2], now)
if not room then
    return again()
end

local waiting = redis.call('ZCARD', room.queue)
local shuffled = room.shuffled
if random and start > now and not shuffled then
    if room.has_lapsed then -- to draw is enough for one call
        return again()
    end
    if waiting > limits.ROOM_SHUFFLE_MAX then
        return {0, 'INVALID_STATE', string.format('%.0f are in line: ORDER random with a START to '
            .. 'come draws the order of at most %.0f; set it before they come',
            waiting, limits.ROOM_SHUFFLE_MAX)}
    end
    local line = redis.call('ZRANGE', room.queue, 0, -1, 'WITHSCORES')
    for i = waiting, 2, -1 do
        local other = draw(ARGV[8] .. ':' .. i, i) + 1
        line[2 * i - 1], line[2 * other - 1] = line[2 * other - 1], line[2 * i - 1]
    end
    local placed = {}
    for i = 1, 2 * waiting, 2 do
        placed[i], placed[i + 1] = line[i + 1], line[i]
    end
    if waiting > 0 then
        redis.call('ZADD', room.queue, unpack(placed))
    end
    shuffled = true
end

redis.call('HLEN', KEYS[5]) -- an error, if it is no hash
local default = rate == 0 and inside == 0 and start == 0 and not random
    and pass_ms == limits.ROOM_PASS_DEFAULT_MS and ARGV[6] ~= '1' and not gate
if default then
    redis.call('DEL', room.settings)
else
    local full = rate * 1000
    local allowance = room.rate == 0 and full or math.min(allowed_now(room, now), full)
    redis.call('HSET', room.settings, 'rate', digits(rate), 'inside', digits(inside),
        'start', digits(start), 'order', ARGV[4], 'pass', digits(pass_ms), 'paused', ARGV[6],
        'gate', ARGV[7], 'shuffled', shuffled and '1' or '0', 'allowance', digits(allowance),
        'allowance_at', digits(math.max(now, room.allowance_at)))
    redis.call('HSETNX', room.settings, 'admitted', '0')
end
if gate then
    redis.call('HSET', KEYS[5], 'gate', '1')
else
    redis.call('HDEL', KEYS[5], 'gate')
end
return {1, waiting, redis.call('ZCARD', room.passes)}
