-- SPDX-License-Identifier: Apache-2.0
-- A waiting room: who stands in line, sorted by arrival; who has to leave it when, sorted by
-- deadline; and a hash for each user: {token, deadline} of the last entry, {pass, pass_deadline} of
-- the last pass. The sorted sets say who is in line. Redis removes a hash some time after all in it
-- is over.

-- Entries past their deadline leave the line, the oldest deadline first, at most so many. How many
-- they were, and the deadline of the first.
local function lapse_entries(queue_key, due_key, now, limit)
    local due = redis.call('ZRANGEBYSCORE', due_key, '-inf', digits(now), 'WITHSCORES',
        'LIMIT', 0, limit)
    if #due == 0 then
        return 0
    end
    local users = {}
    for i = 1, #due, 2 do
        users[#users + 1] = due[i]
    end
    redis.call('ZREM', queue_key, unpack(users))
    redis.call('ZREM', due_key, unpack(users))
    return #users, tonumber(due[2])
end

-- Whether the line is as it has to be seen; if not, the caller is told to call again.
local function line_is_current(queue_key, due_key, now)
    local most = limits.RECLAIMED_AT_ONCE
    return lapse_entries(queue_key, due_key, now, most) < most
        or redis.call('ZCOUNT', due_key, '-inf', digits(now)) == 0
end
