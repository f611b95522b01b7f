-- SPDX-License-Identifier: Apache-2.0
-- A cluster moves a slot from one node to another key by key. A script that ran meanwhile, on
-- either node, would find some keys of its scope and miss others, and Redis would end it in the
-- middle, with half of its changes made. So every script begins with one read of two keys or more,
-- of which one is missing, most often because it never exists: as long as a slot moves, both nodes
-- refuse such a read. Once it was answered all keys of the slot are here, to the end of the script.
--
-- No key ends in braces that hold a digit, since no id has braces. Behind a key with a hash tag
-- they stay in its slot. Behind one without they are tags of their own, of two slots: a cluster
-- refuses scripts that are called with such keys, since those made from them could be anywhere.
-- once a batch: refuse_moving

-- Returns the error to answer with, from the one that the first read met.
local function not_here(key, problem)
    if not problem.err:find('non local', 1, true)
        and not problem.err:find('rehashing of the slot', 1, true) -- Valkey's words for it
        and not problem.err:find('same slot', 1, true) then
        return problem
    end
    if key:find('{[^{}]+}') then
        return redis.error_reply('TRYAGAIN the slot of these keys is moving; nothing was changed')
    end
    return redis.error_reply(
        'CROSSSLOT on a cluster the scope stands in braces in every key; nothing was changed')
end

-- The first read of a script that has no better one. Returns the error to answer with, or nil.
local function refuse_moving(key)
    local found = redis.pcall('EXISTS', key .. '{0}', key .. '{1}')
    return type(found) == 'table' and not_here(key, found) or nil
end
