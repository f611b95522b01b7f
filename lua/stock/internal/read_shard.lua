-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: all there is to know of one counter of a product. Summed up over all counters:
-- loaded = available + (sent - received, modulo 2^53) + taken + sold.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:outbox:{$product_k}  hash, destination to "number quantity"
-- ARGV[1] epoch  what the caller knows of the product, or 0
-- ARGV[2] mode   and its mode, or empty
-- Returns {1 if the product is known here, available, taken, sold, sent, received, gains, orders
--         known, epoch, mode, loaded with adjustments, shards, watermark, policy, places, 1 if
--         orders go by their user, then of each open transfer: destination, number, quantity}
-- Refuses nothing
-- Errors  AGAIN
-- uses: clock common stock shard

local _, more = reclaim(now_ms(), limits.RECLAIMED_AT_ONCE)
if more then
    return again()
end
agrees(tonumber(ARGV[1]) or 0, ARGV[2])
local known = redis.call('GET', KEYS[1])
local taken, sold, sent, received, gains, epoch, loaded, adjusted, shards, watermark, places,
    limited = figures('taken', 'sold', 'sent', 'received', 'gains', 'epoch', 'loaded', 'adjusted',
        'shards', 'watermark', 'places', 'limited')
local words = redis.call('HMGET', KEYS[2], 'mode', 'policy')
local reply = {
    known and 1 or 0, tonumber(known) or 0, taken, sold, sent, received, gains,
    redis.call('HLEN', KEYS[3]), epoch, words[1] or '', loaded + adjusted, shards, watermark,
    words[2] or '', places, limited
}
local open = redis.call('HGETALL', KEYS[7])
for i = 1, #open, 2 do
    local number, quantity = open[i + 1]:match('^(%d+) (%d+)$')
    reply[#reply + 1] = open[i]
    reply[#reply + 1] = tonumber(number)
    reply[#reply + 1] = tonumber(quantity)
end
return reply
