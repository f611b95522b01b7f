-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.COMMIT: a hold becomes usage, or as much of it as was really used. Within the retry window
-- the same call gets the same answer, with current figures.
--
-- KEYS[1] quota:tenant:$tenant:used     integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit    integer
-- KEYS[3] quota:tenant:$tenant:held     integer
-- KEYS[4] quota:tenant:$tenant:holds    hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due      sorted set, holds by deadline
-- KEYS[6] quota:closed:{$tenant}:$hold  string, how the hold ended, for the retry window
-- ARGV[1] hold
-- ARGV[2] amount  what was really used; all of the hold if it is empty or missing
-- Returns {1, used, limit}
-- Refuses HOLD_NOT_FOUND, INVALID_AMOUNT; QUOTA_EXCEEDED if it is more than was held and than the
--         limit allows; INVALID_STATE if the hold is committed with another amount
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name; quota:tenant:$tenant:ended, which
--         stands for the last CLOSE; quota:tenant:$tenant:commits, what was committed lately
-- batch: quota
-- uses: slot clock common quota expiry quota_hold quota_commits

local hold, given = ARGV[1], ARGV[2] or ''
local closed_key = key_of_closed(hold)
local wanted = given ~= '' and checked_amount(given, 0)
if given ~= '' and not wanted then
    return invalid_amount()
end
local now = now_ms()
local problem = enter_tenant(now)
if problem then
    return problem
end

local amount, ttl_ms = open_hold(hold)
if amount then
    local used, limit = figures()
    local more = (wanted or amount) - amount
    if more > 0 and more > limit - used then
        return {0, 'QUOTA_EXCEEDED', string.format(
            '%.0f used of %.0f, %.0f more requested than is held: commit less, or raise the limit; '
            .. 'the hold stays open', used, limit, more)}
    end
    close_hold(closed_key, hold, 'committed', amount, ttl_ms, wanted or amount, now)
    note_commit(wanted or amount, now)
    return {1, used + more, limit}
end
local how, held, _, committed = closed_hold(closed_key, now)
if how ~= 'committed' then
    return no_hold()
elseif committed ~= (wanted or held) then
    return {0, 'INVALID_STATE', string.format(
        'the hold is committed with amount %.0f, not %.0f: refund or reserve the rest',
        committed, wanted or held)}
end
return quota_answer()
