-- SPDX-License-Identifier: Apache-2.0
-- Release worker: entries past their deadline leave the line of an event, and passes past theirs
-- their place inside. The commands do the same for themselves: nothing depends on this script being
-- called.
--
-- KEYS[1] queue:$event        sorted set, users by arrival
-- KEYS[2] queue:due:{$event}  sorted set, users by the deadline of their entry
-- ARGV[1] limit  how many at most, up to limits.RECLAIMED_AT_ONCE
-- Returns {how many left, milliseconds until the next is due, how late the first was}. 0 until the
--         next: more are due already; -1: nobody is in line.
-- Refuses nothing
-- Errors  none
-- Derives queue:passes:{$event}, and queue:user:{$event}:$user of those whose pass is over
-- uses: slot clock common worker room

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local now = now_ms()
local keys = room_keys(KEYS[1], KEYS[2])
local count, first_due = lapse_entries(keys, now, worker_limit(ARGV[1]))
lapse_passes(keys, now, worker_limit(ARGV[1]))
return worker_answer(KEYS[2], now, count, first_due)
