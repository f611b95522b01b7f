-- SPDX-License-Identifier: Apache-2.0
-- A product in shards has a main place and n others, each with the keys of parts/stock.lua and with
-- KEYS[5], the hash of its transfers. New orders go to one place only: to their shard while the
-- mode is `sharded`, to the main place once it is `merged`. The main place says which, and numbers
-- each change with an epoch; every place keeps the newest epoch it has heard of, and takes no order
-- from a caller who has not. Whoever takes at one of the two has looked at the other one before, in
-- the same epoch; so no order is ever made at both. One that was given back at the other is taken
-- with a note of that, since a new order makes the old one forgotten.

-- Does the caller know what this place knows? If it knows better, the place learns.
local function agrees(epoch, mode)
    local own = tonumber(redis.call('HGET', KEYS[2], 'epoch')) or 0
    if epoch > own then
        redis.call('HSET', KEYS[2], 'epoch', digits(epoch), 'mode', mode)
    end
    return epoch >= own, own
end

-- Until when it is remembered that an order was given back here, and until when this place knows
-- that what the other one remembers does not count; 0: it is not, or does not.
local function remembered(order)
    local known = find_order(order)
    if not known or known.state ~= GIVEN then
        return 0, 0
    elseif known.hides_until then
        return 0, known.hides_until
    end
    return tonumber(redis.call('ZSCORE', KEYS[4], order)) or 0, 0
end

-- A number that grows even if Redis lost the last one in a failover.
local function next_number(last, now)
    return math.max(last + 1, now * 1000)
end

-- Counts what was moved, modulo 2^53: differences are right however long it goes on.
local function count_moved(field, quantity)
    local moved = tonumber(redis.call('HGET', KEYS[2], field)) or 0
    local room = limits.HF_INTEGER_MAX - moved
    moved = quantity <= room and moved + quantity or quantity - room - 1
    redis.call('HSET', KEYS[2], field, digits(moved))
end

-- What is available here; a shard that never had any has no key.
local function available_here()
    return tonumber(redis.call('GET', KEYS[1])) or 0
end
