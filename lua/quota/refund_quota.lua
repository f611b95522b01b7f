-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.REFUND: gives committed usage back, down to 0. What is on hold stays.
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
-- uses: clock common quota

local amount = checked_amount(ARGV[1], 1)
if not amount then
    return invalid_amount()
end
if not tenant_is_current(now_ms()) then
    return again()
end

local used, _, held = figures()
local refund = math.min(amount, used - held)
if refund > 0 then
    redis.call('DECRBY', USED, digits(refund))
end
return used - refund
