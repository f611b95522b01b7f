-- SPDX-License-Identifier: Apache-2.0
-- STOCK.EXTEND: moves an order's deadline to now + ttl; never to an earlier time, and never later
-- than limits.EXTEND_FACTOR first TTLs after its start.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] order
-- ARGV[2] ttl    in seconds
-- ARGV[3] user   if given, it has to be the order's
-- Returns {1, expires_at in ms}
-- Refuses PRODUCT_NOT_FOUND, NOT_FOUND, NOT_OWNER; INVALID_STATE if it is settled
-- Errors  AGAIN, SHARDED
-- batch: stock
-- uses: slot clock common stock

local now, ttl_ms = now_ms(), to_ms(ARGV[2])
local available, refusal = open_product(now)
if not available then
    return refusal
end
return extend_order(now, ARGV[1], ARGV[3], ttl_ms)
