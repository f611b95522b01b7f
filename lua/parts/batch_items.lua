-- SPDX-License-Identifier: Apache-2.0
-- The beginning of a script that carries out a batch of calls of one scope, which are its items.
-- Items of one script are of one kind. A key or an argument that all items of a kind have in common
-- is given once, the others for each item. Items of one kind that follow each other are a run; no
-- two items of a run have the same key, but for those in common.
--
-- KEYS      of each kind the keys in common, then of each item its own
-- ARGV[1]   each kind: its letter, for each key and behind a colon for each argument s if they have
--           it in common and v if it varies, and a semicolon: "Asvv:vs;"
-- ARGV[2]   the letter of each item, in order; a space ends a run
-- ARGV[3..] as the keys; behind them may stand the word of due_share(), which
--           each item then has
--
-- An instruction of Lua costs Redis as much as a hundredth of a command, and a table that grows as
-- much as two: so the tables are the same for all items of a kind. And those whose size is known have
-- room from the beginning, by a nil for each of their elements.
local batch = {keys = KEYS, args = ARGV, key_at = 0, arg_at = 2, -- the last that were used
    next_run = false, fill_item = false, skip = false, has_changed = false}
do
    local byte, sequence, kinds, at = string.byte, ARGV[2], {}, 0
    local behind = ARGV[#ARGV] == '\255behind' and ARGV[#ARGV]

    -- Returns a list with what items have in common, and the places where their own goes.
    local function fill(marks, from, last)
        local list = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
        local places = {nil, nil, nil, nil}
        for i = 1, #marks do
            if byte(marks, i) == 115 then -- s
                last = last + 1
                list[i] = from[last]
            else
                list[i] = false
                places[#places + 1] = i
            end
        end
        return list, places, last
    end
    for letter, keys, args in ARGV[1]:gmatch('(%u)(%l*):(%l*);') do
        local kind = {letter = byte(letter), key_marks = keys, arg_marks = args, keys = false,
            args = false, key_places = false, arg_places = false}
        kind.keys, kind.key_places, batch.key_at = fill(keys, KEYS, batch.key_at)
        kind.args, kind.arg_places, batch.arg_at = fill(args, ARGV, batch.arg_at)
        if behind then
            kind.args[#args + 1] = behind
        end
        kinds[kind.letter] = kind
    end

    -- Returns the kind of the next run and how many items it has, or nil. Its keys and arguments
    -- are those of the first item.
    function batch.next_run()
        if byte(sequence, at + 1) == 32 then
            at = at + 1
        end
        local kind = kinds[byte(sequence, at + 1)]
        if not kind then
            return nil
        end
        local last = at + 1
        while byte(sequence, last + 1) == kind.letter do
            last = last + 1
        end
        local count = last - at
        at = last
        batch.fill_item(kind)
        return kind, count
    end

    -- Puts the keys and arguments of the next item into the tables of its kind.
    function batch.fill_item(kind)
        local keys, places, from, last = kind.keys, kind.key_places, batch.keys, batch.key_at
        for i = 1, #places do
            keys[places[i]] = from[last + i]
        end
        local args, arg_places, from_args, last_arg =
            kind.args, kind.arg_places, batch.args, batch.arg_at
        for i = 1, #arg_places do
            args[arg_places[i]] = from_args[last_arg + i]
        end
    end

    -- So many items of the kind are done.
    function batch.skip(kind, count)
        batch.key_at = batch.key_at + count * #kind.key_places
        batch.arg_at = batch.arg_at + count * #kind.arg_places
    end
end
-- Parts see the keys and arguments of each item in turn; what they do before, with those of the
-- first, may use what all have in common.
local kind, count = batch.next_run()
local KEYS, ARGV = kind.keys, kind.args
