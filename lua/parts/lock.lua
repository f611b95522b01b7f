-- SPDX-License-Identifier: Apache-2.0
-- A lock is two strings. KEYS[1], which other programs know as well: the lock id, with its TTL.
-- FENCE, for these scripts only: "fence deadline id" of the last grant, which outlives the lock by
-- a day so that fences go on growing; without it they do as well, as long as the clock has not
-- stepped back by more than that. If the two name the same id, the deadline counts, by the time of
-- the script; it is 0 where the TTL of KEYS[1] does, as it does for a lock that another program
-- set.
local FENCE_KEPT_MS = 86400000

-- Made from KEYS[1]: seat:fence:$resource. A lock of another name has it beside it.
local FENCE = KEYS[1]:gsub('seat:locked:', 'seat:fence:', 1)
if FENCE == KEYS[1] then
    FENCE = KEYS[1] .. ':fence'
end
if KEYS[2] and KEYS[2] ~= FENCE then
    error('these keys are not of one lock: ' .. KEYS[1] .. ' and ' .. KEYS[2]
        .. '; nothing was changed')
end

-- Releases a lock. Its fence stays, without the id: another program may lock by the same one.
local function let_go(lock)
    redis.call('DEL', KEYS[1])
    if lock.granted then
        redis.call('SET', FENCE, digits(lock.fence) .. ' 0 ', 'KEEPTTL')
    end
end

-- The first read of every script of the family. Returns the lock, nil if nobody holds it, and the
-- last fence; or nil, nil and the error to answer with, while the slot is moving. A lock past its
-- deadline is removed, so that a clock that steps back does not bring it back. `granted`: it was a
-- script that set it.
local function find_lock(now)
    local found = redis.pcall('MGET', FENCE, KEYS[1] .. '{0}')
    if found.err then
        return nil, nil, not_here(KEYS[1], found)
    end
    local id = redis.call('GET', KEYS[1])
    local last = found[1] or ''
    local fence, deadline, owner = last:match('^(%d+) (%d+) (.*)$')
    fence, deadline = tonumber(fence) or 0, tonumber(deadline) or 0
    if not id then
        return nil, fence
    end
    if id ~= owner then
        return {id = id, fence = 0, deadline = 0, granted = false}, fence
    end
    local lock = {id = id, fence = fence, deadline = deadline, granted = true}
    if deadline > 0 and deadline <= now then
        let_go(lock)
        return nil, fence
    end
    return lock, fence
end

-- Writes the record of a grant, with the milliseconds it may last.
local function note_grant(lock, ttl_ms)
    local text = digits(lock.fence) .. ' ' .. digits(lock.deadline) .. ' ' .. lock.id
    redis.call('SET', FENCE, text, 'PX', ttl_ms + FENCE_KEPT_MS)
end

-- Returns the milliseconds left; -1 for a lock that another program set for ever.
local function time_left(lock, now)
    if lock.deadline > 0 then
        return lock.deadline - now
    end
    return redis.call('PTTL', KEYS[1])
end
