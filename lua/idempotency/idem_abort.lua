-- SPDX-License-Identifier: Apache-2.0
-- IDEM.ABORT: a request was not carried out after all; the next BEGIN is new.
--
-- KEYS[1] idemp:$key  hash: state, fingerprint, deadline, response
-- ARGV    none
-- Returns 1, or 0 if the key is not being processed
-- Refuses nothing
-- Errors  none
-- uses: slot clock common idempotency

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
if find_request(now_ms()) ~= 'processing' then
    return 0
end
redis.call('DEL', KEYS[1])
return 1
