-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.EXTEND: moves a hold's deadline to now + ttl; never to an earlier time, and never later
-- than limits.EXTEND_FACTOR first TTLs after its start.
--
-- KEYS[1] quota:tenant:$tenant:used     integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit    integer
-- KEYS[3] quota:tenant:$tenant:held     integer
-- KEYS[4] quota:tenant:$tenant:holds    hash, hold to "amount ttl_ms", or to "amount ttl_ms
--                                       started_ms" once it was extended
-- KEYS[5] quota:tenant:$tenant:due      sorted set, holds by deadline
-- KEYS[6] quota:closed:{$tenant}:$hold  string, how the hold ended, for the retry window
-- ARGV[1] hold
-- ARGV[2] ttl   in seconds
-- Returns {1, expires_at in ms}
-- Refuses HOLD_NOT_FOUND, INVALID_STATE
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name; quota:tenant:$tenant:ended, which
--         stands for the last CLOSE
-- batch: quota
-- uses: slot clock common quota expiry quota_hold

local hold, ttl_ms = ARGV[1], to_ms(ARGV[2])
local closed_key = key_of_closed(hold)
local now = now_ms()
local problem = enter_tenant(now)
if problem then
    return problem
end

local amount, first_ttl_ms, started_ms = open_hold(hold)
if not amount then
    if closed_hold(closed_key, now) == 'committed' then
        return {0, 'INVALID_STATE', 'the hold is committed and has no deadline'}
    end
    return no_hold()
end
local due = tonumber(redis.call('ZSCORE', DUE, hold))
started_ms = started_ms or due - first_ttl_ms
local deadline = math.min(now + ttl_ms, started_ms + limits.EXTEND_FACTOR * first_ttl_ms)
if deadline <= due then
    return {1, due}
end
local terms = {digits(amount), digits(first_ttl_ms), digits(started_ms)}
redis.call('HSET', HOLDS, hold, table.concat(terms, ' '))
redis.call('ZADD', DUE, digits(deadline), hold)
return {1, deadline}
