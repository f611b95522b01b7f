-- SPDX-License-Identifier: Apache-2.0
-- Returns for how long Redis has to keep a key that lives for so many milliseconds and that other
-- programs read. Tests, whose clock is not that of Redis, stretch it; deadlines are kept beside it.
local function redis_ttl(ms)
    return ms
end
