-- SPDX-License-Identifier: Apache-2.0
-- ROOM.CHECK: is this the user's pass, and still good?
--
-- KEYS[1] queue:E           sorted set, users by arrival; not looked at
-- KEYS[2] queue:user:{E}:U  hash, the user's entry and pass
-- KEYS[3] queue:due:{E}     sorted set, users by the deadline of their entry; not looked at
-- ARGV[1] user
-- ARGV[2] pass
-- Reply   1 or 0
-- uses: clock

local known = redis.call('HMGET', KEYS[2], 'pass', 'pass_deadline')
if not known[1] then
    return 0
end
if tonumber(known[2]) <= now_ms() then
    redis.call('HDEL', KEYS[2], 'pass', 'pass_deadline')
    return 0
end
return known[1] == ARGV[2] and 1 or 0
