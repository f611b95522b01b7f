-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: STOCK.TAKE on one counter of a product. Where new orders go (parts/shard.lua) it
-- takes; elsewhere it only looks whether the order is known.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV[1] order
-- ARGV[2] user
-- ARGV[3] quantity
-- ARGV[4] ttl          in seconds
-- ARGV[5] max          how much the user may have of the product, taken and bought
-- ARGV[6] epoch        the epoch that the caller knows of the product
-- ARGV[7] mode         and its mode
-- ARGV[8] takes        1 if new orders go here, 0 if not
-- ARGV[9] given_until  until when another counter remembers that the order was given back, in ms; 0
--                      if none does
-- ARGV[10] elsewhere   what the user has at other counters
-- Returns {1, available here}
--         {0, 'SHORT', available here, what the user has in all, 1 if that is too much to take
--         more}: not enough, or new orders do not go here
--         {0, 'STALE', epoch}: the counter has learnt of a later epoch
-- Refuses INVALID_QUANTITY, USER_LIMIT_EXCEEDED; INVALID_STATE if the order exists with other
--         arguments
-- Errors  AGAIN
-- uses: slot clock common stock shard

local wanted, refusal = wanted_order(ARGV[2], ARGV[3], ARGV[4], ARGV[5])
if not wanted then
    return refusal
end
local now = now_ms()
local available
available, refusal = open_shard(now, ARGV[6], ARGV[7])
if not available then
    return refusal
end
local hides_until = tonumber(ARGV[9]) or 0
wanted.hides_until = hides_until > now and hides_until or nil
local elsewhere = tonumber(ARGV[10]) or 0
local reply = take(now, ARGV[8] == '1' and available or 0, ARGV[1], wanted, elsewhere)
if not reply then
    local has = user_has(wanted.user) + elsewhere
    return {0, 'SHORT', available, has, refuse_user(has, wanted) and 1 or 0}
end
if reply[1] == 1 then
    reply[2] = available_here() -- the order may be known to a counter that takes none
end
return reply
