-- SPDX-License-Identifier: Apache-2.0
-- ROOM.ADMIT: the first in line leave it and get a pass, in one step. At most
-- limits.ROOM_ADMITTED_AT_ONCE in one call, so that it does not hold up the server; a caller that
-- wants to admit more calls again, with another token.
--
-- KEYS[1] queue:$event        sorted set, users by arrival
-- KEYS[2] queue:due:{$event}  sorted set, users by the deadline of their entry
-- ARGV[1] count
-- ARGV[2] pass   how long a pass is valid, in seconds
-- ARGV[3] token  32 characters that nobody can guess: the passes are made from it
-- Returns {user, pass, user, pass, …}, the first in line first
-- Refuses nothing
-- Errors  AGAIN
-- Derives queue:user:{$event}:$user of the admitted
-- uses: clock common room

local count, pass_ms, token = math.floor(tonumber(ARGV[1])), to_ms(ARGV[2]), ARGV[3]
local now = now_ms()
if not line_is_current(KEYS[1], KEYS[2], now) then
    return again()
end
if not (count >= 1) then
    return {}
end

local namespace, tag = KEYS[2]:match('^(.*)queue:due:({[^{}]*})$')
local user_key = namespace .. 'queue:user:' .. tag .. ':'
local first = redis.call('ZPOPMIN', KEYS[1], math.min(count, limits.ROOM_ADMITTED_AT_ONCE))
local deadline, kept = digits(now + pass_ms), digits(pass_ms + GARBAGE_AFTER_MS)
local users, reply = {}, {}
for i = 1, #first, 2 do
    local user, key = first[i], user_key .. first[i]
    local pass = redis.sha1hex(token .. ':' .. #users):sub(1, limits.HF_TOKEN_SIZE - 1)
    redis.call('HSET', key, 'pass', pass, 'pass_deadline', deadline)
    redis.call('PEXPIRE', key, kept)
    users[#users + 1] = user
    reply[i], reply[i + 1] = user, pass
end
if #users > 0 then
    redis.call('ZREM', KEYS[2], unpack(users))
end
return reply
