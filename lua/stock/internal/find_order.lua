-- SPDX-License-Identifier: Apache-2.0
-- Stock in shards: what one counter of a product knows of an order and of a user. Whoever is going
-- to take it at another counter asks here first.
--
-- KEYS[1] stock:{$product_k}         integer, what is available here
-- KEYS[2] stock:totals:{$product_k}  hash, the totals (parts/shard.lua)
-- KEYS[3] stock:orders:{$product_k}  hash, order to its record
-- KEYS[4] stock:due:{$product_k}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_k}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_k}   sorted set, the orders that are taken, by name
-- ARGV[1] order
-- ARGV[2] user   or empty
-- ARGV[3] epoch  the epoch that the caller knows of the product
-- ARGV[4] mode   and its mode
-- Returns {1, state of the order ('' if unknown), until when this counter remembers that it was
--         given back or 0, until when it knows that what others remember of that does not count or
--         0, 1 if it is this user's, what this user has here, orders known here}
--         {0, 'STALE', epoch}: the counter has learnt of a later epoch
-- Refuses nothing
-- Errors  AGAIN
-- uses: slot clock common stock shard

local available, answer = open_shard(now_ms(), ARGV[3], ARGV[4])
if not available then
    return answer
end
local known = find_order(ARGV[1])
local given_until, hides_until = remembered(ARGV[1])
return {
    1, known and known.state or '', given_until, hides_until,
    known and known.user == ARGV[2] and 1 or 0, ARGV[2] ~= '' and user_has(ARGV[2]) or 0,
    redis.call('HLEN', KEYS[3])
}
