-- SPDX-License-Identifier: Apache-2.0
-- STOCK.GET: a product's totals: loaded = available + taken + sold.
--
-- KEYS[1] stock:P_main          available, integer
-- KEYS[2] stock:totals:{P_main}   see load_stock.lua; hash
-- KEYS[3] stock:orders:{P_main}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_main}      order -> when it falls due, ms; sorted set
-- ARGV    none
--
-- Reply:  {"available", n, "taken", n, "sold", n, "loaded", n, "shards", n, "mode", "single"}
-- Refuses with PRODUCT_NOT_FOUND: {0, code, message}
-- Errors: AGAIN (call again), SHARDED (a cluster keeps the product in shards)
-- uses: clock common stock

local _, more = reclaim(now_ms(), limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local available, refusal = open_product()
if not available then
    return refusal
end
local loaded, adjusted, taken, sold, shards =
    figures('loaded', 'adjusted', 'taken', 'sold', 'shards')
return {
    'available', available, 'taken', taken, 'sold', sold, 'loaded', loaded + adjusted,
    'shards', shards, 'mode', 'single'
}
