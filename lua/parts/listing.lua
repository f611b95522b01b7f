-- SPDX-License-Identifier: Apache-2.0
-- The names of an event's reserved bookings, which only lists need. A reserve does not write them
-- down until the first list asked for them: the hash of rules says so from then on, and the list
-- itself adds those that stand among the deadlines already.
local LISTED_AT_ONCE = 60

-- Adds names of reserved bookings. Returns whether all of them were there before: otherwise the
-- script has to answer AGAIN, so that no call adds many and lists them as well.
local function complete_names(due_key, key)
    local rules_key = key('seats:rules')
    local state = redis.call('HMGET', rules_key, 'listed', 'listing')
    if state[1] and not state[2] or not state[1] and redis.call('EXISTS', due_key) == 0 then
        return true
    end
    if not state[1] then
        redis.call('HSET', rules_key, 'listed', '1')
    end
    -- It goes on behind the last entry it read; if that is gone, at the time it stood at.
    local score, last = (state[2] or ''):match('^(%S+) (.+)$')
    local rank = last and redis.call('ZRANK', due_key, last)
    local entries = rank
        and redis.call('ZRANGE', due_key, digits(rank + 1), digits(rank + LISTED_AT_ONCE),
            'WITHSCORES')
        or redis.call('ZRANGEBYSCORE', due_key, score or '-inf', '+inf', 'WITHSCORES',
            'LIMIT', 0, LISTED_AT_ONCE)
    local more = #entries == 2 * LISTED_AT_ONCE
    if more then
        redis.call('HSET', rules_key, 'listing', entries[#entries] .. ' ' .. entries[#entries - 1])
    elseif state[2] then
        redis.call('HDEL', rules_key, 'listing')
    end
    local names = {}
    for i = 1, #entries, 2 do
        local name = entries[i]:match('^h [^ ]* [^ ]* %d+ ([^ ]*)')
        if name then
            names[#names + 1] = 0
            names[#names + 1] = name
        end
    end
    if #names > 0 then
        redis.call('ZADD', key('seats:bookings'), unpack(names))
    end
    return #names == 0 and not more
end
