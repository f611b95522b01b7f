-- SPDX-License-Identifier: Apache-2.0
-- One counter of a product, the main one or a shard: KEYS[1] what is available, KEYS[2] its totals,
-- KEYS[3] its orders by id, KEYS[4] when they fall due, KEYS[5] what users have, KEYS[6] the names
-- of the orders that are taken, all with score 0. The totals are a hash: loaded, adjusted, taken,
-- sold, shards, watermark, policy, gains, which counts how often the available quantity grew, and
-- owed, which only a shard has (parts/shard.lua).
-- An order is "state quantity ttl_ms+started_ms user"; a closed one is kept for the retry window
-- and then falls due as well. Of users there is, in "t user", what they have taken, and in "s user"
-- what they have bought.
--
-- An order that a former version took has no "+started_ms", is not counted under its user, and has
-- no name in KEYS[6], until it is extended or settled.
--
-- In shards, an order may be taken anew while another counter still remembers that it was given
-- back before. The new one has "ttl_ms/until" in place of its TTL: what falls due there by `until`
-- no longer counts, whatever becomes of the new one. If the new one expires before, it is kept as
-- "G" with that number until then: a sign that the order is unknown.
-- once a batch: reclaim, then 0, false, nil, 0
local TAKEN, SETTLED, GIVEN = 'T', 'S', 'G'
local USER_TAKEN, USER_SOLD = 't ', 's '
-- How many that are due have to be known for due_share() to return limits.RECLAIMED_AT_ONCE.
local READ_AT_ONCE = limits.RECLAIMED_AT_ONCE + limits.RECLAIMED_BEHIND + 1

local function refuse(code, message)
    return {0, code, message}
end

local function parse_order(record)
    local state, quantity, ttl_ms, hides, started, user =
        record:match('^(%a) (%d+) (%d+)/?(%d*)%+?(%d*) (.*)$')
    return {state = state, quantity = tonumber(quantity), ttl_ms = tonumber(ttl_ms),
        hides_until = tonumber(hides), started_ms = tonumber(started), user = user}
end

local function find_order(order)
    local record = redis.call('HGET', KEYS[3], order)
    return record and parse_order(record)
end

-- Writes an order, which is in this state until `at_ms`.
local function put_order(order, record, state, at_ms)
    local ttl = digits(record.ttl_ms)
    if record.hides_until then
        ttl = ttl .. '/' .. digits(record.hides_until)
    end
    if record.started_ms then
        ttl = ttl .. '+' .. digits(record.started_ms)
    end
    local text = {state, digits(record.quantity), ttl, record.user}
    redis.call('HSET', KEYS[3], order, table.concat(text, ' '))
    redis.call('ZADD', KEYS[4], at_ms, order)
end

-- Adds to what a user has taken (USER_TAKEN) or bought (USER_SOLD).
local function count_user(what, user, quantity)
    if redis.call('HINCRBY', KEYS[5], what .. user, quantity) <= 0 then
        redis.call('HDEL', KEYS[5], what .. user)
    end
end

-- Returns what a user has of the product at this counter, taken and bought.
local function user_has(user)
    local counts = redis.call('HMGET', KEYS[5], USER_TAKEN .. user, USER_SOLD .. user)
    return (tonumber(counts[1]) or 0) + (tonumber(counts[2]) or 0)
end

-- Adds to what is available; what the counter owes is paid first. `gains` counts how often that
-- happened, so that a caller that adds up several counters notices that one of them grew in
-- between. Returns what is available, and how much more that is.
local function gain(quantity)
    redis.call('HINCRBY', KEYS[2], 'gains', 1)
    local owed = tonumber(redis.call('HGET', KEYS[2], 'owed')) or 0
    if owed > 0 then
        local paid = math.min(owed, quantity)
        redis.call('HINCRBY', KEYS[2], 'owed', -paid)
        quantity = quantity - paid
    end
    return redis.call('INCRBY', KEYS[1], quantity), quantity
end

-- An error, before anything is changed, if what is available or the totals are none.
local function check_counts()
    local available = redis.call('GET', KEYS[1])
    if available and not available:find('^%-?%d+$') then
        error(KEYS[1] .. ' holds no count; nothing was changed')
    end
    redis.call('HLEN', KEYS[2])
    redis.call('HLEN', KEYS[5])
end

