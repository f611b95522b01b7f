-- SPDX-License-Identifier: Apache-2.0
-- How long Redis keeps a key that lives for so many milliseconds and that other programs look at.
-- Tests, whose clock is not that of Redis, stretch it; deadlines are kept beside it.
local function redis_ttl(ms)
    return ms
end
