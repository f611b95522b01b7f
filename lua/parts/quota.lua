-- SPDX-License-Identifier: Apache-2.0
-- A tenant's quota: used, limit and held are integers, used = committed + held. Holds are in a hash
-- as "amount ttl_ms", with started_ms behind it once they were extended, and in a sorted set by
-- their deadline. How a hold ended is remembered for the retry window as "committed amount ttl_ms
-- closed_at used ended" or "cancelled …"; without `used` all of the amount was. `ended` stands for
-- the CLOSE of the tenant that came before, 0 for none: after another CLOSE the note says nothing
-- any more. All scripts of the family have the same first five keys.
-- The names of the open holds stand in one more sorted set, all with score 0, so that ZRANGEBYLEX
-- goes on behind the last name it returned.
--
-- Every key is made from that of `used`; those that are given as well must be the same. Two keys of
-- other names (`app:used`, `app:limit`) are a tenant without holds: what would be its other keys
-- never exists (parts/slot.lua says why).
-- once a batch: reclaim_holds, then 0, 0
local USED = KEYS[1]
local NAMESPACE, TENANT = USED:match('^(.-)quota:tenant:(.+):used$')

-- Returns the tenant's key of this name, and refuses another one in its place.
local function own_key(index, name)
    local key = TENANT and NAMESPACE .. 'quota:tenant:' .. TENANT .. ':' .. name or USED .. '{2}'
    if KEYS[index] and KEYS[index] ~= key then
        if TENANT or index > 2 or KEYS[index]:find('quota:tenant:', 1, true) then
            error('these keys are not of one tenant: ' .. USED .. ' and ' .. KEYS[index]
                .. '; nothing was changed')
        end
        return KEYS[index]
    end
    return key
end

-- Ends a script that changes keys that a tenant of another name does not have.
local function need_tenant()
    if not TENANT then
        error('the key of a tenant has to end in quota:tenant:TENANT:used; nothing was changed')
    end
end

local LIMIT, HELD, HOLDS = own_key(2, 'limit'), own_key(3, 'held'), own_key(4, 'holds')
local DUE, NAMES = own_key(5, 'due'), own_key(nil, 'names')

-- Who calls with the keys of the field alone, `used` and `limit`, knows neither AGAIN nor refusals:
-- such a call gives back what is due by itself, up to LETTER_RECLAIMED_MAX holds, and goes on if
-- there are more still.
local TO_THE_LETTER = #KEYS < 5
local LETTER_RECLAIMED_MAX = 100

-- Returns a stored figure: 0 if there is none, nil if it is no whole number.
local function whole(text)
    local number = tonumber(tostring(text or 0):match('^-?%d+$'))
    return number and math.abs(number) <= limits.HF_INTEGER_MAX and number or nil
end

-- Returns used, limit, held, and used as it is stored; all are 0 for a tenant that has no limit
-- yet. Other programs may set `used` and `limit`: used counts as what is on hold at least, and a
-- limit that is no number as none. As the first read of a script it says as well whether the slot
-- is moving: then, or if used is no number, it returns nil and the error. A script that got figures
-- once always gets them.
local function figures()
    local values = redis.pcall('MGET', USED, LIMIT, HELD, USED .. '{0}')
    if values.err then
        return nil, not_here(USED, values)
    end
    local stored, held = whole(values[1]), math.max(0, whole(values[3]) or 0)
    if not stored then
        return nil, redis.error_reply('ERR ' .. USED .. ' holds no whole number up to 2^53-1: '
            .. 'set it right, by SET or QUOTA.SYNC; nothing was changed')
    end
    if not values[1] then
        redis.call('STRLEN', USED) -- an error, if it is of another type
    end
    local limit = tonumber(values[2] or 0) or 0
    limit = limit == limit and limit or 0
    limit = math.max(-limits.HF_INTEGER_MAX, math.min(limits.HF_INTEGER_MAX, math.floor(limit)))
    return math.max(stored, held), limit, held, stored
end

-- Changes what is used and what is on hold by so much. Neither falls below 0, whatever another
-- program has set. A full Redis refuses it as the first write of a script, and not as a later one:
-- what gives back removes the hold first.
local function change_figures(used_by, held_by)
    local used, _, held, stored = figures()
    local held_now = math.max(0, held + held_by)
    local used_now = math.max(used + used_by, held_now)
    if used_now ~= stored then
        redis.call('INCRBY', USED, digits(used_now - stored))
    end
    if held_now ~= held then
        redis.call('INCRBY', HELD, digits(held_now - held))
    end
end

-- Gives back the holds that are due, the oldest first, at most `limit` of them or, without one, as
-- due_share() says. Returns how many more are due, how many were given back, and the deadline of
-- the first.
local function reclaim_holds(now, limit)
    local due = redis.call('ZCOUNT', DUE, '-inf', digits(now))
    if due == 0 then
        return 0, 0
    end
    local taken = due_share(due, limit)
    if taken == 0 then
        return due, 0
    end
    local first_due = tonumber(redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2])
    local holds = redis.call('ZRANGE', DUE, 0, taken - 1)
    local amount = 0
    for _, hold in ipairs(redis.call('HMGET', HOLDS, unpack(holds))) do
        amount = amount + ((hold or ''):match('^%d+') or 0)
    end
    redis.call('ZREMRANGEBYRANK', DUE, 0, taken - 1)
    redis.call('HDEL', HOLDS, unpack(holds))
    redis.pcall('ZREM', NAMES, unpack(holds))
    change_figures(-amount, -amount)
    return due - taken, taken, first_due
end

-- Gives back what is due. Returns the error to answer with if there is more than one call may, or
-- nil; and how many holds were given back.
local function reclaim_due(now)
    local more, given_back = reclaim_holds(now, TO_THE_LETTER and LETTER_RECLAIMED_MAX or nil)
    return more > 0 and not TO_THE_LETTER and again() or nil, given_back
end

-- The beginning of a script: gives back what is due. Returns the error to answer with: the slot is
-- moving, used is no number, or more is due; or nil, and how many holds were given back.
local function enter_tenant(now)
    local used, problem = figures()
    if not used then
        return problem
    end
    return reclaim_due(now)
end

-- Returns the answer {1, used, limit} with current figures.
local function quota_answer()
    local used, limit = figures()
    return {1, used, limit}
end

-- Returns the amount if it is a whole number from `least` on, or nil.
local function checked_amount(text, least)
    local amount = tonumber(text)
    if amount and amount % 1 == 0 and amount >= least and amount <= limits.HF_INTEGER_MAX then
        return amount
    end
    return nil
end

-- Returns the refusal of an amount. The replies of the field have no room for it: there it is an
-- error.
local function invalid_amount()
    if TO_THE_LETTER then
        return redis.error_reply('INVALID_AMOUNT ' .. errors.INVALID_AMOUNT
            .. ': it is a whole number from 1 to 2^53-1; nothing was changed')
    end
    return {0, 'INVALID_AMOUNT', errors.INVALID_AMOUNT}
end
