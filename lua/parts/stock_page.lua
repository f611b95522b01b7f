-- SPDX-License-Identifier: Apache-2.0
-- A page of the orders that are taken at one counter of a product.

-- Returns the answer to a list: the page behind the cursor `after`, or the refusal of the cursor.
local function page_orders(after, count, given_back)
    local names, cursor = page_names(KEYS[6], after, count, given_back)
    if not names then
        return no_cursor(after)
    end
    local page = {cursor}
    local records = #names > 0 and redis.call('HMGET', KEYS[3], unpack(names)) or {}
    for i, id in ipairs(names) do
        local order = records[i] and parse_order(records[i])
        local due = tonumber(redis.call('ZSCORE', KEYS[4], id) or nil)
        if order and order.state == TAKEN and due then
            page[#page + 1] = {'order_id', id, 'user_id', order.user, 'quantity', order.quantity,
                'created_at', order.started_ms or due - order.ttl_ms, 'expires_at', due,
                'status', 'taken'}
        end
    end
    return page
end
