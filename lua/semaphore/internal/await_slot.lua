-- SPDX-License-Identifier: Apache-2.0
-- Semaphores: the state of a SEM.ACQUIRE that waits. Renews the lease of its position in line.
--
-- KEYS[1] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[2] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[3] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[4] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[5] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV[1] id
-- ARGV[2] token     as acquire_slot was given it
-- ARGV[3] lease     in seconds
-- ARGV[4] gives_up  1: nobody waits for the call any more: it leaves the line, or gives back the
--                   slot it got, unless another call was answered with it; 0: it goes on waiting
-- Returns {1, in_use, fence, granted}: the call got its slot; in_use is as it was then; granted: 0
--         if another call was answered with it since, or it was lost again
--         {2, position, ms}: it waits; to be called again after ms at the latest
-- Refuses TIMEOUT: the wait is over, the call gave up, or it is no longer in line; INVALID_QUANTITY
--         if the limit was lowered below the slots it waited for
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open semaphore

local id, token, lease, gives_up = ARGV[1], ARGV[2], span_ms(ARGV[3]), ARGV[4] == '1'

local sem, problem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], max = KEYS[3], line = KEYS[4], alive = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
}, token)
if not sem then
    return problem or again()
end

local holds, position, note = find_client(sem, id)
local is_ours = note and note.token == token
if gives_up then
    if is_ours and not note.shared and leave(sem, id) == nil then
        return again()
    end
    redis.call('HDEL', sem.own, answer_field(id, token))
    return {0, 'TIMEOUT', WAITED}
end
if is_ours and position then
    -- Others free slots, or let the limit lapse, without handing anything out.
    if sem.limit == 0 then
        set_limit(sem, note.limit)
    end
    if hand_out_now(sem) then
        return again()
    end
    if not sem.granted[id] and redis.call('ZSCORE', sem.line, id) then
        local alive_until = math.min(note.wait_end, sem.now + lease)
        redis.call('ZADD', sem.alive, alive_until / 1000, id)
        keep_line(sem, math.max(note.wait_end - sem.now, 0))
        if sem.in_use > 0 then -- others let these keys expire sooner
            keep_slots(sem, 0)
        end
        return {2, redis.call('ZRANK', sem.line, id) + 1, look_again_ms(sem, note.wait_end)}
    end
    holds, note = sem.granted[id] and true, sem.granted[id]
    drop_if_idle(sem) -- if it was refused
end
if is_ours and holds then
    return {1, note.in_use, note.fence, note.shared and 0 or 1}
end

-- It may have had the slot and lost it before it could ask, all in one step.
local left = redis.call('HGET', sem.own, answer_field(id, token))
if left then
    redis.call('HDEL', sem.own, answer_field(id, token))
    local slots, limit = left:match('^R (%d+) (%d+)')
    if slots then
        return {0, 'INVALID_QUANTITY',
            string.format('SLOTS %s is more than the limit, which is %s now', slots, limit)}
    end
    local in_use, fence = left:match('^(%d+) (%d+)')
    return {1, tonumber(in_use), tonumber(fence), 0}
end
return {0, 'TIMEOUT', (holds or position) and TAKEN_OVER or WAITED}
