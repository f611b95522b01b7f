-- SPDX-License-Identifier: Apache-2.0
-- SEATS.LIST: the bookings of an event that are reserved or confirmed, a page at a time, in the
-- order of their ids. A page looks at LOOKS records at most, so it may be short, or empty, and have
-- a cursor.
--
-- KEYS[1] seats:bookings:{$event}  sorted set, the names of the bookings
-- KEYS[2] seats:due:{$event}       sorted set, what falls due when (parts/seats.lua)
-- ARGV[1] zone    only bookings in this zone, or empty
-- ARGV[2] user    only this user's, or empty
-- ARGV[3] status  only reserved or only confirmed ones; any: both
-- ARGV[4] after   the cursor of the page before, or empty
-- ARGV[5] count   how many at most
-- Returns {cursor, {field, value, …}, …}, the fields as get_booking.lua has them. The cursor is a
--         colon and the last id that was looked at, or empty at the end
-- Refuses INVALID_ARGUMENT for what is no cursor
-- Errors  AGAIN
-- Derives reservation:{$event}:$booking of the bookings
-- uses: clock common seats booking booking_fields

local LOOKS = 200
local zone, user, status, after = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if after ~= '' and after:sub(1, 1) ~= ':' then
    return {0, 'INVALID_ARGUMENT', 'AFTER "' .. after .. '" is no cursor of this list: begin '
        .. 'without it, or with what a page ended with'}
end
local now = now_ms()
if reclaim_seats(KEYS[2], digits(now), limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local from = after == '' and '-' or '(' .. after:sub(2)
local names = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, LOOKS)
local key, wanted = event_keys(KEYS[2]), tonumber(ARGV[5])
local page, looked = {''}, 0
for _, name in ipairs(names) do
    if #page > wanted then
        break
    end
    looked = looked + 1
    local booking = find_booking(key('reservation', name), now)
    if booking and not booking.closed_at and (zone == '' or zone == booking.zone_id)
        and (user == '' or user == booking.user_id)
        and (status == 'any' or status == booking.status) then
        page[#page + 1] = booking_fields(booking)
    end
end
if looked < #names or looked == LOOKS then
    page[1] = ':' .. names[looked]
end
return page
