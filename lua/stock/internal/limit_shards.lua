-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the first TAKE with MAX of a product, on its main counter: from now on its
-- orders go to the shard of their user, or to the main counter.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV    none
-- Returns {1, epoch}
-- Refuses nothing
-- Errors  none
-- uses: slot clock common stock shard

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local epoch, limited, places = figures('epoch', 'limited', 'places')
if places == 0 or is_shut() then
    return {0, 'STALE', epoch}
end
if limited == 0 then
    epoch = next_number(epoch, now_ms())
    redis.call('HSET', KEYS[2], 'limited', 1, 'epoch', digits(epoch))
end
return {1, epoch}
