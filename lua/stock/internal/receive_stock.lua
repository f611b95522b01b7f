-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the second step of a transfer, at its destination: what was sent arrives, once.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:inbox:{$product_k}   hash, origin to the number of its last transfer
-- ARGV[1] origin    the counter it comes from
-- ARGV[2] number    as send_stock.lua answered
-- ARGV[3] quantity  the same
-- Returns {1 if it arrived now or 0 if it had before, available here}
-- Refuses nothing
-- Errors  none
-- uses: common stock shard

local number, quantity = tonumber(ARGV[2]), tonumber(ARGV[3])
if number <= (tonumber(redis.call('HGET', KEYS[7], ARGV[1])) or 0) then
    return {0, available_here()}
end
redis.call('HSET', KEYS[7], ARGV[1], digits(number))
redis.call('PERSIST', KEYS[2]) -- what is left of a product that was closed has an end
redis.call('PERSIST', KEYS[7])
count_moved('received', quantity)
return {1, gain(quantity)}
