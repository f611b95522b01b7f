-- SPDX-License-Identifier: Apache-2.0
-- IDEM.BEGIN: whether this request may be carried out, or was before.
--
-- KEYS[1] idemp:$key  hash: state, fingerprint, deadline, response
-- ARGV[1] fingerprint
-- ARGV[2] ttl          how long it may be processed, in seconds
-- Returns {1, 'NEW'}, {0, 'PROCESSING'} or {2, 'COMPLETED', response}
-- Refuses KEY_REUSED
-- Errors  none
-- uses: slot clock common idempotency

local moving = refuse_moving(KEYS[1])
if moving then
    return moving
end
local fingerprint, ttl_ms = ARGV[1], to_ms(ARGV[2])
local now = now_ms()
local state, known_fingerprint = find_request(now)
if not state then
    write_request(now, ttl_ms, 'state', 'processing', 'fingerprint', fingerprint)
    return {1, 'NEW'}
end
if known_fingerprint ~= fingerprint then
    return {0, 'KEY_REUSED', string.format(
        'the key was used with fingerprint "%s", not "%s": another request needs another key',
        known_fingerprint, fingerprint)}
end
if state == 'processing' then
    return {0, 'PROCESSING'}
end
return {2, 'COMPLETED', redis.call('HGET', KEYS[1], 'response')}
