-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: all there is to know of one counter of a product. Summed up over all counters:
-- loaded = available - owed + (sent - received, modulo 2^53) + taken + sold.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- KEYS[7] stock:outbox:{$product_k}  hash, destination to "total quantity"
-- KEYS[8] stock:inbox:{$product_k}   hash, "from source" to all that ever arrived from there; only
--                                    for the counts
-- ARGV[1] epoch   what the caller knows of the product, or 0
-- ARGV[2] mode    and its mode, or empty
-- ARGV[3] counts  1 if the counts of transfers are wanted, of limits.STOCK_COUNTS_AT_ONCE counters
--                 in each call
-- ARGV[4] +first  the first of these: 0 is the main counter, 1 shard 0; 0 if it is not given
-- Returns {1 if the product is known here, available, taken, sold, sent, received, gains, orders
--         known, epoch, mode, loaded with adjustments, shards, watermark, policy, places, 1 if
--         orders go by their user, owed, then of open transfers: destination, total, quantity;
--         then, if wanted, of each count: "to destination" or "from source", total, 0}. With
--         counts, open transfers are those to the same counters; without, some of them if they are
--         many, and the sums of sent and received tell that
-- Refuses nothing
-- Errors  AGAIN
-- uses: slot clock common stock shard

local known, available = open_counter(now_ms())
if known == nil then
    return available
end
agrees(tonumber(ARGV[1]) or 0, ARGV[2])
local taken, sold, sent, received, gains, epoch, loaded, adjusted, shards, watermark, places,
    limited, owed = figures('taken', 'sold', 'sent', 'received', 'gains', 'epoch', 'loaded',
        'adjusted', 'shards', 'watermark', 'places', 'limited', 'owed')
local words = redis.call('HMGET', KEYS[2], 'mode', 'policy')
local reply = {
    known and 1 or 0, available, taken, sold, sent, received, gains,
    redis.call('HLEN', KEYS[3]), epoch, words[1] or '', loaded + adjusted, shards, watermark,
    words[2] or '', places, limited, owed
}
local AT_ONCE = limits.STOCK_COUNTS_AT_ONCE

-- Adds a list of names with their totals, where there is one, and with their quantities, if given.
local function tell(names, totals, quantities)
    for i, name in ipairs(names) do
        if totals[i] then
            local at = #reply
            reply[at + 1], reply[at + 2] = name, tonumber(totals[i]) or 0
            reply[at + 3] = quantities and quantities[i] or 0
        end
    end
end

-- Adds open transfers, as they stand in the outbox: false where there is none.
local function tell_open(destinations, open)
    local names, fields, quantities = {}, {}, {}
    for i, destination in ipairs(destinations) do
        if open[i] then
            names[#names + 1], fields[#fields + 1] = destination, sent_to(destination)
            quantities[#quantities + 1] = tonumber(open[i]:match(' (%d+)$')) or 0
        end
    end
    if #names > 0 then
        tell(names, {figures(unpack(fields))}, quantities)
    end
end

if ARGV[3] ~= '1' then
    local many = redis.call('HLEN', KEYS[7]) > AT_ONCE
    local found = many and redis.call('HSCAN', KEYS[7], '0', 'COUNT', AT_ONCE)[2]
        or redis.call('HGETALL', KEYS[7])
    local destinations, open = {}, {}
    for i = 1, math.min(#found, 2 * AT_ONCE), 2 do
        destinations[#destinations + 1], open[#open + 1] = found[i], found[i + 1]
    end
    tell_open(destinations, open)
    return reply
end
local first = tonumber(ARGV[4] or 0)
local others, to, from = {}, {}, {}
for number = first, first + AT_ONCE - 1 do
    local other = number == 0 and 'main' or digits(number - 1)
    others[#others + 1], to[#to + 1], from[#from + 1] = other, sent_to(other), arrived_from(other)
end
tell_open(others, redis.call('HMGET', KEYS[7], unpack(others)))
tell(to, redis.call('HMGET', KEYS[2], unpack(to)))
tell(from, redis.call('HMGET', KEYS[8], unpack(from)))
return reply
