-- SPDX-License-Identifier: Apache-2.0
-- The time a test gives, as in clock.lua, and its way to keep Redis from removing keys, as in
-- expiry.lua, for a script that would ask Redis itself.
-- in a batch: local told_ms, told_until = now_ms, redis_time
local function told_ms()
    return tonumber(ARGV[#ARGV]) or tonumber(ARGV[#ARGV - 1])
end

local function told_until(at)
    return '9' .. string.format('%.0f', at):sub(2)
end
