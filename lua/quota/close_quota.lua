-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.CLOSE: the tenant is gone; all that is known of it is removed. How its holds ended stays
-- noted for the retry window, but a note of a tenant that was closed since says nothing any more.
--
-- KEYS[1] quota:tenant:$tenant:used     integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit    integer
-- KEYS[3] quota:tenant:$tenant:held     integer
-- KEYS[4] quota:tenant:$tenant:holds    hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due      sorted set, holds by deadline
-- KEYS[6] quota:tenant:$tenant:names    sorted set, the open holds by name
-- KEYS[7] quota:tenant:$tenant:ended    string, stands for the last CLOSE, for the retry window
-- KEYS[8] quota:tenant:$tenant:commits  string, what was committed lately, as "at amount …"
-- ARGV    none
-- Returns {1, used, limit}, as they were
-- Refuses INVALID_STATE while holds are open
-- Errors  AGAIN
-- uses: slot clock common quota expiry

need_tenant()
own_key(6, 'names')
local ended_key, commits_key = own_key(7, 'ended'), own_key(8, 'commits')
local now = now_ms()
local problem = enter_tenant(now)
if problem then
    return problem
end
local used, limit, held = figures()
if held > 0 then
    return {0, 'INVALID_STATE', string.format(
        '%.0f are on hold: commit or cancel the holds, or wait until they expire', held)}
end
local before = tonumber(redis.call('GET', ended_key) or 0) or 0
redis.call('UNLINK', USED, LIMIT, HELD, HOLDS, DUE, NAMES, commits_key)
redis.call('SET', ended_key, digits(math.max(now, before + 1)),
    'PX', redis_ttl(limits.RETRY_WINDOW_MS))
return {1, used, limit}
