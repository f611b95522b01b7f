-- SPDX-License-Identifier: Apache-2.0
-- A semaphore as a script finds it: what was lost is back, and what was due is done.

-- Returns the limit, from our own note if the key that others know is gone.
local function read_limit(sem, found)
    local limit = tonumber(found or nil)
    if not limit then
        limit = tonumber(redis.call('HGET', sem.own, LIMIT) or nil) or 0
        if limit > 0 then
            redis.call('SET', sem.max, digits(limit), 'PX', digits(limits.HF_TTL_MAX_MS + DAY_MS))
        end
    end
    return limit
end

-- Returns the semaphore as it is now, for a call with this token, if it has one; nil, with an error
-- to answer with, if the keys are not its own, its slot is moving or `check` finds something wrong
-- before anything is done, and nil alone if the script has to answer AGAIN.
local function open_semaphore(keys, token, check)
    local sem, problem = name_keys(keys)
    if not sem then
        return nil, problem
    end
    local found = redis.pcall('MGET', sem.max, sem.main .. '{0}')
    if found.err then
        return nil, not_here(sem.main, found)
    end
    problem = check and check(sem)
    if problem then
        return nil, problem
    end
    sem.now, sem.token = now_ms(), token
    sem.in_use = redis.call('ZCARD', sem.main)
    sem.waiting = redis.call('ZCARD', sem.line)
    sem.limit = 0
    sem.steps = STEPS_MAX
    sem.granted = {} -- the slots this call gave, by id
    -- The terms of clients that recorded none.
    sem.terms = {
        heartbeat = limits.SEM_HEARTBEAT_DEFAULT_MS, ttl = limits.SEM_TTL_DEFAULT_MS, token = '',
        channel = '', slots = 1,
    }
    if misses_some(sem) and not mend(sem) and not sem.by_layout then
        return nil
    end
    if sem.in_use == 0 and sem.waiting == 0 then
        sem.is_new = true
        return sem
    end
    sem.limit = read_limit(sem, found[1])
    sem.is_behind = not expire(sem)
    if sem.is_behind and not sem.by_layout then
        return nil
    end
    return sem
end

-- Returns how many are due in a sorted set whose time is over.
local function count_due(sem, key)
    return redis.call('ZCOUNT', key, '-inf', sem.now / 1000)
end

-- Returns the slots in use, for an answer. If more is due than one call does, they are what they
-- will be: holders that are dead do not count, and the first in line have their slots.
local function slots_in_use(sem)
    if not sem.is_behind then
        return sem.in_use
    end
    local alive = sem.in_use - math.max(count_due(sem, sem.main), count_due(sem, sem.ttl))
    local waiting = math.max(0, sem.waiting - count_due(sem, sem.alive))
    return alive + math.max(0, math.min(sem.limit - alive, waiting))
end
