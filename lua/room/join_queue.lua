-- SPDX-License-Identifier: Apache-2.0
-- ROOM.JOIN: puts a user at the end of an event's line.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- ARGV[1] user
-- ARGV[2] max    how many may be in line
-- ARGV[3] ttl    in seconds
-- ARGV[4] token  32 characters that nobody can guess
-- Returns {1, position, total, token}
-- Refuses ALREADY_IN_QUEUE, QUEUE_FULL
-- Errors  AGAIN
-- uses: clock common room

local user, max, ttl_ms, token = ARGV[1], tonumber(ARGV[2]), to_ms(ARGV[3]), ARGV[4]
local now = now_ms()
if not line_is_current(KEYS[1], KEYS[3], now) then
    return again()
end

local total = redis.call('ZCARD', KEYS[1])
local rank = redis.call('ZRANK', KEYS[1], user)
if rank then
    return {0, 'ALREADY_IN_QUEUE',
        string.format('in the queue already, at place %.0f of %.0f', rank + 1, total)}
end
if total >= max then
    return {0, 'QUEUE_FULL',
        string.format('%.0f in the queue, at most %.0f allowed', total, max)}
end

-- Later than the last in line, whatever the clock says.
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local arrival = math.max(now, (tonumber(last[2]) or 0) + 1)
redis.call('ZADD', KEYS[1], digits(arrival), user)
redis.call('ZADD', KEYS[3], digits(now + ttl_ms), user)

local kept_ms = ttl_ms
local pass_deadline = tonumber(redis.call('HGET', KEYS[2], 'pass_deadline') or nil)
if pass_deadline and pass_deadline <= now then
    redis.call('HDEL', KEYS[2], 'pass', 'pass_deadline')
elseif pass_deadline then
    kept_ms = math.max(kept_ms, pass_deadline - now)
end
redis.call('HSET', KEYS[2], 'token', token, 'deadline', digits(now + ttl_ms))
redis.call('PEXPIRE', KEYS[2], digits(kept_ms + GARBAGE_AFTER_MS))
return {1, total + 1, total + 1, token}
