-- SPDX-License-Identifier: Apache-2.0
-- STOCK.LOAD: sets how much of a product there is to sell. What is available moves by the
-- difference to the last load.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] quantity
-- ARGV[2] shards     how many to report
-- ARGV[3] watermark
-- ARGV[4] policy     "merge" or "steal"
-- Returns {1, available}
-- Refuses CAPACITY_IN_USE, INVALID_QUANTITY
-- Errors  AGAIN, SHARDED
-- uses: slot clock common stock

local quantity, shards, watermark = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if not quantity or quantity < 0 or quantity % 1 ~= 0 or not shards or not watermark then
    return refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
end
local available, refusal = open_product(now_ms())
if not available and refusal[2] ~= 'PRODUCT_NOT_FOUND' then
    return refusal
end
local loaded, adjusted, taken, sold = figures('loaded', 'adjusted', 'taken', 'sold')
refusal = refuse_total(quantity + adjusted, taken, sold)
if refusal then
    return refusal
end
-- First what a Redis without memory refuses: behind a call that it allows it would allow all.
redis.call('HSET', KEYS[2], 'loaded', quantity, 'shards', shards, 'watermark', watermark,
    'policy', ARGV[4])
if not available then -- what is left of a product that was closed in shards has an end, and a mode
    redis.call('PERSIST', KEYS[2])
    redis.call('HDEL', KEYS[2], 'mode')
end
return {1, move_available(quantity - loaded)}
