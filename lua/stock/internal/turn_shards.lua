-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: changes the mode of a product, on its main counter: new orders go elsewhere from
-- now on.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV[1] epoch  the epoch that the caller knows
-- ARGV[2] mode   the new mode; with " limited" behind it, orders go by their user from now on
-- ARGV[3] above  the epoch has to become larger than this
-- Returns {1, epoch, mode} as they are now; {0, epoch, mode} if the epoch was another
-- Refuses nothing
-- Errors  none
-- uses: slot clock common stock shard

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local values = redis.call('HMGET', KEYS[2], 'epoch', 'mode')
local epoch = tonumber(values[1]) or 0
if epoch ~= tonumber(ARGV[1]) or not values[2] then
    return {0, epoch, values[2] or ''}
end
epoch = next_number(math.max(epoch, tonumber(ARGV[3]) or 0), now_ms())
learn(epoch, ARGV[2])
return {1, epoch, redis.call('HGET', KEYS[2], 'mode')}
