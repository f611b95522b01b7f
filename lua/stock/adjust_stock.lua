-- SPDX-License-Identifier: Apache-2.0
-- STOCK.ADJUST: moves what is available, and what was loaded, by a difference.
--
-- KEYS[1] stock:P_main          available, integer
-- KEYS[2] stock:totals:{P_main}   see load_stock.lua; hash
-- KEYS[3] stock:orders:{P_main}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_main}      order -> when it falls due, ms; sorted set
-- ARGV    delta, reason (for whoever reads the log of commands; not kept)
--
-- Reply:  {1, available}
-- Refuses with PRODUCT_NOT_FOUND, CAPACITY_IN_USE, INVALID_QUANTITY: {0, code, message}
-- Errors: AGAIN (call again), SHARDED (a cluster keeps the product in shards)
-- uses: clock common stock

local delta = tonumber(ARGV[1])
if not delta or delta % 1 ~= 0 then
    return refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
end
local _, more = reclaim(now_ms(), limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local available, refusal = open_product()
if not available then
    return refusal
end
local loaded, adjusted, taken, sold = figures('loaded', 'adjusted', 'taken', 'sold')
refusal = refuse_total(loaded + adjusted + delta, taken, sold)
if refusal then
    return refusal
end
redis.call('HINCRBY', KEYS[2], 'adjusted', delta)
return {1, move_available(delta)}
