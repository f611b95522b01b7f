-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: STOCK.TAKE on one counter of a product. Where new orders go (parts/shard.lua) it
-- takes; elsewhere it only looks whether the order is known.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to "state quantity ttl_ms user"
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- ARGV[1] order
-- ARGV[2] user
-- ARGV[3] quantity
-- ARGV[4] ttl          in seconds
-- ARGV[5] epoch        the epoch that the caller knows of the product
-- ARGV[6] mode         and its mode
-- ARGV[7] takes        1 if new orders go here, 0 if not
-- ARGV[8] given_until  until when the other counter remembers that the order was given back, in ms;
--                      0 if it does not
-- Returns {1, available here}
--         {0, 'SHORT', available here, orders known here, until when this counter remembers that
--         the order was given back or 0}: not enough, or new orders do not go here
--         {0, 'STALE', epoch}: the counter has learnt of a later epoch
-- Refuses INVALID_QUANTITY; INVALID_STATE if the order exists with other arguments
-- Errors  AGAIN
-- uses: clock common stock shard

local wanted, refusal = wanted_order(ARGV[2], ARGV[3], ARGV[4])
if not wanted then
    return refusal
end
local agreed, epoch = agrees(tonumber(ARGV[5]), ARGV[6])
if not agreed then
    return {0, 'STALE', epoch}
end
local now = now_ms()
local _, more = reclaim(now, limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local hides_until = tonumber(ARGV[8]) or 0
wanted.hides_until = hides_until > now and hides_until or nil
local available = available_here()
local reply = take(now, ARGV[7] == '1' and available or 0, ARGV[1], wanted)
if not reply then
    local given_until = remembered(ARGV[1])
    return {0, 'SHORT', available, redis.call('HLEN', KEYS[3]), given_until}
end
if reply[1] == 1 then
    reply[2] = available_here() -- the order may be known to a counter that takes none
end
return reply
