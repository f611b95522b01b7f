-- SPDX-License-Identifier: Apache-2.0
-- The totals of a zone. One that another program made, with a SET of its free seats, has none: its
-- capacity is what is free, on hold and confirmed at the moment.
local DEADLINES_READ = 200

local function zone_name(zone_key)
    return zone_key:match('}:(.*)$') or zone_key:match('zone:availability:(.*)$')
end

-- Returns a zone's capacity and how many of its seats are confirmed; or nil and the answer, if the
-- deadlines that would have to be read are too many.
local function zone_totals(totals_key, due_key, zone, available)
    local totals = redis.call('HMGET', totals_key, 'capacity', 'confirmed')
    local confirmed = tonumber(totals[2] or 0)
    if totals[1] or not available then
        return tonumber(totals[1] or 0), confirmed
    end
    if redis.call('ZCARD', due_key) > DEADLINES_READ then
        return nil, {0, 'BUSY', string.format('the zone was made without a capacity, and has more '
            .. 'than %d holds: too many to add them up', DEADLINES_READ)}
    end
    local capacity = available + confirmed
    for _, entry in ipairs(redis.call('ZRANGE', due_key, 0, -1)) do
        local held_in, quantity = entry:match('^h ([^ ]*) [^ ]* (%d+) ')
        capacity = capacity + (held_in == zone and tonumber(quantity) or 0)
    end
    return capacity, confirmed
end
