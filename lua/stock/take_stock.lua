-- SPDX-License-Identifier: Apache-2.0
-- STOCK.TAKE: holds some of a product for an order until it is settled, given back, or due.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to "state quantity ttl_ms user"
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- ARGV[1] order
-- ARGV[2] user
-- ARGV[3] quantity
-- ARGV[4] ttl       in seconds
-- Returns {1, remaining}; again for the same order with the same arguments
-- Refuses INVALID_QUANTITY, PRODUCT_NOT_FOUND, SOLD_OUT; INVALID_STATE if the order exists with
--         other arguments
-- Errors  AGAIN, SHARDED
-- uses: clock common stock

local wanted, refusal = wanted_order(ARGV[2], ARGV[3], ARGV[4])
if not wanted then
    return refusal
end
local now = now_ms()
local _, more = reclaim(now, limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local available
available, refusal = open_product()
if not available then
    return refusal
end
return take(now, available, ARGV[1], wanted)
    or refuse('SOLD_OUT', digits(available) .. ' left, ' .. digits(wanted.quantity)
        .. ' requested')
