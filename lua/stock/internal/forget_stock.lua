-- SPDX-License-Identifier: Apache-2.0
-- The last step of a transfer, at the place it came from: it has arrived and is over.
--
-- KEYS[1] stock:{P_k}          available at this place (k is "main" or a number), integer
-- KEYS[2] stock:totals:{P_k}   see read_shard.lua; hash
-- KEYS[3] stock:orders:{P_k}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_k}      order -> when it falls due, ms; sorted set
-- KEYS[5] stock:outbox:{P_k}   place it goes to -> "number quantity"; hash
-- ARGV    place it went to, number
--
-- Reply:  1, or 0 if it was forgotten before
-- uses:

local open = redis.call('HGET', KEYS[5], ARGV[1])
if open and open:match('^(%d+) ') == ARGV[2] then
    return redis.call('HDEL', KEYS[5], ARGV[1])
end
return 0
