-- SPDX-License-Identifier: Apache-2.0
-- SEATS.USER: how many seats a user holds in an event, with those that expired less than a minute
-- ago, and how many are confirmed.
--
-- KEYS[1] user:reservations:{$event}:$user  integer, what counts against the user's limit
-- KEYS[2] user:confirmed:{$event}:$user     string, "confirmed lifetime" (parts/booking.lua)
-- KEYS[3] seats:due:{$event}                sorted set, what falls due when (parts/seats.lua)
-- ARGV    none
-- Returns {held, confirmed}
-- Refuses nothing
-- Errors  AGAIN
-- batch: seats
-- uses: clock expiry slot common seats booking

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local late = refuse_due(KEYS[3], now_ms())
if late then
    return late
end

local figures = redis.call('MGET', KEYS[1], KEYS[2])
local confirmed, lifetime = confirmed_seats(figures[2])
return {tonumber(figures[1] or 0) - lifetime, confirmed}
