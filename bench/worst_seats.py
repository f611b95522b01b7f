# SPDX-License-Identifier: Apache-2.0
"""The scripts of seats at their worst: an event of 100,000 bookings with the same deadline and 1,000
zones, with as many expired holds in front of a call as one call gives back, each of another zone and
user; long lists; and events that are closed."""

from worst_case import ANSWERED, AT_ONCE, LONG_AGO, MANY

ZONES = 1000

HOLD = """
local zone, user, booking = 'z' .. i % {zones}, 'u' .. i, '{prefix}' .. i
redis.call('HSET', '{record}' .. booking, 'booking_id', booking, 'user_id', user, 'zone_id', zone,
    'event_id', '{event}', 'show_id', '', 'quantity', '1', 'unit_price', '0', 'status', '{status}',
    'created_at', '{created}', 'expires_at', '{at}')
redis.call('SET', '{user}' .. user .. '{behind}', '1')
if '{status}' == 'reserved' then
    redis.call('ZADD', '{due}', '{at}', 'h ' .. zone .. ' ' .. user .. ' 1 ' .. booking)
else
    redis.call('SET', '{confirmed}' .. user, '1 0')
end
if '{listed}' == '1' then
    redis.call('ZADD', '{names}', 0, booking)
end
"""


class Event:
    """An event as the scripts keep it; plain: with the names of the field."""

    def __init__(self, bench, plain=False, zones=ZONES):
        self.bench, self.plain, self.zones = bench, plain, zones
        self.name = bench.id("e")
        self.made = 0
        bench.build(f"redis.call('SET', '{self.key('zone:availability', 'z')}' .. i - 1, '900000') "
                    f"redis.call('HSET', '{self.key('zone:totals', 'z')}' .. i - 1, "
                    "'capacity', '1000000', 'confirmed', '0') "
                    f"redis.call('ZADD', '{self.key('seats:zones')}', 0, 'z' .. i - 1)", zones)

    def key(self, kind, id_=None):
        if not self.plain:
            return f"{kind}:{{{self.name}}}" + (f":{id_}" if id_ is not None else "")
        if id_ is None:
            return f"{kind}:{self.name}"
        if kind.startswith("user:"):
            return f"{kind}:{id_}:{self.name}"
        return f"{kind}:{id_}"

    def hold(self, count, at=None, prefix="b", status="reserved", listed=False):
        """So many bookings; `at`: their deadline, in half an hour unless told otherwise."""
        at = at if at is not None else self.bench.now() + 1_800_000
        user = self.key("user:reservations", "@").split("@")
        self.bench.build(HOLD.format(
            zones=self.zones, prefix=f"{prefix}-{self.name}-", event=self.name, status=status,
            record=self.key("reservation", ""), created=self.bench.now(), at=at, user=user[0],
            behind=user[1], confirmed=self.key("user:confirmed", ""), due=self.key("seats:due"),
            names=self.key("seats:bookings"), listed=int(listed)), count, self.made + 1)
        self.made += count

    def booking(self, i, prefix="b"):
        return f"{prefix}-{self.name}-{i}"

    def expire(self, count=AT_ONCE, fresh=False):
        """So many are due; fresh: they count against their users for a while."""
        self.hold(count, self.bench.now() - 1000 if fresh else LONG_AGO, "x")

    def drop_due(self):
        self.bench.redis.zremrangebyscore(self.key("seats:due"), "-inf", self.bench.now())


def time_seats(bench):
    time_commands(bench)
    time_lists(bench)
    time_closes(bench)
    time_strangers(bench)
    time_letter(bench)


