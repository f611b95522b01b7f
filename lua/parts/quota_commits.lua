-- SPDX-License-Identifier: Apache-2.0
-- What a tenant has committed lately, and when: for a QUOTA.SYNC whose reading of the database
-- began before. A string of up to limits.QUOTA_COMMITS_MAX pairs "at amount", the oldest first:
-- what was committed up to this time, behind that of the pair before. The engine in the process has
-- the same steps (src/core/quota_commits.c), so that both count the same. A key of another type is
-- overwritten.
local COMMITS = own_key(nil, 'commits')

-- Returns the times and the amounts.
local function commits()
    local text, times, amounts = redis.pcall('GET', COMMITS), {}, {}
    for at, amount in (type(text) == 'string' and text or ''):gmatch('(%d+) (%d+)') do
        times[#times + 1], amounts[#amounts + 1] = tonumber(at), tonumber(amount)
    end
    return times, amounts
end

local function sum_of(a, b)
    return math.min(limits.HF_INTEGER_MAX, a + b)
end

-- Merges the two neighbours that together span the least time beside their age.
local function merge_commits(times, amounts, now)
    local best, best_span, best_age = 1, 1, 0
    local before = now - limits.QUOTA_SINCE_MAX_MS
    for i = 1, #times - 1 do
        local span = times[i + 1] - before
        local age = math.max(limits.QUOTA_COMMITS_FINE_MS, now - times[i + 1])
        if span * best_age < best_span * age then
            best, best_span, best_age = i, span, age
        end
        before = times[i]
    end
    amounts[best + 1] = sum_of(amounts[best], amounts[best + 1])
    table.remove(times, best)
    table.remove(amounts, best)
end

-- So much was committed now. Behind another change: a full Redis refuses it as the first.
local function note_commit(amount, now)
    if amount == 0 or not TENANT then
        return
    end
    local times, amounts = commits()
    while times[1] and times[1] < now - limits.QUOTA_SINCE_MAX_MS do
        table.remove(times, 1)
        table.remove(amounts, 1)
    end
    local last = #times
    if last > 0 and times[last] >= now then
        amounts[last] = sum_of(amounts[last], amount)
    else
        if last >= limits.QUOTA_COMMITS_MAX then
            merge_commits(times, amounts, now)
        end
        times[#times + 1], amounts[#amounts + 1] = now, amount
    end
    local pairs_of = {}
    for i, at in ipairs(times) do
        pairs_of[i] = digits(at) .. ' ' .. digits(amounts[i])
    end
    redis.call('SET', COMMITS, table.concat(pairs_of, ' '),
        'PX', redis_ttl(limits.QUOTA_SINCE_MAX_MS))
end

-- Returns what was committed from a time on, or more.
local function committed_since(since)
    local times, amounts = commits()
    local total = 0
    for i = #times, 1, -1 do
        if times[i] < since then
            break
        end
        total = sum_of(total, amounts[i])
    end
    return total
end

-- A tenant with nothing set and nothing used is as good as none, and begins anew.
local function begin_anew()
    local used, limit = figures()
    if used == 0 and limit == 0 then
        redis.call('DEL', COMMITS)
    end
end
