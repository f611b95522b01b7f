-- SPDX-License-Identifier: Apache-2.0
-- For the release worker: gives back what orders held that fell due, and forgets orders that were
-- closed 300 s ago. Works on the main place of a product and on any shard.
--
-- KEYS[1] stock:P_main          available, integer
-- KEYS[2] stock:totals:{P_main}   see load_stock.lua; hash
-- KEYS[3] stock:orders:{P_main}   order -> "state quantity ttl_ms user"; hash
-- KEYS[4] stock:due:{P_main}      order -> when it falls due, ms; sorted set
-- ARGV    limit: how many orders at most, up to limits.RECLAIMED_AT_ONCE
--
-- Reply:  {orders that gave something back, ms until the next falls due (0: now, -1: none),
--         ms by which the oldest of them was late}
-- uses: clock common worker stock

local now = now_ms()
local count, _, first_due = reclaim(now, worker_limit(ARGV[1]))
return worker_answer(KEYS[4], now, count, first_due)
