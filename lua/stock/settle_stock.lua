-- SPDX-License-Identifier: Apache-2.0
-- STOCK.SETTLE: an order is sold for good.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] order
-- ARGV[2] user   if given, it has to be the order's
-- Returns {1, remaining}; again for an order that was settled within the retry window
-- Refuses PRODUCT_NOT_FOUND, NOT_FOUND, NOT_OWNER
-- Errors  AGAIN, SHARDED
-- batch: stock
-- uses: slot clock common stock

local now = now_ms()
local available, refusal = open_product(now)
if not available then
    return refusal
end
return (close_order(now, available, ARGV[1], ARGV[2], SETTLED))
