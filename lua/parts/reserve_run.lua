-- SPDX-License-Identifier: Apache-2.0
-- Many reserves of one zone at once, for batches: what seats/reserve_seats.lua does for each call,
-- but with as few commands as it takes. Only plain calls are carried out here: a new booking, of few
-- seats, that is granted, in a zone and an event without rules of their own. At the first call that
-- is not, it ends; whatever else there is to decide stays in one place. What both write is the same:
-- tests/redis/test_batches.py compares it.
-- uses: slot clock expiry common

-- KEYS and ARGV as reserve_seats.lua has them, with what may differ from call to call.
local PLAIN_KEYS, PLAIN_ARGS = 'svvs', '^[sv]svvsssssss+$'
local FEW = 1000000 -- MANY in reserve_seats.lua
local SHORT = 64 -- a longer value makes Redis keep a hash, and its copies, with more memory

-- Carries out the first calls of a run, and adds their replies to the flat list, of which `size`
-- elements are used. Returns how many calls it carried out, and the new size; and the answer of all
-- if more is due than one call gives back.
local function reserve_run(kind, count, replies, size)
    local keys, args, call, pcall = kind.keys, kind.args, redis.call, redis.pcall
    if kind.key_marks ~= PLAIN_KEYS or not kind.arg_marks:find(PLAIN_ARGS) or args[10] == '1' then
        return 0, size
    end
    local zone_key, due_key, from, at = keys[1], keys[4], batch.keys, batch.key_at
    local users = {zone_key,
        nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
    local bookings = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
    for i = 1, count do
        users[i + 1] = from[at + 2 * i - 1]
        bookings[i] = from[at + 2 * i]
    end
    -- The first read (parts/slot.lua): several keys, none of which is there.
    if pcall('EXISTS', unpack(bookings)) ~= 0 then
        return 0, size
    end
    local now = now_ms()
    local created_at, ttl_ms = digits(now), to_ms(args[9])
    if call('ZCOUNT', due_key, '-inf', created_at) > 0
        and all_parts().reclaim_seats(due_key, created_at) > 0 then
        return 0, size, again()
    end
    local found = call('MGET', unpack(users))
    local zone, namespace, tag = args[5], due_key:match('^(.*)seats:due:(.*)$')
    local rules = call('HMGET', namespace .. 'seats:rules:' .. tag, 'max:' .. zone, 'gate',
        'closing', 'listed', 'many')
    local available, max = tonumber(found[1]), tonumber(args[2])
    if not available or available % 1 ~= 0 or rules[1] or rules[2] or rules[3] or rules[5] then
        return 0, size
    end

    local varies = kind.arg_places[1] == 1 -- the quantity
    local step, arg_at, words = varies and 3 or 2, batch.arg_at, batch.args
    local quantity, text = tonumber(args[1]), args[1]
    local expires, counted_ms = now + ttl_ms, ttl_ms + limits.SEATS_USER_GRACE_MS
    local expires_at = digits(expires)
    local gone_at, counted_until = redis_time(expires_at), redis_time(digits(now + counted_ms))
    local event, show, price, find = args[6], args[7], args[8], string.find
    local names, taken, done = rules[4] and {}, 0, 0
    local due = {nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil,
        nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
    -- What all have in common, and until when Redis keeps it, is copied from the first that was
    -- written; from Redis 7.0 on, which tells its version and has COPY.
    local has_copy, copied_count, copied_text = redis.REDIS_VERSION_NUM
    local copied_record, recorded_text
    for i = 1, count do
        local last = arg_at + step * i
        local user, booking, user_count = words[last - 1], words[last], 0
        if varies then
            text = words[last - 2]
            quantity = tonumber(text) or 0
        end
        if found[i + 1] then
            user_count = tonumber(found[i + 1]) or FEW
        end
        if quantity <= 0 or quantity % 1 ~= 0 or quantity > available - taken
            or quantity > max - user_count or user_count + quantity > FEW
            or find(user, ' ', 1, true) or find(booking, ' ', 1, true) then
            break
        end
        -- The first change of all: a full Redis refuses it, and so does a key that is no count.
        local user_key, known, booking_key = users[i + 1], found[i + 1], bookings[i]
        user_count = user_count + quantity
        if known or text ~= copied_text or pcall('COPY', copied_count, user_key) ~= 1 then
            if pcall('INCRBY', user_key, text) ~= user_count then
                break
            end
            batch.has_changed = true
            local left = known and call('PTTL', user_key)
            if not left or left >= 0 and left < counted_ms then
                call('PEXPIREAT', user_key, counted_until)
            end
            if has_copy and not known then
                copied_count, copied_text = user_key, text
            end
        end
        if copied_record and pcall('COPY', copied_record, booking_key) == 1 then
            if text == recorded_text then
                call('HSET', booking_key, 'booking_id', booking, 'user_id', user)
            else
                call('HSET', booking_key, 'booking_id', booking, 'user_id', user, 'quantity', text)
            end
        else
            call('HSET', booking_key, 'booking_id', booking, 'user_id', user, 'quantity', text,
                'zone_id', zone, 'show_id', show, 'unit_price', price,
                'created_at', created_at, 'expires_at', expires_at,
                'event_id', event, 'status', 'reserved')
            call('PEXPIREAT', booking_key, gone_at)
            copied_record = #booking <= SHORT and #user <= SHORT and has_copy and booking_key
            recorded_text = text
        end
        taken, done = taken + quantity, i
        due[2 * i - 1] = expires_at
        due[2 * i] = 'h ' .. zone .. ' ' .. user .. ' ' .. text .. ' ' .. booking
        if names then
            names[2 * i - 1] = 0
            names[2 * i] = booking
        end
        if i == 1 then
            replies[size + 1] = 5
            replies[size + 2] = 1
            replies[size + 3] = available - taken
            replies[size + 4] = user_count
            replies[size + 5] = expires
            replies[size + 6] = 'reserved'
            size = size + 6
        else -- as the one before it, but for two
            replies[size + 1] = -2
            replies[size + 2] = available - taken
            replies[size + 3] = user_count
            size = size + 3
        end
    end
    if done > 0 then
        call('DECRBY', zone_key, digits(taken))
        call('ZADD', due_key, unpack(due))
        if names then
            pcall('ZADD', namespace .. 'seats:bookings:' .. tag, unpack(names))
        end
    end
    return done, size
end
