-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.MARK: the time of the server that has the tenant, for SINCE of QUOTA.SYNC.
--
-- KEYS[1] quota:tenant:$tenant:used   integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit  integer
-- KEYS[3] quota:tenant:$tenant:held   integer
-- KEYS[4] quota:tenant:$tenant:holds  hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due    sorted set, holds by deadline
-- ARGV    none
-- Returns {1, now in ms}
-- Refuses nothing
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name
-- uses: slot clock common quota

local now = now_ms()
local problem = enter_tenant(now)
return problem or {1, now}
