-- SPDX-License-Identifier: Apache-2.0
-- The unlock script as teams write it by hand. KEYS seat:locked:SEAT; ARGV lock id
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
