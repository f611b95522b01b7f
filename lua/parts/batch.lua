-- SPDX-License-Identifier: Apache-2.0
-- The end of a script that carries out a batch of calls (parts/batch_items.lua is its beginning):
-- `all_parts().operations` has the function for each kind of item, and `runs` for some kinds one
-- that carries out the first items of a run together, which does less than one after the other.
-- Returns the replies in one flat list, since a list in a list costs Redis more than what is in it: of each item
-- how many elements its reply has, and these; or -1 and what it replied instead of a list, which may
-- be an error; or -2, and the second and third element of a reply that is otherwise the one before.
--
-- Each item is whole by itself: what ends one in an error ends no other. After an item that answers
-- AGAIN all others do: giving back what fell due must not take long.

-- Returns the error of an item that failed, which reads as it would alone: Redis 7 begins with what
-- the command replied and says at the end where in the script that was; before, it is the other way
-- round. By that the client tells it from an error that a script answered with.
local function failed(problem)
    local text = type(problem) == 'table' and problem.err or tostring(problem)
    if text:find('^%u+ ') then
        return {err = text .. ' script: batch, on @user_script'}
    end
    return {err = 'ERR Error running script (batch): ' .. text}
end

local size, busy = 0, nil
local replies = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
    nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}

-- Adds the reply of an item.
local function add_reply(reply)
    if type(reply) == 'table' and not reply.err then
        local head = size + 1
        size = head
        for i = 1, #reply do
            size = size + 1
            replies[size] = reply[i]
        end
        replies[head] = size - head
        return
    end
    if type(reply) == 'table' and reply.err:find('^%-?AGAIN') then
        busy = reply
    end
    replies[size + 1] = -1
    replies[size + 2] = reply or false -- a hole would end the list
    size = size + 2
end

local function carry_out(item)
    if busy then
        return busy
    end
    KEYS, ARGV = item.keys, item.args -- as parts see them
    local fine, reply = pcall(all_parts().operations[item.letter], KEYS, ARGV)
    return fine and reply or not fine and failed(reply)
end

-- Carries out the first items of a run together. Returns how many. If that fails before anything
-- was changed it is none, and each gets its own answer; behind a change, which takes a foreign key
-- in the way, the failure is the answer of all.
local function carry_out_run(items, most)
    batch.has_changed = false
    local fine, done, new_size, again = pcall(runs[items.letter], items, most, replies, size)
    if fine then
        size, busy = new_size, again
        return done
    elseif not batch.has_changed then
        return 0
    end
    for i = #replies, size + 1, -1 do
        replies[i] = nil -- of those that went well before it
    end
    for _ = 1, most do
        add_reply(failed(done))
    end
    return most
end

-- What is left of a run is tried together again behind an item that has to be alone, but seldom:
-- each time the rest is read anew.
local TOGETHER_MAX = 3
while kind do
    local tries = 0
    while count > 0 do
        if runs[kind.letter] and count > 1 and not busy and tries < TOGETHER_MAX then
            tries = tries + 1
            local done = carry_out_run(kind, count)
            batch.skip(kind, done)
            count = count - done
        end
        if count > 0 then
            batch.fill_item(kind)
            add_reply(carry_out(kind))
            batch.skip(kind, 1)
            count = count - 1
        end
    end
    kind, count = batch.next_run()
end
return replies
