-- SPDX-License-Identifier: Apache-2.0
-- How users get from the line of a waiting room to a pass.

-- Lets a key live at least so many milliseconds more, and a while longer.
local function keep_for(key, ms)
    local kept = ms + GARBAGE_AFTER_MS
    if redis.call('PTTL', key) < kept then
        redis.call('PEXPIRE', key, digits(kept))
    end
end

-- The first in line leave it and get a pass that is made from the token: up to `most` of them, as
-- many as INSIDE and START allow, and at most limits.ROOM_ADMITTED_AT_ONCE. Returns user, pass,
-- user, pass, …, and how many users.
local function admit(room, now, most, pass_ms, token)
    most = now < room.start and 0 or math.min(most, limits.ROOM_ADMITTED_AT_ONCE)
    local inside = redis.call('ZCARD', room.passes)
    local deadline, ttl = digits(now + pass_ms), digits(pass_ms)
    local users, reply = {}, {}
    while #users < most and (room.inside_max == 0 or inside < room.inside_max) do
        local user = redis.call('ZPOPMIN', room.queue)[1]
        if not user then
            break
        end
        local key = room.user .. user
        local pass = redis.sha1hex(token .. ':' .. #users):sub(1, limits.HF_TOKEN_SIZE - 1)
        redis.call('HSET', key, 'pass', pass, 'pass_deadline', deadline, 'pass_ttl', ttl,
            'pass_token', redis.call('HGET', key, 'token') or '')
        redis.call('PEXPIRE', key, digits(pass_ms + GARBAGE_AFTER_MS))
        inside = inside + redis.call('ZADD', room.passes, deadline, user)
        users[#users + 1] = user
        reply[#reply + 1], reply[#reply + 2] = user, pass
    end
    if #users > 0 then
        redis.call('ZREM', room.due, unpack(users))
        keep_for(room.passes, pass_ms)
        if room.is_set then
            redis.call('HINCRBY', room.settings, 'admitted', #users)
        end
    end
    return reply, #users
end
