-- SPDX-License-Identifier: Apache-2.0
-- ROOM.POSITION: where a user stands in line, counted from 1, and how many do.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- ARGV[1] user
-- Returns {position, total}
-- Refuses NOT_IN_QUEUE
-- Errors  AGAIN
-- uses: clock common room

if not line_is_current(KEYS[1], KEYS[3], now_ms()) then
    return again()
end
local rank = redis.call('ZRANK', KEYS[1], ARGV[1])
if not rank then
    return {0, 'NOT_IN_QUEUE', errors.NOT_IN_QUEUE}
end
return {rank + 1, redis.call('ZCARD', KEYS[1])}
