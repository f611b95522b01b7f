-- SPDX-License-Identifier: Apache-2.0
-- A waiting room: the users in line, sorted by arrival; the same users, sorted by the deadline of
-- their entry; and a hash for each user: {token, deadline} of the last entry, {pass, pass_deadline}
-- of the last pass. The sorted sets decide who is in line. Redis removes a hash a minute after all
-- in it is over.

-- Takes entries past their deadline out of the line, the oldest deadline first, at most `limit` of
-- them. Returns how many they were, and the deadline of the first.
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

-- Takes out what is due. Returns whether that was all; if not, the script has to answer AGAIN.
local function line_is_current(queue_key, due_key, now)
    local most = limits.RECLAIMED_AT_ONCE
    return lapse_entries(queue_key, due_key, now, most) < most
        or redis.call('ZCOUNT', due_key, '-inf', digits(now)) == 0
end
