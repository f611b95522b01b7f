-- SPDX-License-Identifier: Apache-2.0
-- Helpers that every family needs.

-- Redis may remove a record this long after the last moment at which a script needs it.
local GARBAGE_AFTER_MS = 60000

-- Returns the answer of a script that found more due than one call gives back: the state is not yet
-- what the caller has to see.
local function again()
    return redis.error_reply('AGAIN more fell due than one call returns: call again')
end

-- Returns how many to give back of so many that are due: all of them, or fewer, and then the script
-- has to answer AGAIN. The engine puts a word that no text has, since no UTF-8 begins so, behind
-- the arguments of a call that it sends while others of the same scope are in flight. Should one of
-- these answer AGAIN it leaves more than limits.RECLAIMED_BEHIND, and so does every call behind it,
-- which by that knows to answer the same: none is carried out before one that was sent before it.
-- With a `limit` it is that many at most; a call that is behind no other may leave any number then,
-- since it does not answer AGAIN.
local function due_share(due, limit)
    local behind = ARGV[#ARGV] == '\255behind'
    local most = limit or limits.RECLAIMED_AT_ONCE
    if limit and not behind or due <= (behind and limits.RECLAIMED_BEHIND or most) then
        return math.min(due, most)
    end
    return math.min(most, due - limits.RECLAIMED_BEHIND - 1)
end

-- The end of a refusal of an id that is in use with other arguments.
local ANOTHER_ID = ': another request needs another id'

-- Returns a message that names the argument that differs, as it is stored and as it was given.
-- Texts are put in quotes; a number may have a unit.
local function differs(what, argument, is, given, unit)
    local form = type(is) == 'string' and '%s with %s "%s", not "%s"'
        or '%s with %s %.0f' .. (unit or '') .. ', not %.0f' .. (unit or '')
    return string.format(form, what, argument, is, given) .. ANOTHER_ID
end

-- Returns seconds, which may have a fraction, as whole milliseconds.
local function to_ms(seconds)
    local ms = math.floor((tonumber(seconds) or 0) * 1000 + 0.5)
    if not (ms >= 1 and ms <= limits.HF_TTL_MAX_MS) then
        error('a duration is from 1 ms to 30 days, in seconds')
    end
    return ms
end

-- The same for a program that calls with what it gave the scripts of the field: an empty or missing
-- duration is the default, if there is one, and one longer than 30 days is 30 days.
local function capped_ms(seconds, default_ms)
    if default_ms and (seconds or '') == '' then
        return default_ms
    end
    return to_ms(math.min(tonumber(seconds) or 0, limits.HF_TTL_MAX_MS / 1000))
end

-- Returns a whole number in full: Lua's own conversion stops at 14 digits.
local function digits(number)
    return string.format('%.0f', number)
end