def time_commands(bench):
    event = Event(bench)
    event.hold(MANY, listed=True)
    event.hold(100, prefix="c", status="confirmed", listed=True)
    bench.redis.hset(event.key("seats:rules"), "listed", 1)
    due = event.key("seats:due")
    record = event.key("reservation", "")
    users = event.key("user:reservations", "")
    mine = iter(range(1, MANY))
    paid = iter(range(MANY + 1, MANY + 100))

    def of_booking(number, *words, prefix="b"):
        booking = event.booking(next(number), prefix)
        return [record + booking, due], [booking, *words]

    calls = {
        "open_zone": lambda i: ([event.key(kind, "z1") for kind in
                                 ("zone:availability", "zone:totals")]
                                + [due, event.key("seats:zones"), event.key("seats:rules")],
                                [1_000_000, "z1", 4, 0]),
        "reserve_seats": lambda i: ([event.key("zone:availability", "z1"), f"{users}n{i}",
                                     f"{record}{bench.id('n')}", due],
                                    [1, 4, f"n{i}", f"n-{bench.number}", "z1", event.name, "", 0, 600,
                                     0]),
        "get_zone": lambda i: ([event.key(kind, "z1") for kind in
                                ("zone:availability", "zone:totals")]
                               + [due, event.key("seats:rules")], ["z1"]),
        "get_user": lambda i: ([f"{users}u1", event.key("user:confirmed", "u1"), due], []),
        "confirm_booking": lambda i: of_booking(mine, "", "pay", "CODE"),
        "release_seats": lambda i: of_booking(mine, ""),
        "get_booking": lambda i: of_booking(mine),
        "extend_booking": lambda i: of_booking(mine, 3600),
        "refund_booking": lambda i: of_booking(paid, "", prefix="c"),
        "reclaim_seats": lambda i: ([due], [AT_ONCE]),
        "look_inside": lambda i: ([event.key("seats:zones"), event.key("seats:bookings"), due],
                                  ["events", 1]),
    }
    for script, call in calls.items():
        for fresh in (False, True):
            bench.case(script, f"{AT_ONCE} holds expired" + (" just now" if fresh else ""), call,
                       lambda i: event.expire(fresh=fresh))


def time_lists(bench):
    event = Event(bench)
    event.hold(MANY)
    keys = [event.key("seats:bookings"), event.key("seats:due")]

    def first(i):
        bench.redis.delete(event.key("seats:bookings"))
        bench.redis.hdel(event.key("seats:rules"), "listed", "listing")
        event.expire()

    bench.case("list_bookings", "the first list of 100,000 with one deadline, 32 expired",
               lambda i: (keys, ["", "", "any", "", 1000]), first, "AGAIN")
    while "AGAIN" in str(bench.call("list_bookings", keys, ["", "", "any", "", 1000])):
        pass
    for state, words in (("COUNT 1000 of 100,000, 32 expired", ["", "", "any", "", 1000]),
                         ("another user's, of 100,000, 32 expired", ["", "none", "any", "", 1000])):
        bench.case("list_bookings", state, lambda i: (keys, words), lambda i: event.expire())
    small = Event(bench)
    keys = [small.key("seats:bookings"), small.key("seats:due")]
    small.hold(190)

    def small_first(i):
        bench.redis.delete(small.key("seats:bookings"))
        bench.redis.hdel(small.key("seats:rules"), "listed", "listing")
        small.expire()

    bench.case("list_bookings", "the first list of 190, 32 expired",
               lambda i: (keys, ["", "", "any", "", 1000]), small_first, ANSWERED)
    bench.case("look_inside", "the first list of 190, 32 expired",
               lambda i: ([small.key("seats:zones"), *keys], ["events", 1]), small_first, ANSWERED)


