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
-- Derives user:confirmed:{$event}:$user, seats:rules:{$event}, seats:bookings:{$event};
--         queue:user:{$event}:$user, where the event's waiting room has a gate
-- batch: seats reserve_run
-- uses: moment
-- later: expiry slot common seats booking

-- Redis makes every function anew for each call of a script. That takes as long as a seventh of a
-- command, a text that nobody has yet a fifth, tonumber() a third: what most calls do not need is
-- behind later(), or done where it is needed.

-- The end of a refusal for the user's sake: what the count has beside seats that are held.
local GRACE = '; holds that expired count for 60 s more' -- limits.SEATS_USER_GRACE_MS
local MANY = 1000000 -- below it no sum of a user's seats comes near limits.HF_INTEGER_MAX

local KEYS, ARGV, redis, string = KEYS, ARGV, redis, string -- globals take longer
local call, find, format = redis.call, string.find, string.format
local zone_key, user_key, booking_key = KEYS[1], KEYS[2], KEYS[3]
local wanted, user, booking_id, zone, event = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local max_per_user, ttl = tonumber(ARGV[2]), tonumber(ARGV[9])
local quantity = wanted == '1' and 1 or wanted == '2' and 2 or tonumber(wanted)
if not quantity or quantity % 1 ~= 0 or quantity <= 0 then
    return {0, 'INVALID_QUANTITY', errors.INVALID_QUANTITY}
end
if not event or not max_per_user then
    return {0, 'INVALID_ARGUMENT', 'max_per_user or an id is missing'}
end
local ttl_ms = (ttl or limits.SEATS_TTL_DEFAULT_MS / 1000) * 1000
if ttl_ms % 1 ~= 0 then
    ttl_ms = math.floor(ttl_ms + 0.5)
end
if not ttl and (ARGV[9] or '') ~= '' or not (ttl_ms >= 1) then
    return {0, 'INVALID_TTL', errors.INVALID_TTL}
elseif ttl_ms > limits.HF_TTL_MAX_MS then
    ttl_ms = limits.HF_TTL_MAX_MS
end

-- All keys have the layout of the first, and are made from the ids. Most have no namespace, so it
-- is looked for last.
local namespace, tagged = '', false
local fit
if booking_key and #booking_key == 12 + #booking_id then
    fit = zone_key == 'zone:availability:' .. zone
elseif zone_key == 'zone:availability:{' .. event .. '}:' .. zone then
    tagged, fit = true, true
else
    local start = find(zone_key, 'zone:availability:', 1, true) or 1
    namespace = string.sub(zone_key, 1, start - 1)
    tagged = string.byte(zone_key, start + 18) == 123 -- {
    fit = zone_key == namespace .. 'zone:availability:'
        .. (tagged and '{' .. event .. '}:' or '') .. zone
end
local due_key, rules_key
if tagged then
    due_key = namespace .. 'seats:due:{' .. event .. '}'
    rules_key = namespace .. 'seats:rules:{' .. event .. '}'
    fit = fit and user_key == namespace .. 'user:reservations:{' .. event .. '}:' .. user
        and booking_key == namespace .. 'reservation:{' .. event .. '}:' .. booking_id
else
    due_key, rules_key = namespace .. 'seats:due:' .. event, namespace .. 'seats:rules:' .. event
    fit = fit and user_key == namespace .. 'user:reservations:' .. user .. ':' .. event
        and booking_key == namespace .. 'reservation:' .. booking_id
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
local zone_has = call('GET', zone_key)
if not zone_has or #zone_has < 2 and not tonumber(zone_has) then
    return {0, 'ZONE_NOT_FOUND', 'no such zone: open it first'}
end
local user_had = found > 0 and call('GET', user_key)
local user_count, show, price = 0, ARGV[7] or '', ARGV[8] or '0'
if user_had then
    user_count = tonumber(user_had)
end
if price == '' then
    price = '0'
end
local max, for_life, gate, closing, listed, many, closed
if found > 1 or found == 1 and not user_had then
    local rules = call('HMGET', rules_key, 'max:' .. zone, 'lifetime:' .. zone, 'gate', 'closing',
        'listed', 'many')
    max, for_life, gate, closing, listed = rules[1], rules[2], rules[3], rules[4], rules[5]
    many = rules[6]
    if call('EXISTS', booking_key) > 0 then
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
if quantity > 9 or #zone_has < 2 then -- else it has more digits, or is below 0
    local available = tonumber(zone_has)
    if not available or quantity > available then
        return {0, 'INSUFFICIENT_STOCK',
            format('%.0f seats available, %.0f requested', available or 0, quantity)}
    end
end
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
user_count = redis.pcall('INCRBY', user_key, wanted)
if type(user_count) == 'table' then -- it is not an integer
    call('INCRBY', zone_key, wanted)
    return user_count
end
local left = user_had and call('PTTL', user_key) -- -1: it has seats that are confirmed for life
if not left or left >= 0 and left < ttl_ms + limits.SEATS_USER_GRACE_MS then
    call('PEXPIREAT', user_key, counted_until)
end
if closed then
    call('DEL', booking_key) -- it was kept for retries of what closed it
end
call('HSET', booking_key, 'booking_id', booking_id, 'user_id', user, 'zone_id', zone,
    'event_id', event, 'show_id', show, 'quantity', wanted, 'unit_price', price,
    'status', 'reserved', 'created_at', created_at, 'expires_at', expires_at)
if ARGV[10] == '1' then
    call('HSET', booking_key, 'lifetime', '1')
end
call('PEXPIREAT', booking_key, gone_at)
call('ZADD', due_key, expires_at,
    'h ' .. zone .. ' ' .. user .. ' ' .. wanted .. ' ' .. booking_id)
if listed then
    call('ZADD', namespace .. 'seats:bookings:' .. (tagged and '{' .. event .. '}' or event),
        0, booking_id)
end
if closing then -- a CLOSE that sums the seats up zone by zone begins anew
    call('HDEL', rules_key, 'closing')
end
return {1, available, user_count, expires, 'reserved'}
