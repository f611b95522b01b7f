-- SPDX-License-Identifier: Apache-2.0
-- STOCK.SETTLE: an order is sold for good.
--
-- KEYS[1] stock:P_main          available, integer
-- KEYS[2] stock:totals:{P_main}   see load_stock.lua; hash
-- KEYS[3] stock:orders:{P_main}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_main}      order -> when it falls due, ms; sorted set
-- ARGV    order
--
-- Reply:  {1, remaining}; again for an order that was settled less than 300 s ago
-- Refuses with PRODUCT_NOT_FOUND, NOT_FOUND: {0, code, message}
-- Errors: AGAIN (call again), SHARDED (a cluster keeps the product in shards)
-- uses: clock common stock

local now = now_ms()
local _, more = reclaim(now, limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local available, refusal = open_product()
if not available then
    return refusal
end
return (close_order(now, available, ARGV[1], SETTLED))
