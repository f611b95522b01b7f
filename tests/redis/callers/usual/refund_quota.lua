-- SPDX-License-Identifier: Apache-2.0
-- The refund script as teams write it by hand. KEYS used; ARGV amount
local used = redis.call('DECRBY', KEYS[1], ARGV[1])
if used < 0 then
    redis.call('SET', KEYS[1], 0)
    return 0
end
return used
