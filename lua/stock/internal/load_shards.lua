-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: STOCK.LOAD, on the main counter of a product; the first one splits it. How many
-- shards it really has is settled then; later loads change what is reported. The difference to the
-- last load is booked here: before, so much must have been moved here as it takes away, and
-- afterwards what is here is to be moved to the shards.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV[1] quantity
-- ARGV[2] shards     how many
-- ARGV[3] watermark
-- ARGV[4] policy     "merge" or "steal"
-- Returns {1, available here}
--         {0, 'SHORT', how much must be available here}: move it here or refuse
--         {0, 'STALE', epoch}: the product is being closed
-- Refuses INVALID_QUANTITY; CAPACITY_IN_USE while all of it is here
-- Errors  AGAIN
-- uses: slot clock common stock shard

local quantity, shards, watermark = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if not quantity or quantity < 0 or quantity % 1 ~= 0 or not shards or not watermark then
    return refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
end
local now = now_ms()
local known, available = open_counter(now)
if known == nil then
    return available
end
if redis.call('HEXISTS', KEYS[2], 'places') == 1 and is_shut() then
    return {0, 'STALE', figures('epoch')}
end
local loaded, adjusted, taken, sold, epoch, old_watermark, places =
    figures('loaded', 'adjusted', 'taken', 'sold', 'epoch', 'watermark', 'places')
if places == 0 or quantity + adjusted > limits.HF_INTEGER_MAX then
    local refusal = refuse_total(quantity + adjusted, taken, sold)
    if refusal then
        return refusal
    end
end
if available + quantity - loaded < 0 then
    return {0, 'SHORT', loaded - quantity}
end
if places == 0 then
    redis.call('HSET', KEYS[2], 'places', shards, 'mode', 'sharded')
    redis.call('PERSIST', KEYS[2]) -- what is left of a product that was closed has an end
end
if places == 0 or watermark ~= old_watermark
    or redis.call('HGET', KEYS[2], 'policy') ~= ARGV[4] then
    redis.call('HSET', KEYS[2], 'epoch', digits(next_number(epoch, now)))
end
redis.call('HSET', KEYS[2], 'loaded', quantity, 'shards', shards, 'watermark', watermark,
    'policy', ARGV[4])
return {1, move_available(quantity - loaded)}
