-- SPDX-License-Identifier: Apache-2.0
-- A waiting room: the users in line, sorted by arrival; the same users, sorted by the deadline of
-- their entry; those inside, sorted by the deadline of their pass; the settings of ROOM.OPEN, a
-- hash that is there only if they are not all defaults; and a hash for each user: {token, deadline}
-- of the last entry, {pass, pass_deadline, pass_ttl, pass_token} of the last pass. The sorted sets
-- decide who is in line and inside. Redis removes a hash a minute after all in it is over.

-- Returns the keys of a room, made from its key of deadlines queue:due:{$event}; `user` is the
-- beginning of the key of a user, `admission` of that of an admission with an id.
local function room_keys(queue_key, due_key)
    local namespace, tag = due_key:match('^(.*)queue:due:({[^{}]*})$')
    if not tag then
        error('the key of the deadlines has to end in queue:due:{event}')
    end
    return {
        queue = queue_key, due = due_key, settings = namespace .. 'queue:room:' .. tag,
        passes = namespace .. 'queue:passes:' .. tag,
        user = namespace .. 'queue:user:' .. tag .. ':',
        admission = namespace .. 'queue:admission:' .. tag .. ':',
    }
end

-- Takes a user's pass away.
local function drop_pass(keys, user)
    redis.pcall('HDEL', keys.user .. user, 'pass', 'pass_deadline', 'pass_ttl', 'pass_token')
    redis.call('ZREM', keys.passes, user)
end

-- Takes entries past their deadline out of the line, the oldest deadline first, at most `limit` of
-- them. Returns how many they were, and the deadline of the first.
local function lapse_entries(keys, now, limit)
    local due = redis.call('ZRANGEBYSCORE', keys.due, '-inf', digits(now), 'WITHSCORES',
        'LIMIT', 0, limit)
    if #due == 0 then
        return 0
    end
    local users = {}
    for i = 1, #due, 2 do
        users[#users + 1] = due[i]
    end
    redis.call('ZREM', keys.queue, unpack(users))
    redis.call('ZREM', keys.due, unpack(users))
    return #users, tonumber(due[2])
end

-- Takes away passes past their deadline, at most `limit` of them, and returns how many they were.
local function lapse_passes(keys, now, limit)
    local due = redis.call('ZRANGEBYSCORE', keys.passes, '-inf', digits(now), 'LIMIT', 0, limit)
    for _, user in ipairs(due) do
        drop_pass(keys, user)
    end
    return #due
end

-- Takes out what is due, and returns the room with its keys and its settings; nil if more is due:
-- then the script has to answer AGAIN.
local function enter_room(queue_key, due_key, now)
    local room = room_keys(queue_key, due_key)
    local most = limits.RECLAIMED_AT_ONCE
    local entries = lapse_entries(room, now, most)
    local passes = entries < most and lapse_passes(room, now, most) or 0
    room.has_lapsed = entries > 0 or passes > 0
    if entries == most or passes == most then
        local at = digits(now)
        if redis.call('ZCOUNT', room.due, '-inf', at) > 0
            or redis.call('ZCOUNT', room.passes, '-inf', at) > 0 then
            return nil
        end
    end
    local set = redis.call('HMGET', room.settings, 'rate', 'inside', 'start', 'order', 'pass',
        'paused', 'shuffled', 'allowance', 'allowance_at', 'admitted')
    room.rate, room.inside_max = tonumber(set[1] or 0), tonumber(set[2] or 0)
    room.start = tonumber(set[3] or 0)
    room.random, room.is_set = set[4] == 'random', set[4] ~= false
    room.pass_ms = tonumber(set[5] or limits.ROOM_PASS_DEFAULT_MS)
    room.paused, room.shuffled = set[6] == '1', set[7] == '1'
    room.allowance, room.allowance_at = tonumber(set[8] or 0), tonumber(set[9] or 0)
    room.admitted = tonumber(set[10] or 0)
    return room
end

-- Returns whether the order of the line is still to be drawn, so that nobody has a position in it.
local function is_undrawn(room, now)
    return room.random and now < room.start
end

-- Returns how long the one at a place of the line waits, in seconds; -1 if the settings do not
-- tell.
local function wait_s(room, now, place)
    if room.rate == 0 or room.paused then
        return -1
    end
    return math.ceil(math.max(0, room.start - now) / 1000) + math.ceil(place / room.rate)
end

-- Returns a number below `count`, by lot. The seed is what nobody can guess.
local function draw(seed, count)
    return tonumber(redis.sha1hex(seed):sub(1, 12), 16) % count
end

-- Returns how many thousandths of users RATE allows now.
local function allowed_now(room, now)
    local elapsed = math.min(math.max(0, now - room.allowance_at), 1000)
    return math.min(room.rate * 1000, room.allowance + room.rate * elapsed)
end
