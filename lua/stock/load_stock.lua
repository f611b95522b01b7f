-- SPDX-License-Identifier: Apache-2.0
-- STOCK.LOAD: sets how much of a product there is to sell. What is available moves by the
-- difference to the last load.
--
-- KEYS[1] stock:P_main          available, integer
-- KEYS[2] stock:totals:{P_main}   loaded, adjusted, taken, sold, shards, watermark, policy, gains
--                               (how often what is available grew); hash
-- KEYS[3] stock:orders:{P_main}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_main}      order -> when it falls due, ms; sorted set
-- ARGV    quantity, shards, watermark, policy ("merge" or "steal")
--
-- Reply:  {1, available}
-- Refuses with CAPACITY_IN_USE, INVALID_QUANTITY: {0, code, message}
-- Errors: AGAIN (call again), SHARDED (a cluster keeps the product in shards)
-- uses: clock common stock

local quantity, shards, watermark = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if not quantity or quantity < 0 or quantity % 1 ~= 0 or not shards or not watermark then
    return refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
end
local _, more = reclaim(now_ms(), limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local available, refusal = open_product()
if not available and refusal[2] ~= 'PRODUCT_NOT_FOUND' then
    return refusal
end
local loaded, adjusted, taken, sold = figures('loaded', 'adjusted', 'taken', 'sold')
refusal = refuse_total(quantity + adjusted, taken, sold)
if refusal then
    return refusal
end
redis.call('HSET', KEYS[2], 'loaded', quantity, 'shards', shards, 'watermark', watermark,
    'policy', ARGV[4])
return {1, move_available(quantity - loaded)}
