-- SPDX-License-Identifier: Apache-2.0
-- SEATS.RESERVE: holds seats in a zone for a user until a deadline. The same call again changes
-- nothing and answers with current figures.
--
-- To the letter: KEYS zone:availability:Z, user:reservations:U:E, reservation:B, plain or tagged,
-- with the first nine of ARGV, of which show, price and ttl may be missing or empty.
--
-- KEYS[1] zone:availability:{$event}:$zone  integer, free seats
-- KEYS[2] user:reservations:{$event}:$user  integer, what counts against the user's limit
-- KEYS[3] reservation:{$event}:$booking     hash, the booking (parts/booking.lua)
-- KEYS[4] seats:due:{$event}                sorted set, what falls due when (parts/seats.lua); made
--                                           from the event if it is not given. Further keys that
--                                           former versions wanted are ignored
-- ARGV[1] quantity
-- ARGV[2] max_per_user
-- ARGV[3] user
-- ARGV[4] booking
-- ARGV[5] zone
-- ARGV[6] event
-- ARGV[7] show          or empty
-- ARGV[8] price         of one seat; 0 if missing
-- ARGV[9] ttl           in seconds; 600 if missing
-- ARGV[10] lifetime     1: confirmed seats go on counting against the user's limit; 0 if missing
-- ARGV[11] pass         the user's, where the event's waiting room has a gate; or empty
-- Returns {1, remaining, user_reserved, expires_at in ms or 0 if confirmed, status}
-- Refuses INVALID_QUANTITY, ZONE_NOT_FOUND, BOOKING_EXISTS, INSUFFICIENT_STOCK,
--         USER_LIMIT_EXCEEDED, NOT_ADMITTED; INVALID_ID for an id with a space in it; INVALID_TTL;
--         INVALID_ARGUMENT for keys and ids that do not fit together; BUSY without KEYS[4]
-- Errors  AGAIN
-- Derives user:confirmed:{$event}:$user, seats:rules:{$event}, seats:bookings:{$event},
--         seats:blank:{$event}; queue:user:{$event}:$user, where the waiting room has a gate
-- batch: seats reserve_run
-- uses: moment
-- later: expiry slot common seats booking

-- Redis makes every function anew for each call of a script. That takes as long as a seventh of a
-- command, a text that nobody has yet a fifth, tonumber() a third: what most calls do not need is
-- behind later(), or done where it is needed.

-- The end of a refusal for the user's sake: what the count has beside seats that are held.
local GRACE = '; holds that expired count for 60 s more' -- limits.SEATS_USER_GRACE_MS
local NOBODY = '------------------------------------' -- as long as most ids
local MANY = 1000000 -- below it no sum of a user's seats comes near limits.HF_INTEGER_MAX

local KEYS, ARGV, redis, string = KEYS, ARGV, redis, string -- globals take longer
local call, pcall, find, format = redis.call, redis.pcall, string.find, string.format
local zone_key, user_key, booking_key = KEYS[1], KEYS[2], KEYS[3]
local wanted, user, booking_id, zone, event = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local max_per_user, quantity = tonumber(ARGV[2]), 1
if wanted ~= '1' then
    quantity = wanted == '2' and 2 or tonumber(wanted)
    if not quantity or quantity % 1 ~= 0 or quantity <= 0 then
        return {0, 'INVALID_QUANTITY', errors.INVALID_QUANTITY}
    end
end
if not event or not max_per_user then
    return {0, 'INVALID_ARGUMENT', 'max_per_user or an id is missing'}
end
local ttl_ms = 600000
if ARGV[9] ~= '600' then
    local ttl = tonumber(ARGV[9])
    ttl_ms = (ttl or limits.SEATS_TTL_DEFAULT_MS / 1000) * 1000
    if ttl_ms % 1 ~= 0 then
        ttl_ms = math.floor(ttl_ms + 0.5)
    end
    if not ttl and (ARGV[9] or '') ~= '' or not (ttl_ms >= 1) then
        return {0, 'INVALID_TTL', errors.INVALID_TTL}
    elseif ttl_ms > limits.HF_TTL_MAX_MS then
        ttl_ms = limits.HF_TTL_MAX_MS
    end
end

-- All keys have the layout of the first, and are made from the ids. Most have no namespace.
local namespace, tagged = '', false
local due_key, rules_key, fit
if #zone_key == 18 + #zone then
    due_key, rules_key = 'seats:due:' .. event, 'seats:rules:' .. event
    fit = zone_key == 'zone:availability:' .. zone
        and user_key == 'user:reservations:' .. user .. ':' .. event
        and booking_key == 'reservation:' .. booking_id
elseif zone_key == 'zone:availability:{' .. event .. '}:' .. zone then
    tagged = true
    due_key, rules_key = 'seats:due:{' .. event .. '}', 'seats:rules:{' .. event .. '}'
    fit = user_key == 'user:reservations:{' .. event .. '}:' .. user
        and booking_key == 'reservation:{' .. event .. '}:' .. booking_id
