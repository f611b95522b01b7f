-- SPDX-License-Identifier: Apache-2.0
-- Release worker: gives back what orders held that fell due, and forgets orders whose retry window
-- is over. Works on the main counter of a product and on any shard.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] limit  how many at most, up to limits.RECLAIMED_AT_ONCE
-- Returns {orders that gave something back, milliseconds until the next falls due (0: now, -1:
--         none), milliseconds by which the first of them was late}
-- Refuses nothing
-- Errors  none
-- uses: slot clock common worker stock

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
local count, _, first_due = reclaim(now, worker_limit(ARGV[1]))
return worker_answer(KEYS[4], now, count, first_due)
