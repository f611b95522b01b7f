-- SPDX-License-Identifier: Apache-2.0
-- The lock script as teams write it by hand. KEYS seat:locked:SEAT; ARGV lock id, seconds
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then
    return ARGV[1]
end
return redis.call('GET', KEYS[1]) == ARGV[1] and ARGV[1]
