-- SPDX-License-Identifier: Apache-2.0
-- STOCK.SHARDS: a product's counters one by one. A product that is not in shards has one, main; of
-- one in shards the engine reads each counter (read_shard.lua) and knows its node.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] after  empty: one counter is one page
-- Returns {'', {'shard', 'main', 'available', n, 'taken', n, 'sold', n, 'node', ''}}
-- Refuses PRODUCT_NOT_FOUND, INVALID_ARGUMENT
-- Errors  AGAIN, SHARDED
-- uses: slot clock common stock page

local available, refusal = open_product(now_ms())
if not available then
    return refusal
end
local after = ARGV[1] or ''
if after ~= '' then
    return no_cursor(after)
end
local taken, sold = figures('taken', 'sold')
return {'', {'shard', 'main', 'available', available, 'taken', taken, 'sold', sold, 'node', ''}}
