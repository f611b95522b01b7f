-- SPDX-License-Identifier: Apache-2.0
-- The second step of a transfer, at the place it goes to: what was sent arrives, once.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- KEYS[5] stock:inbox:{P_k}    place it came from -> number of the last transfer; hash
-- ARGV    place it comes from, number, quantity: as send_stock.lua answered
--
-- Reply:  {1 if it arrived now or 0 if it had before, available here}
-- uses: common stock shard

local number, quantity = tonumber(ARGV[2]), tonumber(ARGV[3])
if number <= (tonumber(redis.call('HGET', KEYS[5], ARGV[1])) or 0) then
    return {0, available_here()}
end
redis.call('HSET', KEYS[5], ARGV[1], digits(number))
count_moved('received', quantity)
return {1, gain(quantity)}
