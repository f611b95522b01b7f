-- SPDX-License-Identifier: Apache-2.0
-- How long after the last moment a script looks at a record Redis may remove it.
local GARBAGE_AFTER_MS = 60000

-- The answer when more than that was due: the state is not yet what the caller has to see.
local function again()
    return redis.error_reply('AGAIN more fell due than one call returns: call again')
end

-- How a refusal ends of an id that is in use with other arguments.
local ANOTHER_ID = ': another request needs another id'

-- Says which argument differs: as it is, and as it was given. Texts are put in quotes; a number may
-- have a unit.
local function differs(what, argument, is, given, unit)
    local form = type(is) == 'string' and '%s with %s "%s", not "%s"'
        or '%s with %s %.0f' .. (unit or '') .. ', not %.0f' .. (unit or '')
    return string.format(form, what, argument, is, given) .. ANOTHER_ID
end

-- Seconds, possibly with a fraction, as whole milliseconds.
local function to_ms(seconds)
    local ms = math.floor((tonumber(seconds) or 0) * 1000 + 0.5)
    if not (ms >= 1 and ms <= limits.HF_TTL_MAX_MS) then
        error('a duration is from 1 ms to 30 days, in seconds')
    end
    return ms
end

-- A whole number in full: what Lua itself writes has 14 digits.
local function digits(number)
    return string.format('%.0f', number)
end
