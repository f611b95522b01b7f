-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.GET: a tenant's totals; used includes held.
--
-- KEYS[1] quota:tenant:$tenant:used   integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit  integer
-- KEYS[3] quota:tenant:$tenant:held   integer
-- KEYS[4] quota:tenant:$tenant:holds  hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due    sorted set, holds by deadline
-- ARGV    none
-- Returns {used, limit, held}
-- Refuses nothing
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name
-- batch: quota
-- uses: slot clock common quota

local problem = enter_tenant(now_ms())
if problem then
    return problem
end
local used, limit, held = figures()
return {used, limit, held}
