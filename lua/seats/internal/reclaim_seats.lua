-- SPDX-License-Identifier: Apache-2.0
-- Release worker: gives back the seats of expired holds, and takes what expired a minute ago off
-- its users' counts. The commands do the same for themselves: nothing depends on this script being
-- called.
--
-- KEYS[1] seats:due:{$event}  sorted set, what falls due when (parts/seats.lua)
-- ARGV[1] limit  how many at most, up to limits.RECLAIMED_AT_ONCE
-- Returns {how many holds expired, milliseconds until the next is due, how late the first hold
--         was}. 0 until the next: more is due already; -1: nothing is on hold.
-- Refuses nothing
-- Errors  none
-- Derives zone:availability:{$event}:$zone, user:reservations:{$event}:$user and
--         reservation:{$event}:$booking of what expired, seats:bookings:{$event}
-- uses: clock expiry slot common worker seats

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
local _, holds, first_due = reclaim_seats(KEYS[1], digits(now), worker_limit(ARGV[1]))
return worker_answer(KEYS[1], now, holds, first_due)
