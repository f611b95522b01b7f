-- SPDX-License-Identifier: Apache-2.0
-- ROOM.JOIN: puts a user at the end of an event's line; while the order is yet to be drawn (ORDER
-- random, before START), at a place by lot.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- KEYS[4] queue:room:{$event}        hash, the settings (parts/room.lua); it and the next are made
--                                    from the deadlines' key
-- KEYS[5] queue:passes:{$event}      sorted set, users by the deadline of their pass
-- ARGV[1] user
-- ARGV[2] max    how many may be in line
-- ARGV[3] ttl    in seconds
-- ARGV[4] token  32 characters that nobody can guess
-- Returns {1, position, total, token}; position 0: the order is drawn at the start
-- Refuses ALREADY_IN_QUEUE, QUEUE_FULL
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common room

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local user, max, ttl_ms, token = ARGV[1], tonumber(ARGV[2]), to_ms(ARGV[3]), ARGV[4]
local now = now_ms()
local room = enter_room(KEYS[1], KEYS[3], now)
if not room then
    return again()
end

local total = redis.call('ZCARD', room.queue)
local rank = redis.call('ZRANK', room.queue, user)
if rank then
    return {0, 'ALREADY_IN_QUEUE', is_undrawn(room, now)
        and string.format('in the queue already, one of %.0f whose order is drawn at the start',
            total)
        or string.format('in the queue already, at place %.0f of %.0f', rank + 1, total)}
end
if total >= max then
    return {0, 'QUEUE_FULL',
        string.format('%.0f in the queue, at most %.0f allowed', total, max)}
end

local pass_deadline = tonumber(redis.call('HGET', KEYS[2], 'pass_deadline') or nil)
-- Later than the last in line, whatever the clock says.
local last = redis.call('ZREVRANGE', room.queue, 0, 0, 'WITHSCORES')
local arrival = digits(math.max(now, (tonumber(last[2]) or 0) + 1))
if is_undrawn(room, now) and room.shuffled then
    -- To change places with anybody or nobody, all with the same chance, keeps a random order so.
    local lot = draw(token .. ':place', total + 1)
    local other = redis.call('ZRANGE', room.queue, lot, lot)[1]
    if other then
        local score = redis.call('ZSCORE', room.queue, other)
        redis.call('ZADD', room.queue, arrival, other)
        arrival = score
    end
elseif room.shuffled then
    redis.call('HSET', room.settings, 'shuffled', '0')
end
redis.call('ZADD', room.queue, arrival, user)
redis.call('ZADD', room.due, digits(now + ttl_ms), user)

local kept_ms = ttl_ms
if pass_deadline and pass_deadline <= now then
    drop_pass(room, user)
elseif pass_deadline then
    kept_ms = math.max(kept_ms, pass_deadline - now)
end
redis.call('HSET', KEYS[2], 'token', token, 'deadline', digits(now + ttl_ms))
redis.call('PEXPIRE', KEYS[2], digits(kept_ms + GARBAGE_AFTER_MS))
return {1, is_undrawn(room, now) and 0 or total + 1, total + 1, token}
