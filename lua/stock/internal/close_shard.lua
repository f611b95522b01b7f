-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: STOCK.SETTLE and STOCK.GIVE on one counter of a product.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV[1] order
-- ARGV[2] user   if given, it has to be the order's
-- ARGV[3] state  "S" to settle it or "G" to give it back
-- ARGV[4] epoch  the epoch that the caller knows of the product
-- ARGV[5] mode   and its mode
-- Returns {1, available here}
--         {0, 'STALE', epoch}: the counter has learnt of a later epoch
-- Refuses NOT_FOUND (it may be known to another counter, or have been given back here), NOT_OWNER,
--         INVALID_STATE
-- Errors  AGAIN
-- uses: slot clock common stock shard

local now = now_ms()
local available, answer = open_shard(now, ARGV[4], ARGV[5])
if not available then
    return answer
end
local known = find_order(ARGV[1])
if known and known.state == GIVEN then -- another counter may know something newer
    return refuse_order(nil)
end
local state = ARGV[3] == SETTLED and SETTLED or GIVEN
return (close_order(now, available, ARGV[1], ARGV[2], state))