-- Gives back what orders held that fell due, and forgets closed ones, the oldest first, at most
-- `limit` of them or, without one, as due_share() says. Returns how many orders gave something
-- back, whether more are due, the deadline of the first, and by how much what is available grew.
local function reclaim(now, limit)
    local due = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, READ_AT_ONCE)
    local taken = #due > 0 and due_share(#due, limit) or 0
    if taken == 0 then
        return 0, #due > 0, nil, 0
    end
    local more = #due > taken
    for i = #due, taken + 1, -1 do
        due[i] = nil
    end
    local count, back, oldest, signs, users = 0, 0, nil, {}, {}
    for i, record in ipairs(redis.call('HMGET', KEYS[3], unpack(due))) do
        local order = record and parse_order(record)
        if order and order.state == TAKEN then
            oldest = oldest or redis.call('ZSCORE', KEYS[4], due[i])
            count = count + 1
            back = back + order.quantity
            if order.started_ms then
                users[order.user] = (users[order.user] or 0) + order.quantity
            end
            if (order.hides_until or 0) > now then
                signs[due[i]] = order
            end
        end
    end
    if back > 0 then
        check_counts()
    end
    redis.call('HDEL', KEYS[3], unpack(due))
    redis.call('ZREM', KEYS[4], unpack(due))
    redis.pcall('ZREM', KEYS[6], unpack(due))
    for id, order in pairs(signs) do
        put_order(id, order, GIVEN, order.hides_until)
    end
    for user, quantity in pairs(users) do
        count_user(USER_TAKEN, user, -quantity)
    end
    local grown = 0
    if back > 0 then
        redis.call('HINCRBY', KEYS[2], 'taken', -back)
        grown = select(2, gain(back))
    end
    return count, more, tonumber(oldest), grown
end

-- The first read of a script (parts/slot.lua), and what fell due given back. Returns whether the
-- counter exists, what is available, and how many orders gave something back; or nil and the
-- answer, if the slot is moving or more is due than one call gives back.
local function open_counter(now)
    local found = redis.pcall('MGET', KEYS[1], KEYS[1] .. '{0}')
    if found.err then
        return nil, not_here(KEYS[1], found)
    end
    if not tonumber(found[1]) then
        check_counts()
    end
    local count, more, _, grown = reclaim(now)
    if more then
        return nil, again()
    end
    return found[1] ~= false or count > 0, (tonumber(found[1]) or 0) + grown, count
end

-- Opens the counter of a product without shards. Returns what is available, and how many orders
-- gave something back; or nil and the answer, also if the product is unknown or in shards.
local function open_product(now)
    local known, available, given_back = open_counter(now)
    if known == nil then
        return nil, available
    elseif not known then
        return nil, refuse('PRODUCT_NOT_FOUND', errors.PRODUCT_NOT_FOUND)
    end
    if redis.call('HEXISTS', KEYS[2], 'places') == 1 then
        return nil, redis.error_reply('SHARDED the product is in shards: ask for them')
    end
    return available, given_back
end

-- Returns the refusal if a user has so much of the product that the wanted quantity would be more
-- than is allowed, or nil.
local function refuse_user(has, wanted)
    if wanted.quantity > wanted.max - has then
        return refuse('USER_LIMIT_EXCEEDED', string.format(
            'the user has %.0f of the product, %.0f requested, at most %.0f allowed', has,
            wanted.quantity, wanted.max))
    end
end

-- Takes the wanted quantity for a user who has `elsewhere` at other counters. Returns the answer to
-- the TAKE, or nil if there is not enough.
local function take(now, available, order, wanted, elsewhere)
    local known = find_order(order)
    if known and known.state ~= GIVEN then
        local what = 'the order exists'
        if known.user ~= wanted.user then
            return refuse('INVALID_STATE', differs(what, 'user', known.user, wanted.user))
        elseif known.quantity ~= wanted.quantity then
            return refuse('INVALID_STATE',
                differs(what, 'quantity', known.quantity, wanted.quantity))
        elseif known.ttl_ms ~= wanted.ttl_ms then
            return refuse('INVALID_STATE', differs(what, 'TTL', known.ttl_ms, wanted.ttl_ms, ' ms'))
        end
        return {1, available}
    end
    if wanted.quantity > available then
        return nil
    end
    local refusal = refuse_user(user_has(wanted.user) + elsewhere, wanted)
    if refusal then
        return refusal
    end
    redis.call('HINCRBY', KEYS[2], 'taken', wanted.quantity)
    count_user(USER_TAKEN, wanted.user, wanted.quantity)
    redis.pcall('ZADD', KEYS[6], 0, order)
    wanted.started_ms = now
    put_order(order, wanted, TAKEN, now + wanted.ttl_ms)
    return {1, redis.call('DECRBY', KEYS[1], wanted.quantity)}