else
    local start = find(zone_key, 'zone:availability:', 1, true) or 1
    namespace = string.sub(zone_key, 1, start - 1)
    tagged = string.byte(zone_key, start + 18) == 123 -- {
    local scope = tagged and '{' .. event .. '}' or event
    due_key, rules_key = namespace .. 'seats:due:' .. scope, namespace .. 'seats:rules:' .. scope
    fit = zone_key == namespace .. 'zone:availability:' .. (tagged and scope .. ':' or '') .. zone
        and user_key == namespace .. 'user:reservations:'
            .. (tagged and scope .. ':' .. user or user .. ':' .. event)
        and booking_key == namespace .. 'reservation:' .. (tagged and scope .. ':' or '')
            .. booking_id
end
if not fit or KEYS[4] and KEYS[4] ~= due_key then
    return {0, 'INVALID_ARGUMENT', 'the keys are not those of the event, zone, user and booking'}
end

-- The first read (parts/slot.lua), of what most calls do not find: one that is missing is enough.
local found = redis.pcall('EXISTS', booking_key, rules_key, user_key)
if found ~= 0 and found ~= 1 and found ~= 2 then
    local problem
    if found == 3 then
        problem = later().refuse_moving(zone_key)
    else
        problem = later().not_here(zone_key, found)
    end
    if problem then
        return problem
    end
end
local now
if told_ms then
    now = told_ms()
else
    local time = call('TIME')
    local ms = time[2] / 1000
    now = time[1] * 1000 + (ms - ms % 1)
end
local created_at = format('%d', now)
if call('ZCOUNT', due_key, '-inf', created_at) > 0 then
    local answer = later().refuse_due(due_key, now, not KEYS[4])
    if answer then
        return answer
    end
end

-- How many digits the zone's count has tells enough, but for the last seats.
local zone_digits = call('STRLEN', zone_key)
local zone_has = (zone_digits < 2 or quantity > 9 or found > 0) and call('GET', zone_key)
if zone_digits < 2 and not tonumber(zone_has) then
    return {0, 'ZONE_NOT_FOUND', 'no such zone: open it first'}
end
local show, price, user_count = ARGV[7] or '', ARGV[8], 0
if not price or price == '' then
    price = '0'
end
local user_had, max, for_life, closing, listed, many, closed, kept
if found > 0 then
    user_had = call('GET', user_key)
    user_count = user_had and tonumber(user_had) or 0
    local gate
    if found > 1 or not user_had then
        local rules = call('HMGET', rules_key, 'max:' .. zone, 'lifetime:' .. zone, 'gate',
            'closing', 'listed', 'many')
        max, for_life, gate, closing, listed = rules[1], rules[2], rules[3], rules[4], rules[5]
        many = rules[6]
        kept = call('EXISTS', booking_key) > 0
    end
    if kept then
        local parts = later()
        local booking = parts.find_booking(booking_key, now,
            parts.event_keys(namespace, event, tagged))
        if booking and not booking.closed_at then
            local same = {
                {'zone', booking.zone_id or '', zone}, {'user', booking.user_id or '', user},
                {'event', booking.event_id or '', event},
                {'quantity', tonumber(booking.quantity) or 0, quantity},
                {'SHOW', booking.show_id or '', show},
                {'PRICE', tonumber(booking.unit_price) or 0, tonumber(price) or 0},
                {'TTL', tonumber(booking.ttl or ttl_ms), ttl_ms, ' ms'},
                {'LIFETIME', tonumber(booking.lifetime or 0), tonumber(ARGV[10]) or 0},
            }
            for _, argument in ipairs(same) do
                if argument[2] ~= argument[3] then
                    return {0, 'BOOKING_EXISTS',
                        parts.differs('the booking exists', unpack(argument))}
                end
            end
            local deadline = tonumber(booking.expires_at) or 0
            if booking.foreign then
                deadline = now + math.max(0, call('PTTL', booking_key))
            end
            return {1, tonumber(zone_has), user_count, deadline, booking.status}
        end
        closed = booking ~= nil
    end
    if gate then
        local own = call('HMGET', later().event_keys(namespace, event, tagged)('queue:user', user),
            'pass', 'pass_deadline')
        if not own[1] or own[1] ~= ARGV[11] or tonumber(own[2]) <= now then
            return {0, 'NOT_ADMITTED', format(
                'event "%s" is entered through its waiting room: ' .. ((ARGV[11] or '') == ''
                and 'PASS is missing, which admission gives to user "%s"'
                or 'PASS is not the pass of user "%s", or no longer valid'), event, user)}
        end
    end
end
if zone_digits < 2 or quantity > 9 then -- else it has more, or is below 0
    local available = tonumber(zone_has)
    if not available or quantity > available then
        return {0, 'INSUFFICIENT_STOCK',
            format('%.0f seats available, %.0f requested', available or 0, quantity)}
    end
end
if found > 0 or quantity > max_per_user or quantity > MANY then
    local beyond_count = 0 -- confirmed seats that the count leaves out
    if for_life or many or quantity > MANY or user_count > MANY then
        local parts = later()
        local confirmed, lifetime = parts.confirmed_seats(
            call('GET', parts.event_keys(namespace, event, tagged)('user:confirmed', user)))
        beyond_count = confirmed - lifetime
    end
    if quantity > max_per_user - user_count
        or quantity > limits.HF_INTEGER_MAX - user_count - beyond_count then
        return {0, 'USER_LIMIT_EXCEEDED',
            format('the user has %.0f seats, %.0f requested, at most %.0f allowed' .. GRACE,
                user_count, quantity, max_per_user)}
    end
    if max then
        local counted = for_life and user_count + beyond_count or user_count
        if quantity > max - counted then
            return {0, 'USER_LIMIT_EXCEEDED',
                format('the user has %.0f seats%s, %.0f requested, the zone allows at most %.0f'
                    .. GRACE, counted, for_life and ' with those confirmed' or '', quantity, max)}
        end
    end
end
if find(user, ' ', 1, true) or find(booking_id, ' ', 1, true) or find(zone, ' ', 1, true)
    or user == '' or booking_id == '' or zone == '' or event == '' then
    -- Spaces separate the ids in what falls due.
    return {0, 'INVALID_ID', 'an id is not empty and has no spaces'}
end

local expires = now + ttl_ms
local expires_at = format('%d', expires)
local gone_at, counted_until = expires_at, format('%d', expires + limits.SEATS_USER_GRACE_MS)
if told_until then
    gone_at, counted_until = told_until(gone_at), told_until(counted_until)
end
local available = call('DECRBY', zone_key, wanted)
if available < 0 then -- it was before, which only another program can have done
    call('INCRBY', zone_key, wanted)
    return {0, 'INSUFFICIENT_STOCK',
        format('%.0f seats available, %.0f requested', available + quantity, quantity)}
end
if not user_had then
    user_count = call('INCRBY', user_key, wanted)
    call('PEXPIREAT', user_key, counted_until)
else
    user_count = pcall('INCRBY', user_key, wanted)
    if type(user_count) == 'table' then -- it is not an integer
        call('INCRBY', zone_key, wanted)
        return user_count
    end
    local left = call('PTTL', user_key) -- -1: it has seats that are confirmed for life
    if left >= 0 and left < ttl_ms + limits.SEATS_USER_GRACE_MS then
        call('PEXPIREAT', user_key, counted_until)
    end
end

if closed then
    call('DEL', booking_key) -- it was kept for retries of what closed it
end
-- Redis copies a hash in less time than it adds ten fields to one. So an event has a blank record,
-- of nobody, with short values: a long one would make all copies take more memory.
local blank_key
if redis.REDIS_VERSION_NUM and (closed or not kept) then -- from Redis 7.0 on, which has COPY
    blank_key = tagged and namespace .. 'seats:blank:{' .. event .. '}'
        or namespace .. 'seats:blank:' .. event
end
local copied = blank_key and pcall('COPY', blank_key, booking_key)
if copied ~= 1 or pcall('HSET', booking_key, 'booking_id', booking_id, 'user_id', user,
    'quantity', wanted, 'zone_id', zone, 'show_id', show, 'unit_price', price,
    'created_at', created_at, 'expires_at', expires_at) ~= 0 then
    if copied == 1 then
        call('DEL', booking_key, blank_key) -- it is something else
    end
    call('HSET', booking_key, 'booking_id', booking_id, 'user_id', user, 'quantity', wanted,
        'zone_id', zone, 'show_id', show, 'unit_price', price,
        'created_at', created_at, 'expires_at', expires_at,
        'event_id', event, 'status', 'reserved')
    if copied == 0 then
        call('HSET', blank_key, 'booking_id', NOBODY, 'user_id', NOBODY, 'quantity', '1',
            'zone_id', string.sub(zone, 1, #NOBODY), 'show_id', '', 'unit_price', '0',
            'created_at', created_at, 'expires_at', expires_at,
            'event_id', event, 'status', 'reserved')
    end
end
call('PEXPIREAT', booking_key, gone_at)
if ARGV[10] == '1' then
    call('HSET', booking_key, 'lifetime', '1')
end
call('ZADD', due_key, expires_at,
    'h ' .. zone .. ' ' .. user .. ' ' .. wanted .. ' ' .. booking_id)
if listed then
    pcall('ZADD', namespace .. 'seats:bookings:' .. (tagged and '{' .. event .. '}' or event),
        0, booking_id)
end
if closing then -- a CLOSE that sums the seats up zone by zone begins anew
    call('HDEL', rules_key, 'closing')
end
return {1, available, user_count, expires, 'reserved'}
