-- SPDX-License-Identifier: Apache-2.0
-- A product in shards has a main counter and n shards, each with the keys of parts/stock.lua and
-- with KEYS[7], the hash of its transfers. In a key, `k` is "main" or the number of the shard. New
-- orders go to one counter only: to their shard while the mode is `sharded`, to the main counter
-- once it is `merged`. The shard of an order is that of its id; of its user, once the product is
-- `limited` by a TAKE with MAX. The main counter holds the mode, and numbers each change with an
-- epoch; every counter stores the newest epoch it has learnt of, and takes no order from a caller
-- that does not know it. A caller that takes at one counter has read the others where the order may
-- be before, in the same epoch; so no order is ever made at two. What a user has at the others only
-- falls from then on. An order that was given back at another is taken with a note of that, since a
-- new order makes the old one forgotten.
--
-- A product is closed in steps: mode `closing`, in which nothing is taken and no transfer begins;
-- back to `sharded` if anything is still taken, otherwise on to `closed`, in which every counter is
-- wiped once, the main one last. Whoever finds a product in one of these carries on with it; to
-- takers a closed one is none.
--
-- A transfer has no number of its own. The source counts all that it ever sent to a destination, in
-- "to k" of its totals, the destination all that ever arrived from a source, in "from k" of its
-- inbox, and a transfer arrives as the difference of the two. So it does not matter how often it is
-- told, nor how much of it either side forgot when a failover set it back to an earlier state:
-- whoever compares the two counts brings the smaller one up to the larger one. The destination
-- gains what it had lost; the source takes off again what it had sent, and owes what it has sold
-- of it since.
--
-- The totals of a counter: taken, sold; sent and received, all that ever went by transfers; gains,
-- how often what is available grew; epoch, mode; limited; owed, which comes off the next gains;
-- lost_sent and lost_received, what of its transfers failovers lost and this counter has made good;
-- wiped, the epoch in which a product of that name was closed that was here before.
-- The main counter also has loaded, adjusted, shards, watermark, policy, and places: how many
-- shards there really are. Always, at each counter:
-- loaded + adjusted + received = available - owed + taken + sold + sent.

-- Stores an epoch, and a mode as the engine names it: with " limited" behind it where orders go by
-- their user. A counter that is limited stays so.
local function learn(epoch, mode)
    local name, limited = mode:match('^(%a*)( ?%a*)$')
    redis.call('HSET', KEYS[2], 'epoch', digits(epoch), 'mode', name)
    if limited ~= '' then
        redis.call('HSET', KEYS[2], 'limited', 1)
    end
end

-- Is a product with this mode about to be closed, or closed?
local function is_end(mode)
    return mode == 'closing' or mode == 'closed'
end

-- Returns whether the caller knows the newest epoch, and the epoch known here. If the caller's is
-- newer, the counter learns it. Who takes a product for open that ends in that very epoch does not
-- know it.
local function agrees(epoch, mode)
    local known = redis.call('HMGET', KEYS[2], 'epoch', 'mode')
    local own = tonumber(known[1]) or 0
    if epoch > own then
        learn(epoch, mode)
        redis.call('PERSIST', KEYS[2]) -- what is left of a product that was closed has an end
        return true, own
    end
    return epoch == own and (not is_end(known[2]) or is_end(mode)), own
end

-- Opens a counter for a caller that knows this epoch and mode of the product. Returns what is
-- available; or nil and the answer, also if the counter has learnt of a later epoch.
local function open_shard(now, epoch, mode)
    local known, available = open_counter(now)
    if known == nil then
        return nil, available
    end
    local agreed, own = agrees(tonumber(epoch), mode)
    if not agreed then
        return nil, {0, 'STALE', own}
    end
    return available
end

-- Is the product, as far as this counter knows, about to be closed, or closed? Then no stock comes
-- or goes any more.
local function is_shut()
    return is_end(redis.call('HGET', KEYS[2], 'mode'))
end

-- Was this counter wiped in that epoch or a later one? Then a step of a transfer that the caller
-- began in that epoch is of a product that was closed; one of that name that is here by now has
-- nothing to do with it. Without an epoch nothing is known.
local function was_wiped_since(epoch)
    local wiped = epoch and tonumber(redis.call('HGET', KEYS[2], 'wiped'))
    return wiped and wiped >= tonumber(epoch)
end

-- Returns until when this counter remembers that an order was given back here, and until when it
-- knows that what the other one remembers does not count; 0 where it does not.
local function remembered(order)
    local known = find_order(order)
    if not known or known.state ~= GIVEN then
        return 0, 0
    elseif known.hides_until then
        return 0, known.hides_until
    end
    return tonumber(redis.call('ZSCORE', KEYS[4], order)) or 0, 0
end

-- Returns a number above `last`, which grows even if Redis lost the last one in a failover.
local function next_number(last, now)
    return math.max(last + 1, now * 1000)
end

-- What is moved is counted modulo 2^53: differences up to half of that stay right after it has
-- wrapped, and no transfer is larger.
local HALF = 2 ^ 52

-- Returns by how much the count `a` is ahead of `b`; negative if it is behind.
local function ahead(a, b)
    local difference = a - b
    if difference >= HALF then
        return difference - 2 * HALF
    elseif difference < -HALF then
        return difference + 2 * HALF
    end
    return difference
end

-- Adds to a count in a hash. Returns what it is then.
local function count_moved(key, field, quantity)
    local moved = tonumber(redis.call('HGET', key, field)) or 0
    local room = limits.HF_INTEGER_MAX - moved
    moved = quantity <= room and moved + quantity or quantity - room - 1
    redis.call('HSET', key, field, digits(moved))
    return moved
end

-- The fields of the two counts of what went from a source to a destination.
local function sent_to(destination)
    return 'to ' .. destination
end

local function arrived_from(source)
    return 'from ' .. source
end

-- Returns what is available here; a shard that never had any has no key.
local function available_here()
    return tonumber(redis.call('GET', KEYS[1])) or 0
end
