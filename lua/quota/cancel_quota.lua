-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.CANCEL: a hold is given back. Within the retry window the same call gets the same answer,
-- with current figures.
--
-- KEYS[1] quota:tenant:$tenant:used     integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit    integer
-- KEYS[3] quota:tenant:$tenant:held     integer
-- KEYS[4] quota:tenant:$tenant:holds    hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due      sorted set, holds by deadline
-- KEYS[6] quota:closed:{$tenant}:$hold  string, how the hold ended, for the retry window
-- ARGV[1] hold
-- Returns {1, used, limit}
-- Refuses HOLD_NOT_FOUND; INVALID_STATE once it is committed
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name; quota:tenant:$tenant:ended, which
--         stands for the last CLOSE
-- batch: quota
-- uses: slot clock common quota expiry quota_hold

local hold, closed_key = ARGV[1], key_of_closed(ARGV[1])
local now = now_ms()
local problem = enter_tenant(now)
if problem then
    return problem
end

local amount, ttl_ms = open_hold(hold)
if amount then
    close_hold(closed_key, hold, 'cancelled', amount, ttl_ms, 0, now)
    return quota_answer()
end
local how = closed_hold(closed_key, now)
if how == 'committed' then
    return {0, 'INVALID_STATE', 'the hold is committed: refund it instead'}
end
return how and quota_answer() or no_hold()
