-- SPDX-License-Identifier: Apache-2.0
-- STOCK.ADJUST of a product in shards, at its main place. Before, so much must have been moved here
-- as it takes away.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- ARGV    delta, reason (for whoever reads the log of commands; not kept)
--
-- Reply:  {1, available here}
--         {0, "SHORT", how much must be available here}: move it here or refuse
-- Refuses with INVALID_QUANTITY: {0, code, message}
-- Errors: AGAIN (call again)
-- uses: clock common stock shard

local delta = tonumber(ARGV[1])
if not delta or delta % 1 ~= 0 then
    return refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
end
local _, more = reclaim(now_ms(), limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
local loaded, adjusted = figures('loaded', 'adjusted')
if loaded + adjusted + delta > limits.HF_INTEGER_MAX then
    return refuse_total(loaded + adjusted + delta, 0, 0)
end
if available_here() + delta < 0 then
    return {0, 'SHORT', -delta}
end
redis.call('HINCRBY', KEYS[2], 'adjusted', delta)
return {1, move_available(delta)}
