-- SPDX-License-Identifier: Apache-2.0
-- IDEM.COMPLETE: the answer to a request, for retries of it.
--
-- KEYS[1] idemp:$key  hash: state, fingerprint, deadline, response
-- ARGV[1] response  any bytes
-- ARGV[2] ttl       how long it is kept, in seconds
-- Returns 1 if the key is being processed, or was completed with the same response (nothing changes
--         then); otherwise 0
-- Refuses nothing
-- Errors  none
-- uses: slot clock common idempotency

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local response, ttl_ms = ARGV[1], to_ms(ARGV[2])
local now = now_ms()
local state = find_request(now)
if not state then
    return 0
end
if state == 'completed' then
    return redis.call('HGET', KEYS[1], 'response') == response and 1 or 0
end
write_request(now, ttl_ms, 'state', 'completed', 'response', response)
return 1
