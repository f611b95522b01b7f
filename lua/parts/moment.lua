-- SPDX-License-Identifier: Apache-2.0
-- Who tells the time to a script that is called so often that it asks Redis itself, rather than by
-- the functions of parts/clock.lua and parts/expiry.lua: nobody. In a batch, where time stands
-- still, and in tests, which have their own, it is those functions.
-- in a batch: local told_ms, told_until = now_ms, redis_time
local told_ms, told_until = nil, nil
