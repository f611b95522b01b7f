-- SPDX-License-Identifier: Apache-2.0
-- The release script as teams write it by hand, beside bench/reserve_usual.lua.
-- KEYS zone availability, user reservations, reservation; ARGV booking, user
local booking = redis.call('HMGET', KEYS[3], 'status', 'quantity')
if not booking[1] then
    return {0, 'RESERVATION_NOT_FOUND', 'Reservation not found'}
end
if booking[1] ~= 'reserved' then
    return {0, 'INVALID_STATE', 'Reservation is ' .. booking[1]}
end
local available = redis.call('INCRBY', KEYS[1], booking[2])
local reserved = redis.call('DECRBY', KEYS[2], booking[2])
redis.call('DEL', KEYS[3])
return {1, 'SUCCESS', available, reserved}
