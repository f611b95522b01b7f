-- SPDX-License-Identifier: Apache-2.0
-- Admissions with an id: a list of "count given_ms deadline left", user, pass, user, pass, …
-- `left` is how many are to be admitted yet: 0 once as many are as the count says, or as the line
-- and the settings allowed. Redis removes the list when the retry window is over.

-- Returns what is known of an id; nil if it is new.
local function find_admission(room, id, now)
    local key = room.admission .. id
    local terms = redis.call('LINDEX', key, 0)
    if not terms then
        return nil
    end
    local count, given_ms, deadline, left = terms:match('^(%d+) (%d+) (%d+) (%d+)$')
    if tonumber(deadline) <= now then
        redis.call('DEL', key)
        return nil
    end
    return {key = key, count = tonumber(count), given_ms = tonumber(given_ms),
        deadline = tonumber(deadline), left = tonumber(left),
        size = (redis.call('LLEN', key) - 1) / 2}
end

local function admission_terms(admission)
    return table.concat({digits(admission.count), digits(admission.given_ms),
        digits(admission.deadline), digits(admission.left)}, ' ')
end

local function begin_admission(room, id, now, count, given_ms)
    local admission = {key = room.admission .. id, count = count, given_ms = given_ms,
        deadline = now + limits.RETRY_WINDOW_MS, left = count, size = 0}
    redis.call('ZCARD', room.queue) -- an error, if it is no line
    redis.call('RPUSH', admission.key, admission_terms(admission))
    redis.call('PEXPIRE', admission.key, digits(redis_ttl(limits.RETRY_WINDOW_MS)))
    return admission
end

-- Returns the answer with those from the place `first` on that were admitted before: their passes,
-- unless one is over or the user has another by now.
local function admitted_before(room, admission, now, first)
    local most = math.min(admission.size - first, limits.ROOM_ADMITTED_AT_ONCE)
    local pairs_before = redis.call('LRANGE', admission.key, digits(1 + 2 * first),
        digits(2 * (first + most)))
    local ended = admission.left == 0 and first + most == admission.size
    local reply = {ended and '' or digits(first + most)}
    for i = 1, #pairs_before, 2 do
        local user, pass = pairs_before[i], pairs_before[i + 1]
        local known = redis.call('HMGET', room.user .. user, 'pass', 'pass_deadline')
        if known[1] == pass and tonumber(known[2]) > now then
            reply[#reply + 1], reply[#reply + 2] = user, pass
        end
    end
    return reply
end

-- Admits as many more as one call may, and returns the answer.
local function go_on(room, admission, now, pass_ms, token)
    local wanted = math.min(admission.left, limits.ROOM_ADMITTED_AT_ONCE)
    local reply, admitted = admit(room, now, wanted, pass_ms, token)
    admission.left = admitted < wanted and 0 or admission.left - admitted
    redis.call('LSET', admission.key, 0, admission_terms(admission))
    if admitted > 0 then
        redis.call('RPUSH', admission.key, unpack(reply))
    end
    table.insert(reply, 1, admission.left == 0 and '' or digits(admission.size + admitted))
    return reply
end
