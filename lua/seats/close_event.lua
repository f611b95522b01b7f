-- SPDX-License-Identifier: Apache-2.0
-- SEATS.CLOSE: the event is over. It is closed in one step, in which nothing is reserved, nor
-- confirmed unless force is 1: from then on an entry among the deadlines says that it was, and
-- every script of the event removes some of what is left before it looks at anything. The seats of
-- more than limits.CLOSED_AT_ONCE zones are summed up in several calls; a reserve in between makes
-- them begin anew.
--
-- KEYS[1] seats:due:{$event}       sorted set, what falls due when (parts/seats.lua)
-- KEYS[2] seats:rules:{$event}     hash; its field closing says how far the sum is
-- KEYS[3] seats:bookings:{$event}  sorted set, the names of the bookings
-- KEYS[4] seats:zones:{$event}     sorted set, the names of the zones
-- ARGV[1] force     1: confirmed bookings are removed, too
-- Returns {1, bookings, zones}: those that there were
-- Refuses INVALID_STATE
-- Errors  AGAIN
-- Derives zone:availability:{$event}:$zone and zone:totals:{$event}:$zone of the zones,
--         reservation:{$event}:$booking, user:reservations:{$event}:$user and
--         user:confirmed:{$event}:$user of the bookings, seats:closed:{$event}
-- uses: clock expiry slot common seats

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = digits(now_ms())
local more, _, _, changed = reclaim_seats(KEYS[1], now)
if changed or more > 0 then -- the rest is for a call that has nothing else to do
    return again()
end

local key = keys_beside(KEYS[1])
local sum = redis.call('HGET', KEYS[2], 'closing')
local reserved, confirmed, last = (sum or '0 0 '):match('^(%d+) (%d+) (.*)$')
reserved, confirmed = tonumber(reserved), tonumber(confirmed)
local zones = redis.call('ZRANGEBYLEX', KEYS[4], last == '' and '-' or '(' .. last, '+',
    'LIMIT', 0, limits.CLOSED_AT_ONCE)
for _, zone in ipairs(zones) do
    local totals = redis.call('HMGET', key('zone:totals', zone), 'capacity', 'confirmed')
    local available = tonumber(redis.call('GET', key('zone:availability', zone)) or 0)
    local sold = tonumber(totals[2] or 0)
    reserved = reserved + tonumber(totals[1] or 0) - available - sold
    confirmed = confirmed + sold
end
if #zones == limits.CLOSED_AT_ONCE then
    redis.call('HSET', KEYS[2], 'closing',
        digits(reserved) .. ' ' .. digits(confirmed) .. ' ' .. zones[#zones])
    return again()
end
if sum then
    redis.call('HDEL', KEYS[2], 'closing')
end
if reserved > 0 then
    return {0, 'INVALID_STATE', string.format(
        '%.0f seats are reserved: confirm or release them, or wait until they expire',
        math.min(reserved, limits.HF_INTEGER_MAX))}
end
if confirmed > 0 and ARGV[1] ~= '1' then
    return {0, 'INVALID_STATE', string.format(
        '%.0f seats are confirmed: with FORCE they are removed, too',
        math.min(confirmed, limits.HF_INTEGER_MAX))}
end
local removed = {1, redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4])}
redis.call('ZADD', KEYS[1], 0, 'c')
reclaim_seats(KEYS[1], now) -- an event of a few records is gone with this
return removed
