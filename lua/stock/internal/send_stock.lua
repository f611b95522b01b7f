-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the first step of a transfer, at its source: stock leaves the counter and stands
-- in its outbox until the transfer is over. Then follow receive_stock.lua at its destination, and
-- forget_stock.lua here. Each step may be repeated, by any caller, at any time; a transfer that was
-- left half done is found in the outbox, and what a failover lost of one that was over shows in the
-- counts of both ends. There is at most one between two counters each way.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:outbox:{$product_k}  hash, destination to "total quantity"
-- ARGV[1] destination  the counter it goes to
-- ARGV[2] least        how much at least; half of what is here if that is more
-- ARGV[3] most         how much at most
-- ARGV[4] +epoch  that the caller knew when it read what it does this for: a counter that was wiped
--                 since is left alone. If it is missing, none counts as wiped
-- Returns {1, total, quantity, available here}: sent; it may be less than the least. The total is
--         all that was ever sent there, with this
--         {2, total, quantity, available here}: there is one already, to be carried on with
--         {0, available here}: there is nothing to send
-- Refuses nothing
-- Errors  none
-- uses: slot clock common stock shard

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
reclaim(now_ms()) -- if more is due, it goes another time
local available = available_here()
if was_wiped_since(ARGV[4]) then
    return {0, available}
end
local open = redis.call('HGET', KEYS[7], ARGV[1])
if open then
    local _, quantity = open:match('^(%d+) (%d+)$')
    return {2, figures(sent_to(ARGV[1])), tonumber(quantity) or 0, available}
end
if is_shut() then
    return {0, available}
end
local least, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local quantity = math.min(available, most, math.max(least, math.ceil(available / 2)), HALF - 1)
if not (quantity >= 1) or quantity % 1 ~= 0 then
    return {0, available}
end
local total = count_moved(KEYS[2], sent_to(ARGV[1]), quantity)
redis.call('HSET', KEYS[7], ARGV[1], digits(total) .. ' ' .. digits(quantity))
count_moved(KEYS[2], 'sent', quantity)
return {1, total, quantity, redis.call('DECRBY', KEYS[1], quantity)}
