-- SPDX-License-Identifier: Apache-2.0
-- A tenant's quota: used, limit and held are integers, used = committed + held. Holds are in a hash
-- as "amount ttl_ms", with started_ms behind it once they were extended, and in a sorted set by
-- their deadline. How a hold ended is remembered for the retry window as "committed amount ttl_ms
-- closed_at used ended" or "cancelled …"; without `used` all of the amount was. `ended` stands for
-- the CLOSE of the tenant that came before, 0 for none: after another CLOSE the note says nothing
-- any more. All scripts of the family have the same first five keys.
-- The names of the open holds stand in one more sorted set, all with score 0, so that ZRANGEBYLEX
-- goes on behind the last name it returned; its key is made from that of `used`.
local USED, LIMIT, HELD, HOLDS, DUE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local NAMES = USED:gsub('used$', 'names')

-- Gives back the holds that are due, the oldest first, at most `limit` of them. Returns how many
-- more are due, how many were given back, and the deadline of the first.
local function reclaim_holds(now, limit)
    local due = redis.call('ZCOUNT', DUE, '-inf', digits(now))
    if due == 0 then
        return 0, 0
    end
    local taken = math.min(due, limit)
    local first_due = tonumber(redis.call('ZRANGE', DUE, 0, 0, 'WITHSCORES')[2])
    local holds = redis.call('ZRANGE', DUE, 0, taken - 1)
    local amount = 0
    for _, hold in ipairs(redis.call('HMGET', HOLDS, unpack(holds))) do
        amount = amount + ((hold or ''):match('^%d+') or 0)
    end
    redis.call('ZREMRANGEBYRANK', DUE, 0, taken - 1)
    redis.call('HDEL', HOLDS, unpack(holds))
    redis.call('ZREM', NAMES, unpack(holds))
    redis.call('DECRBY', USED, digits(amount))
    redis.call('DECRBY', HELD, digits(amount))
    return due - taken, taken, first_due
end

-- Gives back what is due. Returns whether that was all; if not, the script has to answer AGAIN.
local function tenant_is_current(now)
    return reclaim_holds(now, limits.RECLAIMED_AT_ONCE) == 0
end

-- Returns used, limit and held; all are 0 for a tenant that has no limit yet.
local function figures()
    local values = redis.call('MGET', USED, LIMIT, HELD)
    return tonumber(values[1] or 0), tonumber(values[2] or 0), tonumber(values[3] or 0)
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

local function invalid_amount()
    return {0, 'INVALID_AMOUNT', errors.INVALID_AMOUNT}
end
