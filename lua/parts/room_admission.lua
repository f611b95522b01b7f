-- SPDX-License-Identifier: Apache-2.0
-- How users get from the line of a waiting room to a pass.

-- Lets a key live at least so many milliseconds more, and a while longer.
local function keep_for(key, ms)
    local kept = ms + GARBAGE_AFTER_MS
    if redis.call('PTTL', key) < kept then
        redis.call('PEXPIRE', key, digits(kept))
    end
end

-- The first in line, `count` of them at most, get passes that are made from the token. Appends them
-- to the users and to the reply; returns how many of them were not inside before, nil if nobody is
-- in line.
local function admit_first(room, count, deadline, pass_ms, token, users, reply)
    local popped = redis.call('ZPOPMIN', room.queue, count)
    if #popped == 0 then
        return nil
    end
    local places = {}
    for i = 1, #popped, 2 do
        local user = popped[i]
        local key = room.user .. user
        local pass = redis.sha1hex(token .. ':' .. #users):sub(1, limits.HF_TOKEN_SIZE - 1)
        local entry = redis.pcall('HGET', key, 'token')
        if type(entry) == 'table' then -- it is something else, for which nobody loses a place
            redis.call('DEL', key)
        end
        redis.call('HSET', key, 'pass', pass, 'pass_deadline', deadline, 'pass_ttl',
            digits(pass_ms), 'pass_token', type(entry) == 'string' and entry or '')
        redis.call('PEXPIRE', key, digits(pass_ms + GARBAGE_AFTER_MS))
        users[#users + 1] = user
        places[i], places[i + 1] = deadline, user
        reply[#reply + 1], reply[#reply + 2] = user, pass
    end
    return redis.call('ZADD', room.passes, unpack(places))
end

-- The first in line leave it and get a pass: up to `most` of them, as many as INSIDE and START
-- allow, and at most limits.ROOM_ADMITTED_AT_ONCE. Who is inside already needs no second place, so
-- places may be left when as many were admitted as there were. Returns user, pass, user, pass, …,
-- and how many users.
local function admit(room, now, most, pass_ms, token)
    most = now < room.start and 0 or math.min(most, limits.ROOM_ADMITTED_AT_ONCE)
    local free = room.inside_max == 0 and most
        or room.inside_max - redis.call('ZCARD', room.passes)
    local users, reply = {}, {}
    while #users < most and free > 0 do
        local taken = admit_first(room, digits(math.min(free, most - #users)),
            digits(now + pass_ms), pass_ms, token, users, reply)
        if not taken then
            break
        end
        free = room.inside_max == 0 and most or free - taken
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
