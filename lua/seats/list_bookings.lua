-- SPDX-License-Identifier: Apache-2.0
-- SEATS.LIST: the bookings of an event that are reserved or confirmed, a page at a time, in the
-- order of their ids. A page looks at limits.PAGE_SCRIPT_LOOKS records at most, fewer if the call
-- gave something back, so it may be short, or empty, and have a cursor.
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
-- Derives reservation:{$event}:$booking of the bookings, seats:rules:{$event}
-- uses: clock expiry slot common seats listing booking booking_fields page

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local zone, user, status, after = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if after ~= '' and after:sub(1, 1) ~= ':' then
    return no_cursor(after)
end
local now = now_ms()
local more, given_back = reclaim_seats(KEYS[2], digits(now))
if more > 0 then
    return again()
end

local key, wanted = keys_beside(KEYS[2]), tonumber(ARGV[5])
if not complete_names(KEYS[2], key) then
    return again()
end
local from = after == '' and '-' or '(' .. after:sub(2)
local looks = page_looks(given_back)
local names = redis.call('ZRANGEBYLEX', KEYS[1], from, '+', 'LIMIT', 0, looks + 1)
local page, looked = {''}, 0
for _, name in ipairs(names) do
    if looked == looks or #page > wanted then
        break
    end
    looked = looked + 1
    local booking = find_booking(key('reservation', name), now, key)
    if booking and not booking.closed_at and (zone == '' or zone == booking.zone_id)
        and (user == '' or user == booking.user_id)
        and (status == 'any' or status == booking.status) then
        page[#page + 1] = booking_fields(booking)
    end
end
if looked < #names then
    page[1] = ':' .. names[looked]
end
return page
