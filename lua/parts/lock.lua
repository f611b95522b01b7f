-- SPDX-License-Identifier: Apache-2.0
-- A lock is two strings. KEYS[1], which other programs know as well: the lock id, with its TTL.
-- KEYS[2], for these scripts only: "fence deadline id" of the last grant, which outlives the lock
-- by a day so that fences go on growing. If the two name the same id, the deadline counts, by the
-- time of the script; it is 0 where the TTL of KEYS[1] does, as it does for a lock that another
-- program set.
local FENCE_KEPT_MS = 86400000

-- Releases a lock. Its fence stays, without the id: another program may lock by the same one.
local function let_go(lock)
    redis.call('DEL', KEYS[1])
    if lock.granted then
        redis.call('SET', KEYS[2], digits(lock.fence) .. ' 0 ', 'KEEPTTL')
    end
end

-- Returns the lock, nil if nobody holds it, and the last fence. A lock past its deadline is
-- removed, so that a clock that steps back does not bring it back. `granted`: it was a script that
-- set it.
local function find_lock(now)
    local id = redis.call('GET', KEYS[1])
    local last = redis.call('GET', KEYS[2]) or ''
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
    redis.call('SET', KEYS[2], text, 'PX', ttl_ms + FENCE_KEPT_MS)
end

-- Returns the milliseconds left; -1 for a lock that another program set for ever.
local function time_left(lock, now)
    if lock.deadline > 0 then
        return lock.deadline - now
    end
    return redis.call('PTTL', KEYS[1])
end
