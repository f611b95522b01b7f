-- SPDX-License-Identifier: Apache-2.0
--
-- For wrk: POST a booking with random ids. The body has a fixed length, so that the head of the
-- request is made once and the load generator does as little as possible.
local body = '{"zone_id":"floor","user_id":"%08x-0000-4000-8000-%012x","quantity":1,' ..
    '"max_per_user":10,"booking_id":"%08x-0000-4000-8000-%012x"}'
local path = '/v1/events/gala/bookings'
local random, format = math.random, string.format
local head, threads = '', 0

function setup(thread)
    threads = threads + 1
    thread:set('number', threads)
end

function init()
    math.randomseed(os.time() * 1000 + number)
    local size = #format(body, 0, 0, 0, 0)
    head = 'POST ' .. path .. ' HTTP/1.1\r\nHost: ' .. wrk.host .. ':' .. wrk.port ..
        '\r\nContent-Type: application/json\r\nContent-Length: ' .. size .. '\r\n\r\n'
end

function request()
    return head .. format(body, random(0, 2 ^ 31 - 1), random(0, 2 ^ 31 - 1),
        random(0, 2 ^ 31 - 1), random(0, 2 ^ 31 - 1))
end
