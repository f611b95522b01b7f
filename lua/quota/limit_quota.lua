-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.LIMIT: sets a tenant's limit. It may be below what is used.
--
-- KEYS[1] quota:tenant:$tenant:used   integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit  integer
-- KEYS[3] quota:tenant:$tenant:held   integer
-- KEYS[4] quota:tenant:$tenant:holds  hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due    sorted set, holds by deadline
-- ARGV[1] limit
-- Returns {1, used, limit}
-- Refuses INVALID_AMOUNT
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name; quota:tenant:$tenant:commits, what
--         was committed lately
-- uses: slot clock common quota expiry quota_commits

need_tenant()
local limit = checked_amount(ARGV[1], 0)
if not limit then
    return invalid_amount()
end
local problem = enter_tenant(now_ms())
if problem then
    return problem
end
begin_anew()
redis.call('SET', LIMIT, digits(limit))
return quota_answer()
