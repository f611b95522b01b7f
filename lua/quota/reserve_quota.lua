-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.RESERVE: counts an amount as used; with a hold it returns at the TTL unless committed. The
-- same hold again changes nothing and answers with current figures. Works with KEYS[1], KEYS[2] and
-- ARGV[1] alone: the other keys are made from the first, an amount that is none is an error, and
-- AGAIN is not answered; {-1, …} if more is due than the call gives back and it does not fit yet.
--
-- KEYS[1] quota:tenant:$tenant:used     integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit    integer
-- KEYS[3] quota:tenant:$tenant:held     integer
-- KEYS[4] quota:tenant:$tenant:holds    hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due      sorted set, holds by deadline
-- KEYS[6] quota:closed:{$tenant}:$hold  string, how the hold ended, for the retry window
-- ARGV[1] amount
-- ARGV[2] hold    or empty or missing: counted until refunded
-- ARGV[3] ttl     of the hold, in seconds; limits.QUOTA_TTL_DEFAULT_MS ms if it is missing
-- Returns {1, used, limit}, or {-1, used, limit} if it would be over the limit
-- Refuses INVALID_AMOUNT; INVALID_STATE if the hold exists with another amount or TTL
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name; quota:tenant:$tenant:ended, which
--         stands for the last CLOSE; quota:tenant:$tenant:commits, what was committed lately
-- batch: quota
-- uses: slot clock common quota expiry quota_hold quota_commits

local amount, hold = checked_amount(ARGV[1], 1), ARGV[2] or ''
if not amount then
    return invalid_amount()
end
local ttl_ms, closed_key
if hold ~= '' then
    ttl_ms = capped_ms(ARGV[3], limits.QUOTA_TTL_DEFAULT_MS)
    closed_key = key_of_closed(hold)
end
local now = now_ms()
local used, limit, _, stored = figures()
if not used then
    return limit -- the error
end
local problem, given_back = reclaim_due(now)
if problem then
    return problem
elseif given_back > 0 then
    used, limit, _, stored = figures()
end

local remembered
if hold ~= '' then
    local known_amount, known_ttl_ms = open_hold(hold)
    if not known_amount then
        remembered, known_amount, known_ttl_ms = closed_hold(closed_key, now)
    end
    if known_amount and remembered ~= 'cancelled' then
        if known_amount ~= amount then
            return {0, 'INVALID_STATE', differs('the hold exists', 'amount', known_amount, amount)}
        elseif known_ttl_ms ~= ttl_ms then
            return {0, 'INVALID_STATE',
                differs('the hold exists', 'TTL', known_ttl_ms, ttl_ms, ' ms')}
        end
        return {1, used, limit}
    end
end
if amount > limit - used then
    return {-1, used, limit}
end
if hold ~= '' then
    redis.call('INCRBY', HELD, digits(amount)) -- an error, if it is no count
end
redis.call('INCRBY', USED, digits(used + amount - stored))
if hold ~= '' then
    redis.call('HSET', HOLDS, hold, digits(amount) .. ' ' .. digits(ttl_ms))
    redis.call('ZADD', DUE, digits(now + ttl_ms), hold)
    redis.pcall('ZADD', NAMES, 0, hold)
    if remembered then
        redis.call('DEL', closed_key)
    end
else
    note_commit(amount, now)
end
return {1, used + amount, limit}
