-- SPDX-License-Identifier: Apache-2.0
-- STOCK.SETTLE and STOCK.GIVE at one place of a product in shards.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- ARGV    order, "S" to settle it or "G" to give it back; epoch, mode: what the caller knows of the
--         product
--
-- Reply:  {1, available here, state it was in: "T" taken, "S" settled}
--         {1, available here, "G", until when}: given back before, which is remembered until then
--         {0, "EXPIRED", until when}: unknown, even if the other place remembers until then, or
--         less long, that it was given back
--         {0, "STALE", epoch}: the place has heard of a later epoch
-- Refuses with NOT_FOUND (it may be known at another place), INVALID_STATE: {0, code, message}
-- Errors: AGAIN (call again)
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
