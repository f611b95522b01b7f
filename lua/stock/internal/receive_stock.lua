-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the second step of a transfer, at its destination: what was sent and is not here
-- yet arrives, and with it what had arrived before and was lost in a failover. A full Redis does
-- not refuse it: the stock would be nowhere.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:inbox:{$product_k}   hash, "from source" to all that ever arrived from there
-- ARGV[1] source    the counter it comes from
-- ARGV[2] total     all that was ever sent here from there, as send_stock.lua answered
-- ARGV[3] quantity  how much of it may not have arrived before, the same; 0 if all had
-- ARGV[4] +epoch  that the caller knew when it read what it does this for: a counter that was wiped
--                 since is left alone. If it is missing, none counts as wiped
-- Returns {what arrived now, available here, all that ever arrived from there}: the last is more
--         than the total if the source has lost transfers in a failover, which forget_stock.lua
--         makes good
-- Refuses nothing; nothing arrives at a counter whose product is closed
-- Errors  none
-- uses: slot common stock shard

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local total, quantity = tonumber(ARGV[2]), tonumber(ARGV[3])
if was_wiped_since(ARGV[4]) then
    return {0, available_here(), total}
end
local arrived = tonumber(redis.call('HGET', KEYS[7], arrived_from(ARGV[1]))) or 0
local missing = ahead(total, arrived)
if missing <= 0 then
    return {0, available_here(), arrived}
elseif redis.call('HGET', KEYS[2], 'mode') == 'closed' then
    return {0, available_here(), total} -- it would be wiped
end
redis.call('PERSIST', KEYS[7]) -- a full Redis allows this, and then what follows it
redis.call('HSET', KEYS[7], arrived_from(ARGV[1]), digits(total))
redis.call('PERSIST', KEYS[2]) -- what is left of a product that was closed has an end
count_moved(KEYS[2], 'received', missing)
if missing > quantity then
    redis.call('HINCRBY', KEYS[2], 'lost_received', missing - quantity)
end
return {missing, (gain(missing)), total}
