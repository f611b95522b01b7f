-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the last step of a transfer, at its origin: it has arrived and is over.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:outbox:{$product_k}  hash, destination to "number quantity"
-- ARGV[1] destination  the counter it went to
-- ARGV[2] number       as send_stock.lua answered
-- Returns 1, or 0 if it was forgotten before
-- Refuses nothing
-- Errors  none
-- uses:

local open = redis.call('HGET', KEYS[7], ARGV[1])
if open and open:match('^(%d+) ') == ARGV[2] then
    return redis.call('HDEL', KEYS[7], ARGV[1])
end
return 0
