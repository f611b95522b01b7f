-- SPDX-License-Identifier: Apache-2.0
-- The quota script as teams write it by hand. KEYS used, limit; ARGV amount
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local limit = tonumber(redis.call('GET', KEYS[2]) or '0')
if used + tonumber(ARGV[1]) > limit then
    return {-1, used, limit}
end
return {1, redis.call('INCRBY', KEYS[1], ARGV[1]), limit}
