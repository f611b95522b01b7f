-- SPDX-License-Identifier: Apache-2.0
-- A page of a list, in the order of names. They stand in a sorted set, all with score 0, so that a
-- name that comes or goes moves no other. The cursor is a colon and the last name of the page.

-- Returns how many records a call may look at that gave back so many that were due.
local function page_looks(given_back)
    return math.max(1, limits.PAGE_SCRIPT_LOOKS - given_back)
end

-- Returns up to `count` names behind a cursor, and the cursor of the page, which is empty at the
-- end; or nil if `after` is no cursor. Looks at limits.PAGE_SCRIPT_LOOKS names at most, at fewer if
-- the call gave something back.
local function page_names(key, after, count, given_back)
    if after ~= '' and after:sub(1, 1) ~= ':' then
        return nil
    end
    local from = after == '' and '-' or '(' .. after:sub(2)
    local most = math.min(tonumber(count) or limits.PAGE_DEFAULT, page_looks(given_back))
    local names = redis.call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, most + 1)
    if #names <= most then
        return names, ''
    end
    names[#names] = nil
    return names, ':' .. names[#names]
end

local function no_cursor(after)
    return {0, 'INVALID_ARGUMENT', string.format('AFTER "%s" is no cursor of this list: '
        .. 'begin without it, or with what a page ended with', after)}
end
