-- SPDX-License-Identifier: Apache-2.0
-- One quota hold, under the id it was given.
local ENDED = own_key(nil, 'ended')

-- Returns the key of what is remembered of a hold, and refuses another one in its place.
local function key_of_closed(hold)
    need_tenant()
    local key = NAMESPACE .. 'quota:closed:{' .. TENANT:gsub('[{}]', '') .. '}:' .. hold
    if KEYS[6] and KEYS[6] ~= key then
        error('the key is not that of the hold ' .. hold .. ' of this tenant: ' .. KEYS[6]
            .. '; nothing was changed')
    end
    return key
end

-- Returns the amount, the first TTL and, once it was extended, the beginning of a hold with these
-- terms; nil for none.
local function hold_terms(terms)
    if not terms then
        return nil
    end
    local amount, ttl_ms, started_ms = terms:match('^(%d+) (%d+) ?(%d*)$')
    return tonumber(amount), tonumber(ttl_ms), tonumber(started_ms)
end

-- Returns the same of a hold that is open; or nil.
local function open_hold(hold)
    return hold_terms(redis.call('HGET', HOLDS, hold))
end

-- Returns how the hold ended, its amount and TTL, and how much of it was used; or nil once the
-- retry window is over.
local function closed_hold(closed_key, now)
    local memory = redis.call('GET', closed_key)
    if not memory then
        return nil
    end
    local how, amount, ttl_ms, closed_at, used, ended =
        memory:match('^(%a+) (%d+) (%d+) (%d+) ?(%d*) ?(%d*)$')
    local last = redis.call('GET', ENDED)
    if now >= closed_at + limits.RETRY_WINDOW_MS or last and last ~= ended then
        redis.call('DEL', closed_key)
        return nil
    end
    return how, tonumber(amount), tonumber(ttl_ms), tonumber(used) or tonumber(amount)
end

-- Closes a hold, of which so much is used from now on. How it ended is remembered for the retry
-- window.
local function close_hold(closed_key, hold, how, amount, ttl_ms, used, now)
    redis.call('ZREM', DUE, hold)
    redis.call('HDEL', HOLDS, hold)
    redis.pcall('ZREM', NAMES, hold)
    change_figures(used - amount, -amount)
    local memory = {how, digits(amount), digits(ttl_ms), digits(now), digits(used),
        redis.call('GET', ENDED) or '0'}
    redis.call('SET', closed_key, table.concat(memory, ' '),
        'PX', redis_ttl(limits.RETRY_WINDOW_MS))
end

local function no_hold()
    return {0, 'HOLD_NOT_FOUND', errors.HOLD_NOT_FOUND}
end
