-- SPDX-License-Identifier: Apache-2.0
-- Returns what there is to tell of a booking, as parts/booking.lua finds it: each field and its
-- value.
local function booking_fields(booking)
    local fields = {
        'booking_id', booking.booking_id, 'user_id', booking.user_id or '',
        'zone_id', booking.zone_id or '',
        'event_id', booking.event_id, 'show_id', booking.show_id or '',
        'quantity', tonumber(booking.quantity) or 0,
        'unit_price', tonumber(booking.unit_price) or 0,
        'status', booking.status, 'created_at', tonumber(booking.created_at) or 0,
        'expires_at', tonumber(booking.expires_at) or 0,
    }
    if booking.status == 'confirmed' then
        for _, word in ipairs({'confirmed_at', tonumber(booking.confirmed_at) or 0,
            'payment_id', booking.payment_id or '',
            'confirmation_code', booking.confirmation_code or ''}) do
            fields[#fields + 1] = word
        end
    end
    return fields
end
