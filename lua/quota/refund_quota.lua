-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.REFUND: gives committed usage back, down to 0. What is on hold stays. Works with KEYS[1]
-- alone: the others are made from it, an amount that is none is an error, and AGAIN is not
-- answered.
--
-- KEYS[1] quota:tenant:$tenant:used   integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit  integer
-- KEYS[3] quota:tenant:$tenant:held   integer
-- KEYS[4] quota:tenant:$tenant:holds  hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due    sorted set, holds by deadline
-- ARGV[1] amount
-- Returns used
-- Refuses INVALID_AMOUNT
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name
-- batch: quota
-- uses: slot clock common quota

local amount = checked_amount(ARGV[1], 1)
if not amount then
    return invalid_amount()
end
local problem = enter_tenant(now_ms())
if problem then
    return problem
end

local used, _, held, stored = figures()
local left = math.max(held, used - amount)
if left ~= stored then
    redis.call('DEL', USED .. '{0}') -- never there: a full Redis refuses the next as a first write
    redis.call('INCRBY', USED, digits(left - stored))
end
return left
