-- SPDX-License-Identifier: Apache-2.0
-- STOCK.CLOSE: removes a product of which nothing is taken. Redis frees what is large by and by.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV    none
-- Returns {1, sold, available}, as it was; zeros if there is no such product
-- Refuses INVALID_STATE while any of it is taken
-- Errors  AGAIN, SHARDED
-- uses: slot clock common stock

local available, refusal = open_product(now_ms())
if not available then
    return refusal.err and refusal or {1, 0, 0}
end
local taken, sold = figures('taken', 'sold')
if taken > 0 then
    return refuse('INVALID_STATE', digits(taken)
        .. ' are taken: settle or give them back, or wait until they expire')
end
redis.call('UNLINK', unpack(KEYS))
return {1, sold, available}
