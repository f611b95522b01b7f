-- SPDX-License-Identifier: Apache-2.0
-- Returns what there is to tell of a booking, as parts/booking.lua finds it: each field and its
-- value.
local function booking_fields(booking)
    local fields = {
        'booking_id', booking.booking_id, 'user_id', booking.user_id, 'zone_id', booking.zone_id,
        'event_id', booking.event_id, 'show_id', booking.show_id,
        'quantity', tonumber(booking.quantity), 'unit_price', tonumber(booking.unit_price) or 0,
        'status', booking.status, 'created_at', tonumber(booking.created_at),
        'expires_at', tonumber(booking.expires_at),
    }
    if booking.status == 'confirmed' then
        for _, word in ipairs({'confirmed_at', tonumber(booking.confirmed_at),
            'payment_id', booking.payment_id, 'confirmation_code', booking.confirmation_code}) do
            fields[#fields + 1] = word
        end
    end
    return fields
end
