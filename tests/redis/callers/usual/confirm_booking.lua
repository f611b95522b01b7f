-- SPDX-License-Identifier: Apache-2.0
-- The confirm script as teams write it by hand, beside bench/reserve_usual.lua.
-- KEYS reservation, user reservations; ARGV booking, user, payment, code
local status = redis.call('HGET', KEYS[1], 'status')
if not status then
    return {0, 'RESERVATION_NOT_FOUND', 'Reservation not found'}
end
if status ~= 'reserved' then
    return {0, 'INVALID_STATE', 'Reservation is ' .. status}
end
redis.call('HSET', KEYS[1], 'status', 'confirmed', 'payment_id', ARGV[3], 'confirmation_code', ARGV[4])
redis.call('PERSIST', KEYS[1])
redis.call('DEL', KEYS[2])
return {1, 'CONFIRMED', ARGV[4]}
