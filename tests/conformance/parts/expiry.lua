-- SPDX-License-Identifier: Apache-2.0
-- The clock of a test is not that of Redis, which must not remove by its own what a test still
-- takes for alive: an hour is longer than any test, and so is some centuries.
local function redis_ttl(ms)
    return ms + 3600000
end

local function redis_time(at)
    return '9' .. string.format('%.0f', at):sub(2)
end
