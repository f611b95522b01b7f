-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.SYNC: sets what the database says is used; open holds are added on top.
--
-- KEYS[1] quota:tenant:$tenant:used   integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit  integer
-- KEYS[3] quota:tenant:$tenant:held   integer
-- KEYS[4] quota:tenant:$tenant:holds  hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due    sorted set, holds by deadline
-- ARGV[1] actual
-- Returns {1, used, limit}
-- Refuses INVALID_AMOUNT
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name
-- uses: slot clock common quota

local actual = checked_amount(ARGV[1], 0)
if not actual then
    return invalid_amount()
end
-- What another program has set is to be overwritten, also if it is no number: a number takes its
-- place for the steps before that, which count with it.
local set = redis.pcall('MGET', USED, USED .. '{0}')
if set.err then
    return not_here(USED, set)
elseif not whole(set[1]) then
    redis.call('SET', USED, '0')
end
local problem = enter_tenant(now_ms())
if problem then
    return problem
end

local _, limit, held = figures()
if actual > limits.HF_INTEGER_MAX - held then
    return {0, 'INVALID_AMOUNT', string.format(
        'actual %.0f and %.0f on hold are more than %.0f', actual, held, limits.HF_INTEGER_MAX)}
end
redis.call('SET', USED, digits(actual + held))
return {1, actual + held, limit}
