-- SPDX-License-Identifier: Apache-2.0
-- STOCK.TAKE: holds some of a product for an order until it is settled, given back, or due.
--
-- KEYS[1] stock:P_main          available, integer
-- KEYS[2] stock:totals:{P_main}   see load_stock.lua; hash
-- KEYS[3] stock:orders:{P_main}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_main}      order -> when it falls due, ms; sorted set
-- ARGV    order, user, quantity, ttl in seconds
--
-- Reply:  {1, remaining}; again for the same order with the same arguments
-- Refuses with PRODUCT_NOT_FOUND, INVALID_STATE (the order exists with other arguments), SOLD_OUT:
--         {0, code, message}
-- Errors: AGAIN (call again), SHARDED (a cluster keeps the product in shards)
-- uses: clock common stock

local wanted, refusal = wanted_order(ARGV[2], ARGV[3], ARGV[4])
if not wanted then
    return refusal
end
local now = now_ms()
local _, more = reclaim(now, limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local available
available, refusal = open_product()
if not available then
    return refusal
end
return take(now, available, ARGV[1], wanted)
    or refuse('SOLD_OUT', digits(available) .. ' left, ' .. digits(wanted.quantity)
        .. ' requested')