def time_closes(bench):
    def keys_of(event):
        return [event.key(f"seats:{kind}") for kind in ("due", "rules", "bookings", "zones")]

    event = Event(bench, zones=10_000)
    bench.case("close_event", "10,000 zones to sum up, 32 expired",
               lambda i: (keys_of(event), [1]),
               lambda i: (event.expire(), bench.redis.hdel(event.key("seats:rules"), "closing")),
               "AGAIN")
    for zones, bookings, graces in ((95, 95, 95), (31, 31, 31), (31, 0, 0), (1, MANY, 0)):
        def small(i):
            nonlocal event
            event = Event(bench, zones=zones)
            bench.build(f"redis.call('HSET', '{event.key('zone:totals', 'z')}' .. i - 1, 'capacity', "
                        "'900000', 'confirmed', '0')", zones)
            if bookings:
                event.hold(bookings, prefix="c", status="confirmed", listed=True)
            if graces:
                bench.build(f"redis.call('ZADD', '{event.key('seats:due')}', now + 50000, "
                            "'g z1 u' .. i .. ' 1 b' .. i .. ' 1')", graces)
            event.expire()
        bench.case("close_event", f"{zones} zones, {bookings} confirmed bookings, {graces} in grace",
                   lambda i: (keys_of(event), [1]), small, ANSWERED, repeats=5)

    event = Event(bench)
    event.hold(MANY, prefix="c", status="confirmed", listed=True)
    due = event.key("seats:due")
    bench.build(f"redis.call('ZADD', '{due}', now + 50000, 'g z1 u' .. i .. ' 1 b' .. i .. ' 1')",
                5000)
    bench.redis.zadd(due, {"c": 0})
    bench.case("reclaim_seats", "a closed event, 5,000 in grace", lambda i: ([due], [AT_ONCE]))
    bench.redis.zremrangebyrank(due, 1, -1)
    bench.case("reclaim_seats", "a closed event of 100,000 bookings", lambda i: ([due], [AT_ONCE]))
    bench.case("get_user", "a closed event of 100,000 bookings",
               lambda i: ([event.key("user:reservations", "u1"), event.key("user:confirmed", "u1"),
                           due], []), check="AGAIN")

    plain = Event(bench, plain=True)
    plain.hold(5000, prefix="c", status="confirmed", listed=True)
    due = plain.key("seats:due")
    bench.redis.zadd(due, {"c": 0})
    bench.case("reclaim_seats", "a closed event, plain names", lambda i: ([due], [AT_ONCE]))

    def end(i):
        nonlocal event
        event = Event(bench, zones=1)
        bench.redis.delete(event.key("seats:zones"))
        bench.build(f"redis.call('HSET', '{event.key('seats:rules')}', 'max:z' .. i, '4', "
                    "'lifetime:z' .. i, '1')", 10_000)
        bench.redis.zadd(event.key("seats:due"), {"c": 0})
    bench.case("reclaim_seats", "the end of a closed event, rules for 10,000 zones",
               lambda i: ([event.key("seats:due")], [AT_ONCE]), end)


def time_strangers(bench):
    """Zones that another program made, with a SET."""
    for holds in (160, 4900):
        event = Event(bench, zones=2)
        event.hold(holds)
        due = event.key("seats:due")
        zone = [event.key(kind, "z1") for kind in ("zone:availability", "zone:totals")] + [due]
        clear = (lambda i: (bench.redis.delete(zone[1]), event.expire()))
        bench.case("get_zone", f"made by SET, {holds} holds, 32 expired", lambda i: (zone, []), clear,
                   ANSWERED)
        bench.case("open_zone", f"made by SET, {holds} holds, 32 expired",
                   lambda i: (zone, [10 ** 6]), clear, ANSWERED)


def time_letter(bench):
    """As programs of the field call, with nothing but their own keys."""
    for plain in (False, True):
        event = Event(bench, plain=plain)
        event.hold(MANY)
        mine = iter(range(1, MANY))
        record = event.key("reservation", "")
        how = "plain" if plain else "tagged"

        def again(i):
            event.drop_due()
            event.expire(4000)

        def reserve(i):
            booking = bench.id("n")
            return ([event.key("zone:availability", "z1"),
                     event.key("user:reservations", booking), record + booking],
                    [1, 4, booking, booking, "z1", event.name, "", 0, 600])

        def release(i):
            number = next(mine)
            return ([event.key("zone:availability", f"z{number % ZONES}"),
                     event.key("user:reservations", f"u{number}"), record + event.booking(number)],
                    [event.booking(number), f"u{number}"])

        def confirm(i):
            number = next(mine)
            return ([record + event.booking(number)], [event.booking(number), f"u{number}", "p"])

        for script, call in (("reserve_seats", reserve), ("release_seats", release),
                             ("confirm_booking", confirm)):
            bench.case(script, f"to the letter, {how}, 4,000 holds expired", call, again, ANSWERED)
