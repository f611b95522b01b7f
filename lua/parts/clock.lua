-- SPDX-License-Identifier: Apache-2.0
-- The time, in milliseconds since the epoch: that of the Redis server, never a client's.
-- once a batch: now_ms
local function now_ms()
    local time = redis.call('TIME')
    local ms = time[2] / 1000
    return time[1] * 1000 + (ms - ms % 1)
end

-- In microseconds, of which no two calls have the same: what fences go on from where the last one
-- is lost.
local function now_us()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end
