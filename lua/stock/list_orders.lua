-- SPDX-License-Identifier: Apache-2.0
-- STOCK.LIST: the orders of a product that are taken, a page at a time, in the order of their
-- names.
--
-- KEYS[1] stock:$product_main           integer, what is available
-- KEYS[2] stock:totals:{$product_main}  hash, the totals (parts/stock.lua)
-- KEYS[3] stock:orders:{$product_main}  hash, order to its record
-- KEYS[4] stock:due:{$product_main}     sorted set, orders by when they fall due
-- KEYS[5] stock:users:{$product_main}   hash, what users have taken and bought
-- KEYS[6] stock:names:{$product_main}   sorted set, the orders that are taken, by name
-- ARGV[1] after  the cursor of the page before, or empty
-- ARGV[2] count  how many orders at most; limits.PAGE_SCRIPT_LOOKS are the most
-- Returns {cursor, {'order_id', order, 'user_id', user, 'quantity', quantity, 'created_at', ms,
--         'expires_at', ms, 'status', 'taken'}, ...}
-- Refuses PRODUCT_NOT_FOUND, INVALID_ARGUMENT
-- Errors  AGAIN, SHARDED
-- uses: slot clock common stock page stock_page

local available, given_back = open_product(now_ms())
if not available then
    return given_back -- the answer
end
return page_orders(ARGV[1] or '', ARGV[2], given_back)
