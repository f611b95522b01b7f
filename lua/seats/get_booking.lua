-- SPDX-License-Identifier: Apache-2.0
-- SEATS.GET: one booking.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua);
--                                        made from KEYS[1] if it is not given
-- ARGV[1] booking
-- Returns each field and its value: booking_id, user_id, zone_id, event_id, show_id, quantity,
--         unit_price, status, created_at, expires_at, and once it is confirmed also confirmed_at,
--         payment_id, confirmation_code
-- Refuses RESERVATION_NOT_FOUND, INVALID_ARGUMENT; BUSY without KEYS[2]
-- Errors  AGAIN
-- batch: seats
-- uses: clock expiry slot common seats booking booking_fields

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
local booking, key = open_booking(KEYS[1], KEYS[2], now)
if not booking then
    return key
end
if booking.closed_at then
    return no_booking()
end
return booking_fields(booking)
