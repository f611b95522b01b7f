-- SPDX-License-Identifier: Apache-2.0
-- STOCK.TAKE at one place of a product in shards. Where new orders go (see parts/shard.lua) it
-- takes; anywhere else it only looks whether the order is known.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- ARGV    order, user, quantity, ttl in seconds; epoch, mode: what the caller knows of the product;
--         "1" if new orders go here, "0" if not; until when the other place remembers that the
--         order was given back, ms, 0 if it does not
--
-- Reply:  {1, available here}
--         {0, "SHORT", available here, orders known here, until when this place remembers that the
--         order was given back or 0}: not enough, or new orders do not go here
--         {0, "STALE", epoch}: the place has heard of a later epoch
-- Refuses with INVALID_STATE (the order exists with other arguments): {0, code, message}
-- Errors: AGAIN (call again)
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
    reply[2] = available_here() -- the order may have been known at a place that takes none
end
return reply
