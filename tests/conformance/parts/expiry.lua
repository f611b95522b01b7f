-- SPDX-License-Identifier: Apache-2.0
-- The clock of a test is not that of Redis, which must not remove by its own what a test still
-- takes for alive: an hour is longer than any test.
local function redis_ttl(ms)
    return ms + 3600000
end
