-- SPDX-License-Identifier: Apache-2.0
-- QUOTA.SYNC: sets what the database says is used; open holds are added on top, and what was
-- committed since the reading began.
--
-- KEYS[1] quota:tenant:$tenant:used     integer, committed and held together
-- KEYS[2] quota:tenant:$tenant:limit    integer
-- KEYS[3] quota:tenant:$tenant:held     integer
-- KEYS[4] quota:tenant:$tenant:holds    hash, hold to "amount ttl_ms [started_ms]"
-- KEYS[5] quota:tenant:$tenant:due      sorted set, holds by deadline
-- KEYS[6] quota:tenant:$tenant:commits  string, what was committed lately, as "at amount …"
-- ARGV[1] actual
-- ARGV[2] since   what QUOTA.MARK answered before the reading; nothing is added if it is 0, empty
--                 or missing
-- Returns {1, used, limit}
-- Refuses INVALID_AMOUNT; INVALID_ARGUMENT for a time in the future, or more than a
--         day ago
-- Errors  AGAIN
-- Derives quota:tenant:$tenant:names, the open holds by name
-- uses: slot clock common quota expiry quota_commits

own_key(6, 'commits')
local actual, since = checked_amount(ARGV[1], 0), tonumber(ARGV[2]) or 0
if not actual then
    return invalid_amount()
end
local now = now_ms()
if since > now then
    return {0, 'INVALID_ARGUMENT', string.format('SINCE %.0f is %.0f ms in the future: it is the '
        .. 'time that QUOTA.MARK told before the reading began', since, since - now)}
elseif since > 0 and since < now - limits.QUOTA_SINCE_MAX_MS then
    return {0, 'INVALID_ARGUMENT', string.format('SINCE %.0f is %.0f ms ago, and what was '
        .. 'committed is known for %.0f ms: read again', since, now - since,
        limits.QUOTA_SINCE_MAX_MS)}
end
-- What another program has set is to be overwritten, also if it is no number: a number takes its
-- place for the steps before that, which count with it.
local set = redis.pcall('MGET', USED, USED .. '{0}')
if set.err then
    return not_here(USED, set)
elseif not whole(set[1]) then
    redis.call('SET', USED, '0')
end
local problem = enter_tenant(now)
if problem then
    return problem
end

begin_anew()
local _, limit, held = figures()
local committed = since > 0 and committed_since(since) or 0
if actual > limits.HF_INTEGER_MAX - held or committed > limits.HF_INTEGER_MAX - held - actual then
    if since > 0 then
        return {0, 'INVALID_AMOUNT', string.format('actual %.0f, %.0f committed since, and what '
            .. 'is on hold are more than 2^53-1', actual, committed)}
    end
    return {0, 'INVALID_AMOUNT', string.format(
        'actual %.0f and %.0f on hold are more than %.0f', actual, held, limits.HF_INTEGER_MAX)}
end
redis.call('SET', USED, digits(actual + held + committed))
return {1, actual + held + committed, limit}
