-- SPDX-License-Identifier: Apache-2.0
-- The time a test gives, in milliseconds since the epoch, behind all other arguments but that of
-- due_share(). Only tests are put together with this part: the scripts of the program ask Redis.
-- once a batch: now_ms
local function now_ms()
    return tonumber(ARGV[#ARGV]) or tonumber(ARGV[#ARGV - 1])
end

local function now_us()
    return now_ms() * 1000
end