end

-- Is it a whole number from 1 on?
local function is_count(number)
    return number and number >= 1 and number % 1 == 0 and number <= limits.HF_INTEGER_MAX
end

-- Returns the arguments of a TAKE as an order, or nil and the refusal.
local function wanted_order(user, quantity, ttl, max)
    local wanted = {quantity = tonumber(quantity), ttl_ms = to_ms(ttl), user = user,
        max = max and tonumber(max) or limits.HF_INTEGER_MAX}
    if not is_count(wanted.quantity) or not is_count(wanted.max) then
        return nil, refuse('INVALID_QUANTITY', errors.INVALID_QUANTITY)
    end
    return wanted
end

-- Returns the refusal of a command for an order that is not there, or is another user's; or nil.
-- `user` is empty or nil if the caller did not say whose it should be.
local function refuse_order(known, user)
    if not known then
        return refuse('NOT_FOUND', 'no such order: never taken, given back or expired')
    end
    if user and user ~= '' and known.user ~= user then
        return refuse('NOT_OWNER', 'the order does not belong to user "' .. user .. '"')
    end
end

-- Moves the deadline of an order to now + ttl, never to an earlier time, and never later than
-- limits.EXTEND_FACTOR first TTLs after its start. Returns the answer.
local function extend_order(now, order, user, ttl_ms)
    local known = find_order(order)
    if known and known.state == GIVEN then
        known = nil
    end
    local refusal = refuse_order(known, user)
    if refusal then
        return refusal
    end
    if known.state == SETTLED then
        return refuse('INVALID_STATE', 'the order is settled and has no deadline')
    end
    local due = tonumber(redis.call('ZSCORE', KEYS[4], order))
    local started = known.started_ms or due - known.ttl_ms
    local deadline = math.min(now + ttl_ms, started + limits.EXTEND_FACTOR * known.ttl_ms)
    if deadline <= due then
        return {1, due}
    end
    if not known.started_ms then -- from now on the deadline does not tell
        known.started_ms = started
        count_user(USER_TAKEN, known.user, known.quantity)
        redis.pcall('ZADD', KEYS[6], 0, order)
    end
    put_order(order, known, TAKEN, deadline)
    return {1, deadline}
end

-- Settles an order or gives it back. Returns the answer, and the state the order was in.
local function close_order(now, available, order, user, state)
    local known = find_order(order)
    if known and known.state == GIVEN and state == SETTLED then
        known = nil
    end
    local refusal = refuse_order(known, user)
    if refusal then
        return refusal
    end
    if known.state == SETTLED and state == GIVEN then
        return refuse('INVALID_STATE',
            'the order is settled: what is sold is not given back'), SETTLED
    end
    if known.state == TAKEN then
        redis.call('HLEN', KEYS[5]) -- an error, if it is no hash
        redis.pcall('ZREM', KEYS[6], order) -- a full Redis allows this, and then what follows it
        redis.call('HINCRBY', KEYS[2], 'taken', -known.quantity)
        if known.started_ms then
            count_user(USER_TAKEN, known.user, -known.quantity)
        end
        if state == SETTLED then
            redis.call('HINCRBY', KEYS[2], 'sold', known.quantity)
            count_user(USER_SOLD, known.user, known.quantity)
        else
            available = gain(known.quantity)
        end
        known.hides_until = nil -- it is remembered for longer than what it hides
        put_order(order, known, state, now + limits.RETRY_WINDOW_MS)
    end
    return {1, available}, known.state
end

-- Returns the totals of these names, 0 where there is none yet.
local function figures(...)
    local values = redis.call('HMGET', KEYS[2], ...)
    for i = 1, select('#', ...) do
        values[i] = tonumber(values[i]) or 0
    end
    return unpack(values)
end

-- Returns the refusal if a product cannot have `total` in all, or nil.
local function refuse_total(total, taken, sold)
    if total > limits.HF_INTEGER_MAX then
        return refuse('INVALID_QUANTITY', 'that would make ' .. digits(total)
            .. ' in all: at most ' .. digits(limits.HF_INTEGER_MAX))
    end
    if total < taken + sold then
        return refuse('CAPACITY_IN_USE', 'that would leave ' .. digits(total) .. ' in all, with '
            .. digits(taken) .. ' taken and ' .. digits(sold) .. ' sold')
    end
end

-- Moves what is available by a difference, up or down.
local function move_available(difference)
    if difference > 0 then
        return (gain(difference))
    end
    return redis.call('INCRBY', KEYS[1], difference)
end
