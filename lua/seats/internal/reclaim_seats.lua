-- SPDX-License-Identifier: Apache-2.0
-- For the release worker: gives back the seats of expired holds, and takes what expired a minute
-- ago off its users' counts. The commands do that for themselves too, so nobody depends on it.
--
-- KEYS[1] seats:due:{E}  sorted set, what falls due when
-- ARGV[1] how many at most, up to limits.RECLAIMED_AT_ONCE
-- Reply   {how many holds expired, milliseconds until the next is due, how late the first hold
--         was}. 0 until the next: more is due already; -1: nothing is on hold.
--
-- Zones, users and bookings are only known here; their keys zone:availability:{E}:Z,
-- user:reservations:{E}:U and reservation:{E}:B share the slot.
-- uses: clock common worker seats

local now = now_ms()
local _, holds, first_due = reclaim_seats(KEYS[1], digits(now), worker_limit(ARGV[1]))
return worker_answer(KEYS[1], now, holds, first_due)
