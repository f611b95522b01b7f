-- SPDX-License-Identifier: Apache-2.0
-- SEATS.USER: how many seats a user holds in an event, with those expired less than a minute ago,
-- and how many are confirmed.
--
-- KEYS[1] user:reservations:{E}:U  integer, what counts against the user's limit
-- KEYS[2] user:confirmed:{E}:U     "confirmed lifetime": seats, and those counting for good
-- KEYS[3] seats:due:{E}            sorted set, what falls due when
-- Reply   {held, confirmed}
-- uses: clock common seats booking

if reclaim_seats(KEYS[3], digits(now_ms()), limits.RECLAIMED_AT_ONCE) > 0 then
    return again()
end

local figures = redis.call('MGET', KEYS[1], KEYS[2])
local confirmed, lifetime = confirmed_seats(figures[2])
return {tonumber(figures[1] or 0) - lifetime, confirmed}
