-- SPDX-License-Identifier: Apache-2.0
-- STOCK.ADJUST: moves what is available, and what was loaded, by a difference.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] delta
-- ARGV[2] reason  for readers of the log of commands; not kept
-- Returns {1, available}
-- Refuses PRODUCT_NOT_FOUND, CAPACITY_IN_USE, INVALID_QUANTITY
-- Errors  AGAIN, SHARDED
-- uses: slot clock common stock

local delta = tonumber(ARGV[1])
if not delta or delta % 1 ~= 0 then
    return refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
end
local available, refusal = open_product(now_ms())
if not available then
    return refusal
end
local loaded, adjusted, taken, sold = figures('loaded', 'adjusted', 'taken', 'sold')
refusal = refuse_total(loaded + adjusted + delta, taken, sold)
if refusal then
    return refusal
end
redis.call('HINCRBY', KEYS[2], 'adjusted', delta)
return {1, move_available(delta)}
