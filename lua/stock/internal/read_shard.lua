-- SPDX-License-Identifier: Apache-2.0
-- All there is to know of one place of a product in shards. Summed up over all places:
-- loaded = available + (sent - received, modulo 2^53) + taken + sold.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- KEYS[5] stock:outbox:{P_k}   place it goes to -> "number quantity"; hash
-- ARGV    epoch, mode: what the caller knows of the product, or 0 and ""
--
-- The totals: taken, sold; sent and received, all that ever went by transfers; gains, how often
-- what is available grew; epoch, mode; number, of the last transfer sent. At the main place also
-- loaded, adjusted, shards, watermark, policy, and places: how many shards there really are.
--
-- Reply:  {1 if the product is known here, available, taken, sold, sent, received, gains, orders
--         known, epoch, mode, loaded with adjustments, shards, watermark, policy, places,
--         then of each open transfer: place it goes to, number, quantity}
-- Errors: AGAIN (call again)
-- uses: clock common stock shard

local _, more = reclaim(now_ms(), limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
agrees(tonumber(ARGV[1]) or 0, ARGV[2])
local known = redis.call('GET', KEYS[1])
local taken, sold, sent, received, gains, epoch, loaded, adjusted, shards, watermark, places =
    figures('taken', 'sold', 'sent', 'received', 'gains', 'epoch', 'loaded', 'adjusted', 'shards',
        'watermark', 'places')
local words = redis.call('HMGET', KEYS[2], 'mode', 'policy')
local reply = {
    known and 1 or 0, tonumber(known) or 0, taken, sold, sent, received, gains,
    redis.call('HLEN', KEYS[3]), epoch, words[1] or '', loaded + adjusted, shards, watermark,
    words[2] or '', places
}
local open = redis.call('HGETALL', KEYS[5])
for i = 1, #open, 2 do
    local number, quantity = open[i + 1]:match('^(%d+) (%d+)$')
    reply[#reply + 1] = open[i]
    reply[#reply + 1] = tonumber(number)
    reply[#reply + 1] = tonumber(quantity)
end
return reply
