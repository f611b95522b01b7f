-- SPDX-License-Identifier: Apache-2.0
-- When Redis deletes keys that other programs read, by itself. Tests, whose clock is not that of
-- Redis, stretch it; deadlines are kept beside it. At such a moment Redis still has the key, and a
-- script that reads the clock finds its deadline passed: nothing vanishes that is not due.

-- Returns for how long Redis has to keep a key that lives for so many milliseconds.
local function redis_ttl(ms)
    return ms
end

-- Returns until when Redis has to keep a key that lives until a time in milliseconds, which is a
-- number or in digits.
local function redis_time(at)
    return at
end
