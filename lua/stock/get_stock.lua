-- SPDX-License-Identifier: Apache-2.0
-- STOCK.GET: a product's totals: loaded = available + taken + sold.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV    none
-- Returns {'available', n, 'taken', n, 'sold', n, 'loaded', n, 'shards', n, 'mode', 'single'}
-- Refuses PRODUCT_NOT_FOUND
-- Errors  AGAIN, SHARDED
-- batch: stock
-- uses: slot clock common stock

local available, refusal = open_product(now_ms())
if not available then
    return refusal
end
local loaded, adjusted, taken, sold, shards =
    figures('loaded', 'adjusted', 'taken', 'sold', 'shards')
return {
    'available', available, 'taken', taken, 'sold', sold, 'loaded', loaded + adjusted,
    'shards', shards, 'mode', 'single'
}
