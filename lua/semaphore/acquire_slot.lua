-- SPDX-License-Identifier: Apache-2.0
-- SEM.ACQUIRE: takes slots, or stands in line for them while the call waits.
--
-- KEYS[1] adv-sem:semaphore_main:$name               sorted set, holders by end of heartbeat
-- KEYS[2] adv-sem:semaphore_ttl:$name                sorted set, holders by end of TTL
-- KEYS[3] adv-sem:semaphore_max:$name                string, the limit
-- KEYS[4] adv-sem:semaphore_waiting:$name            sorted set, the line by arrival
-- KEYS[5] adv-sem:semaphore_waiting_heartbeat:$name  sorted set, the line by end of heartbeat
-- KEYS[6] adv-sem:semaphore_own:$name                hash, notes on the ids
-- KEYS[7] adv-sem:semaphore_fence:$name              string, the last fence
-- ARGV[1] id
-- ARGV[2] limit
-- ARGV[3] heartbeat  in seconds
-- ARGV[4] ttl        in seconds
-- ARGV[5] wait       in seconds; 0: do not wait
-- ARGV[6] +token     of this call: no two calls have the same; no spaces
-- ARGV[7] +channel   on which the call is answered if it waits
-- ARGV[8] +lease     in seconds: a call that waits leaves the line unless await_slot renews it by
--                    then
-- ARGV[9] +slots     that it takes at once, 1 if it is not given
-- Returns {1, in_use, fence, granted}; granted: 1 if it was this call that got the slot, 0 if the
--         id held it already
--         {2, position, ms}: the call waits. It is answered on the channel, by a message of words
--         with a space between them:
--             <KEYS[1]> <id> <token> 1 <in_use> <fence>
--             <KEYS[1]> <id> <token> 0 <why it timed out>
--             <KEYS[1]> <id> <token> 2 <slots> <limit>: it was refused; the limit is now lower
--         or by await_slot, which is to be called after ms at the latest.
-- Refuses INVALID_QUANTITY if the slots are more than the limit; NO_SLOT; INVALID_STATE if the slot
--         is held with another heartbeat, TTL or number of slots, or waited for with another number
-- Errors  AGAIN
-- Derives adv-sem:semaphore_names:$name, the ids that hold or wait by name
-- uses: slot clock common semaphore_notes semaphore_slots semaphore_lost semaphore_open semaphore

local id, limit = check_id(ARGV[1]), check_limit(ARGV[2])
local heartbeat, ttl, wait = to_ms(ARGV[3]), to_ms(ARGV[4]), span_ms(ARGV[5])
local token, channel, lease = ARGV[6], ARGV[7], span_ms(ARGV[8])
local slots = check_slots(ARGV[9] or 1)
if slots > limit then
    return {0, 'INVALID_QUANTITY', string.format(
        'SLOTS %.0f is more than limit %.0f: it could never be granted', slots, limit)}
end

local sem, problem = open_semaphore({
    main = KEYS[1], ttl = KEYS[2], max = KEYS[3], line = KEYS[4], alive = KEYS[5], own = KEYS[6],
    fence = KEYS[7],
})
if not sem then
    return problem or again()
end

local holds, position, note = find_client(sem, id)
if holds then
    note = note or note_stranger(sem, id, heartbeat, ttl, '')
    if note.heartbeat ~= heartbeat then
        return {0, 'INVALID_STATE',
            differs('the slot is held', 'HEARTBEAT', note.heartbeat, heartbeat, ' ms')}
    elseif note.ttl ~= ttl then
        return {0, 'INVALID_STATE', differs('the slot is held', 'TTL', note.ttl, ttl, ' ms')}
    elseif note.slots ~= slots then
        return {0, 'INVALID_STATE', differs('the slot is held', 'SLOTS', note.slots, slots)}
    end
    local is_ours = note.token == token and token ~= ''
    if not is_ours and note.token ~= '' and not note.shared then
        note.shared = true
        write_note(sem, id, note)
    end
    return {1, sem.in_use, note.fence, is_ours and 1 or 0}
end

if position and slots_wanted(note) ~= slots then
    return {0, 'INVALID_STATE',
        differs('the caller is in line', 'SLOTS', slots_wanted(note), slots)}
end
local fits = fits_behind(sem, position and position - 1 or sem.waiting, slots, limit)
if not fits and wait == 0 then
    if position and note and note.token == token and token ~= '' then
        remove_waiters(sem, {id}, WAITED) -- this call, made again; the limit was lowered
    end
    return no_slot(sem, slots, limit)
end

if note and (note.token ~= token or note.channel ~= channel) then
    answer_timeout(sem, id, note, TAKEN_OVER)
end
set_limit(sem, limit)
sem.granted[id] = nil -- a grant that began and ended before this call is not its answer
sem.token = token
local wait_end = sem.now + wait
local terms = {
    heartbeat = heartbeat, ttl = ttl, wait_end = wait_end, limit = limit, token = token,
    channel = channel, slots = slots, alive_until = 0,
}

-- Nobody waits: there is no line to stand in first.
if fits and sem.waiting == 0 then
    grant(sem, {id}, {terms}, sem.now)
    redis.call('ZADD', sem.names, 0, id)
    return {1, sem.in_use, sem.granted[id].fence, 1}
end

if not position then
    terms.arrival = join_line(sem, id)
else
    terms.arrival = tonumber(redis.call('ZSCORE', sem.line, id))
end
write_note(sem, id, terms)
redis.call('ZADD', sem.alive, math.min(wait_end, sem.now + lease) / 1000, id)
keep_line(sem, wait)
if hand_out_now(sem) then
    -- The same call comes again and must find its place in line, even if its wait is over.
    redis.call('ZADD', sem.alive, 'XX', (sem.now + lease) / 1000, id)
    keep_line(sem, lease)
    return again()
end
if sem.granted[id] then -- also if it did not fit, but a waiter ahead was refused
    return {1, sem.in_use, sem.granted[id].fence, 1}
elseif wait == 0 then
    remove_waiters(sem, {id}, WAITED)
    return no_slot(sem, slots, limit)
end
return {2, redis.call('ZRANK', sem.line, id) + 1, look_again_ms(sem, wait_end)}
