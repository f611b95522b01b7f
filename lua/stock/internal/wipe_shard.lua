-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: the last step of STOCK.CLOSE, at every counter of a product that is closed, the
-- main one last. What has to outlive the product stays for a day: the epoch, and that it is closed,
-- so that nobody who is late takes it for open.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:outbox:{$product_k}  hash, destination to "total quantity"
-- KEYS[8] stock:inbox:{$product_k}   hash, "from source" to all that ever arrived from there
-- ARGV[1] epoch  the epoch that the caller knows of the product
-- ARGV[2] mode   "closed"
-- Returns {1, sold here, available here}; zeros if it was wiped in this epoch before, and then
--         nothing else happens
--         {0, 'STALE', epoch}: the counter has learnt of a later epoch
-- Refuses nothing
-- Errors  none
-- uses: slot common stock shard

local DAY_MS = 24 * 60 * 60 * 1000

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local agreed, epoch = agrees(tonumber(ARGV[1]), ARGV[2])
if not agreed then
    return {0, 'STALE', epoch}
end
local wiped = redis.call('HGET', KEYS[2], 'wiped')
if wiped == ARGV[1] then -- what is here by now belongs to a new product of that name
    return {1, 0, 0}
end
local reply = {1, figures('sold'), available_here()}
redis.call('UNLINK', unpack(KEYS))
redis.call('HSET', KEYS[2], 'epoch', ARGV[1], 'mode', ARGV[2], 'wiped', ARGV[1])
redis.call('PEXPIRE', KEYS[2], DAY_MS)
return reply
