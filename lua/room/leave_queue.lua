-- SPDX-License-Identifier: Apache-2.0
-- ROOM.LEAVE: a user leaves the line. A pass stays as it is.
--
-- KEYS[1] queue:$event               sorted set, users by arrival
-- KEYS[2] queue:user:{$event}:$user  hash, the user's entry and pass
-- KEYS[3] queue:due:{$event}         sorted set, users by the deadline of their entry
-- ARGV[1] user
-- Returns 1, or 0 if the user was not in line
-- Refuses nothing
-- Errors  AGAIN
-- uses: clock common room

if not line_is_current(KEYS[1], KEYS[3], now_ms()) then
    return again()
end
local left = redis.call('ZREM', KEYS[1], ARGV[1])
if left == 1 then
    redis.call('ZREM', KEYS[3], ARGV[1])
    redis.call('HDEL', KEYS[2], 'token', 'deadline')
end
return left
