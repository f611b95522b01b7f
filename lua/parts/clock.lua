-- SPDX-License-Identifier: Apache-2.0
-- The time, in milliseconds since the epoch: that of the Redis server, never a client's.
local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end
