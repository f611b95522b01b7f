-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: STOCK.ADJUST, on the main counter of a product. Before, so much must have been
-- moved here as it takes away.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV[1] delta
-- ARGV[2] reason  for readers of the log of commands; not kept
-- Returns {1, available here}
--         {0, 'SHORT', how much must be available here}: move it here or refuse
--         {0, 'STALE', epoch}: the product is being closed
-- Refuses INVALID_QUANTITY
-- Errors  AGAIN
-- uses: slot clock common stock shard

local delta = tonumber(ARGV[1])
if not delta or delta % 1 ~= 0 then
    return refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
end
local known, available = open_counter(now_ms())
if known == nil then
    return available
end
if redis.call('HEXISTS', KEYS[2], 'places') == 0 or is_shut() then
    return {0, 'STALE', figures('epoch')}
end
local loaded, adjusted = figures('loaded', 'adjusted')
if loaded + adjusted + delta > limits.HF_INTEGER_MAX then
    return refuse_total(loaded + adjusted + delta, 0, 0)
end
if available + delta < 0 then
    return {0, 'SHORT', -delta}
end
redis.call('HINCRBY', KEYS[2], 'adjusted', delta)
return {1, move_available(delta)}
