-- SPDX-License-Identifier: Apache-2.0
-- SEATS.GET: one booking.
--
-- KEYS[1] reservation:{$event}:$booking  hash, the booking (parts/booking.lua)
-- KEYS[2] seats:due:{$event}             sorted set, what falls due when (parts/seats.lua)
-- ARGV[1] booking
-- Returns each field and its value: booking_id, user_id, zone_id, event_id, show_id, quantity,
--         unit_price, status, created_at, expires_at, and once it is confirmed also confirmed_at,
--         payment_id, confirmation_code
-- Refuses RESERVATION_NOT_FOUND
-- Errors  AGAIN
-- uses: clock common seats booking booking_fields

local now = now_ms()
if reclaim_seats(KEYS[2], digits(now), limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local booking = find_booking(KEYS[1], now)
if not booking or booking.closed_at then
    return {0, 'RESERVATION_NOT_FOUND', errors.RESERVATION_NOT_FOUND}
end
return booking_fields(booking)
