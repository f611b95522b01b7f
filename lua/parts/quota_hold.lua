-- SPDX-License-Identifier: Apache-2.0
-- One quota hold, under the id it was given.
local ENDED = USED:gsub('used$', 'ended')

-- Returns the hold's amount, its first TTL and, once it was extended, when it began, while it is
-- open; or nil.
local function open_hold(hold)
    local terms = redis.call('HGET', HOLDS, hold)
    if not terms then
        return nil
    end
    local amount, ttl_ms, started_ms = terms:match('^(%d+) (%d+) ?(%d*)$')
    return tonumber(amount), tonumber(ttl_ms), tonumber(started_ms)
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
    redis.call('ZREM', NAMES, hold)
    redis.call('DECRBY', HELD, digits(amount))
    if used ~= amount then
        redis.call('INCRBY', USED, digits(used - amount))
    end
    local memory = {how, digits(amount), digits(ttl_ms), digits(now), digits(used),
        redis.call('GET', ENDED) or '0'}
    redis.call('SET', closed_key, table.concat(memory, ' '),
        'PX', redis_ttl(limits.RETRY_WINDOW_MS))
end

local function no_hold()
    return {0, 'HOLD_NOT_FOUND', errors.HOLD_NOT_FOUND}
end
