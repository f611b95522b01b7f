-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the orders that are taken at one counter of a product, a page at a time, in the
-- order of their names. An order stays at the counter where it was taken: who walks over all
-- counters, one after the other, finds each once.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV[1] after  the cursor of the page before, or empty
-- ARGV[2] count  how many orders at most; limits.PAGE_SCRIPT_LOOKS are the most
-- Returns {cursor, {'order_id', order, 'user_id', user, 'quantity', quantity, 'created_at', ms,
--         'expires_at', ms, 'status', 'taken'}, ...}
-- Refuses INVALID_ARGUMENT
-- Errors  AGAIN
-- uses: slot clock common stock page stock_page

local known, refusal, given_back = open_counter(now_ms())
if known == nil then
    return refusal
end
return page_orders(ARGV[1], ARGV[2], given_back)
