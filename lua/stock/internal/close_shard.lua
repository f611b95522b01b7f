-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: STOCK.SETTLE and STOCK.GIVE on one counter of a product.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to "state quantity ttl_ms user"
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- ARGV[1] order
-- ARGV[2] state  "S" to settle it or "G" to give it back
-- ARGV[3] epoch  the epoch that the caller knows of the product
-- ARGV[4] mode   and its mode
-- Returns {1, available here, state it was in: 'T' taken, 'S' settled}
--         {1, available here, 'G', until when}: given back before, which is remembered until then
--         {0, 'EXPIRED', until when}: unknown, even if the other counter remembers until then, or
--         less long, that it was given back
--         {0, 'STALE', epoch}: the counter has learnt of a later epoch
-- Refuses NOT_FOUND (it may be known to another counter), INVALID_STATE
-- Errors  AGAIN
-- uses: clock common stock shard

local agreed, epoch = agrees(tonumber(ARGV[3]), ARGV[4])
if not agreed then
    return {0, 'STALE', epoch}
end
local now = now_ms()
local _, more = reclaim(now, limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local given_until, hides_until = remembered(ARGV[1])
if hides_until > 0 then
    return {0, 'EXPIRED', hides_until}
end
local state = ARGV[2] == SETTLED and SETTLED or GIVEN
local reply, was = close_order(now, available_here(), ARGV[1], state)
if reply[1] == 1 then
    reply[3] = was
    if was == GIVEN then
        reply[4] = given_until
    end
end
return reply
