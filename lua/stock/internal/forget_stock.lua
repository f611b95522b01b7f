-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the last step of a transfer, at its source: it has arrived and is over. If more
-- has arrived from here than was ever sent, a failover has lost transfers here: what they took is
-- taken off again, and what is not there any more is owed, which means that it comes off whatever
-- is given back, loaded or sent here next.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:outbox:{$product_k}  hash, destination to "total quantity"
-- ARGV[1] destination  the counter it went to
-- ARGV[2] arrived      all that ever arrived there from here, as receive_stock.lua answered
-- ARGV[3] +epoch  that the caller knew when it read what it does this for: a counter that was wiped
--                 since is left alone. If it is missing, none counts as wiped
-- Returns {how much of it was lost here and is taken off now, available here, owed here}
-- Refuses nothing
-- Errors  none
-- uses: slot common stock shard

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
if was_wiped_since(ARGV[3]) then
    return {0, available_here(), (figures('owed'))}
end
local arrived, sent = tonumber(ARGV[2]), figures(sent_to(ARGV[1]))
local lost = ahead(arrived, sent)
if lost >= 0 then
    redis.call('HDEL', KEYS[7], ARGV[1]) -- a full Redis allows this, and then what follows it
end
if lost <= 0 then
    return {0, available_here(), (figures('owed'))}
end
local available = available_here()
local off = math.max(0, math.min(available, lost))
redis.call('HSET', KEYS[2], sent_to(ARGV[1]), digits(arrived))
count_moved(KEYS[2], 'sent', lost)
redis.call('HINCRBY', KEYS[2], 'lost_sent', lost)
if lost > off then
    redis.call('HINCRBY', KEYS[2], 'owed', lost - off)
end
return {lost, redis.call('DECRBY', KEYS[1], off), (figures('owed'))}
