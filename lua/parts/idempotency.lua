-- SPDX-License-Identifier: Apache-2.0
-- A key of idempotency is a hash: state (processing, completed), fingerprint, deadline and, once
-- completed, the response. The deadline decides; Redis removes a key that is long past it.

-- Returns state and fingerprint, nil if the key is unknown. A key past its deadline is removed.
local function find_request(now)
    local known = redis.call('HMGET', KEYS[1], 'state', 'fingerprint', 'deadline')
    if not known[1] then
        return nil
    end
    if tonumber(known[3]) <= now then
        redis.call('DEL', KEYS[1])
        return nil
    end
    return known[1], known[2]
end

-- Writes fields of the request, and its deadline.
local function write_request(now, ttl_ms, ...)
    redis.call('HSET', KEYS[1], 'deadline', digits(now + ttl_ms), ...)
    redis.call('PEXPIRE', KEYS[1], digits(ttl_ms + GARBAGE_AFTER_MS))
end
