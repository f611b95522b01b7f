-- SPDX-License-Identifier: Apache-2.0
-- STOCK.TAKE: holds some of a product for an order until it is settled, given back, or due.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] order
-- ARGV[2] user
-- ARGV[3] quantity
-- ARGV[4] ttl       in seconds
-- ARGV[5] max       how much the user may have of the product, taken and bought; without it, any
--                   number
-- Returns {1, remaining}; again for the same order with the same arguments
-- Refuses INVALID_QUANTITY, PRODUCT_NOT_FOUND, SOLD_OUT, USER_LIMIT_EXCEEDED; INVALID_STATE if the
--         order exists with other arguments
-- Errors  AGAIN, SHARDED
-- batch: stock
-- uses: slot clock common stock

local wanted, refusal = wanted_order(ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if not wanted then
    return refusal
end
local now = now_ms()
local available
available, refusal = open_product(now)
if not available then
    return refusal
end
return take(now, available, ARGV[1], wanted, 0)
    or refuse('SOLD_OUT', digits(available) .. ' left, ' .. digits(wanted.quantity)
        .. ' requested')
