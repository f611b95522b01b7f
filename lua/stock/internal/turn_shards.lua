-- SPDX-License-Identifier: Apache-2.0
-- Changes the mode of a product in shards, at its main place: new orders go elsewhere from now on.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- ARGV    epoch that the caller knows, the new mode, the epoch must become larger than this
--
-- Reply:  {1, epoch, mode} as they are now; {0, epoch, mode} if the epoch was another
-- uses: clock common stock shard

local values = redis.call('HMGET', KEYS[2], 'epoch', 'mode')
local epoch = tonumber(values[1]) or 0
if epoch ~= tonumber(ARGV[1]) or not values[2] then
    return {0, epoch, values[2] or ''}
end
epoch = next_number(math.max(epoch, tonumber(ARGV[3]) or 0), now_ms())
redis.call('HSET', KEYS[2], 'epoch', digits(epoch), 'mode', ARGV[2])
return {1, epoch, ARGV[2]}
