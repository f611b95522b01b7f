-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.LIST: the open holds of a tenant, a page at a time, in the order of their names.
--
-- KEYS[1] quota:tenant:$tenant:used   integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit  integer
-- KEYS[3] quota:tenant:$tenant:held   integer
-- KEYS[4] quota:tenant:$tenant:holds  hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due    sorted set, holds by deadline
-- KEYS[6] quota:tenant:$tenant:names  sorted set, the open holds by name
-- ARGV[1] after  the cursor of the page before, or empty
-- ARGV[2] count  how many holds at most; limits.PAGE_SCRIPT_LOOKS are the most
-- Returns {cursor, {'hold_id', hold, 'amount', amount, 'created_at', ms, 'expires_at', ms}, ...}
-- Refuses INVALID_ARGUMENT
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:ended, which stands for the last CLOSE
-- uses: slot clock common quota expiry quota_hold page

own_key(6, 'names')
local problem, given_back = enter_tenant(now_ms())
if problem then
    return problem
end
local names, cursor = page_names(NAMES, ARGV[1] or '', ARGV[2], given_back)
if not names then
    return no_cursor(ARGV[1])
end
local page = {cursor}
local holds = #names > 0 and redis.call('HMGET', HOLDS, unpack(names)) or {}
for i, hold in ipairs(names) do
    local amount, ttl_ms, started_ms = hold_terms(holds[i])
    local due = tonumber(redis.call('ZSCORE', DUE, hold))
    if amount and due then
        page[#page + 1] = {'hold_id', hold, 'amount', amount,
            'created_at', started_ms or due - ttl_ms, 'expires_at', due}
    end
end
return page
