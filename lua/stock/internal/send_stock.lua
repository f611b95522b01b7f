-- SPDX-License-Identifier: Apache-2.0
-- The first step of a transfer, at the place it comes from: stock leaves it and stands in its
-- outbox until the transfer is over. Then receive_stock.lua at the place it goes to, then
-- forget_stock.lua here. Each step may be repeated, by anybody, at any time; a transfer that
-- somebody left half done is found in the outbox. There is at most one between two places each way.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- KEYS[5] stock:outbox:{P_k}   place it goes to -> "number quantity"; hash
-- ARGV    place it goes to; how much at least (half of what is here if that is more); at most
--
-- Reply:  {1, number, quantity, available here}: sent; it may be less than asked for
--         {2, number, quantity, available here}: there is one already, to be carried on with
--         {0, available here}: there is nothing to send
-- uses: clock common stock shard

local now = now_ms()
reclaim(now, limits.RECLAIMED_AT_ONCE) -- if more is due, it goes another time
local available = available_here()
local open = redis.call('HGET', KEYS[5], ARGV[1])
if open then
    local number, quantity = open:match('^(%d+) (%d+)$')
    return {2, tonumber(number), tonumber(quantity), available}
end
local least, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local quantity = math.min(available, most, math.max(least, math.ceil(available / 2)))
if not (quantity >= 1) or quantity % 1 ~= 0 then
    return {0, available}
end
local number = next_number(figures('number'), now)
redis.call('HSET', KEYS[5], ARGV[1], digits(number) .. ' ' .. digits(quantity))
redis.call('HSET', KEYS[2], 'number', digits(number))
count_moved('sent', quantity)
return {1, number, quantity, redis.call('DECRBY', KEYS[1], quantity)}
