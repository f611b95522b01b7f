-- SPDX-License-Identifier: Apache-2.0
-- STOCK.GIVE: an order is taken back.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to "state quantity ttl_ms user"
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- ARGV[1] order
-- Returns {1, remaining}; again for an order that was given back within the retry window
-- Refuses PRODUCT_NOT_FOUND, NOT_FOUND; INVALID_STATE if it is settled
-- Errors  AGAIN, SHARDED
-- uses: clock common stock

local now = now_ms()
local _, more = reclaim(now, limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local available, refusal = open_product()
if not available then
    return refusal
end
return (close_order(now, available, ARGV[1], GIVEN))
