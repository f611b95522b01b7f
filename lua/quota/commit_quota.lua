-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.COMMIT: a hold becomes usage. Again within the retry window: the same answer, with current
-- figures.
--
-- KEYS[1] quota:tenant:T:used   integer: committed and held together
-- KEYS[2] quota:tenant:T:limit  integer
-- KEYS[3] quota:tenant:T:held   integer
-- KEYS[4] quota:tenant:T:holds  hash: hold to "amount ttl_ms"
-- KEYS[5] quota:tenant:T:due    sorted set, holds by deadline
-- KEYS[6] quota:closed:{T}:H    how the hold ended, for the retry window
-- ARGV[1] hold
-- Reply   {1, used, limit}
-- Errors  HOLD_NOT_FOUND
-- uses: clock common quota expiry quota_hold

local hold = ARGV[1]
local now = now_ms()
if not tenant_is_current(now) then
    return again()
end

local amount, ttl_ms = open_hold(hold)
if amount then
    close_hold(KEYS[6], hold, 'committed', amount, ttl_ms, now)
elseif closed_hold(KEYS[6], now) ~= 'committed' then
    return no_hold()
end
return quota_answer()
