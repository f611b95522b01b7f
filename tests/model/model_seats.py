# SPDX-License-Identifier: Apache-2.0
"""Seats: holds with a deadline, in zones of an event."""

from model_arguments import (
    AMOUNT, COUNT, CURSOR, FLAG, ID, MAX_INTEGER, PAGE_COUNT, POSITIVE_COUNT, STATUS, TTL, Command,
)
from model_closed import ClosedHolds
from model_values import listed

DEFAULT_TTL_MS = 600_000
USER_GRACE_MS = 60_000
MAX_EXTENSION = 12  # times the first TTL, from the creation


class Booking:
    def __init__(self, event, zone, booking, user, quantity, show, price, ttl, lifetime, now):
        self.event = event
        self.zone = zone
        self.booking = booking
        self.user = user
        self.quantity = quantity
        self.show = show
        self.price = price
        self.ttl = ttl  # the first one: what a retry is compared with
        self.lifetime = lifetime
        self.created_at = now
        self.expires_at = now + ttl
        self.confirmed_at = 0
        self.payment = ""
        self.code = None

    def terms(self):
        """What the reserve asked for: a retry has to ask for the same."""
        return (
            self.zone, self.user, self.quantity, self.show, self.price, self.ttl, self.lifetime
        )


class Event:
    def __init__(self):
        self.capacity = {}  # zone -> seats
        self.limits = {}  # zone -> (max, do confirmed seats count), if it has a limit
        self.reserved = {}  # booking id -> Booking
        self.confirmed = {}  # booking id -> Booking
        self.lapsed = []  # bookings that expired and still count against their user
        # Of confirmed bookings that were not refunded: counted as they come and go.
        self.zone_confirmed = {}
        self.user_confirmed = {}
        self.user_lifetime = {}

    def expire(self, now):
        due = [booking for booking in self.reserved.values() if booking.expires_at <= now]
        for booking in due:
            del self.reserved[booking.booking]
            self.lapsed.append(booking)
        if self.lapsed:
            self.lapsed = [b for b in self.lapsed if now < b.expires_at + USER_GRACE_MS]

    def zone_reserved(self, zone):
        return sum([b.quantity for b in self.reserved.values() if b.zone == zone])

    def in_use(self, zone):
        return self.zone_reserved(zone) + self.zone_confirmed.get(zone, 0)

    def available(self, zone):
        return self.capacity[zone] - self.in_use(zone)

    def user_held(self, user):
        held = sum([b.quantity for b in self.reserved.values() if b.user == user])
        return held + sum([b.quantity for b in self.lapsed if b.user == user])

    def user_reserved(self, user):
        """The count a reserve is checked against."""
        return self.user_held(user) + self.user_lifetime.get(user, 0)

    def zone_allows(self, zone, user, quantity):
        if zone not in self.limits:
            return True
        limit, lifetime = self.limits[zone]
        confirmed = self.user_confirmed if lifetime else self.user_lifetime
        return self.user_held(user) + confirmed.get(user, 0) + quantity <= limit

    def find(self, booking):
        return self.reserved.get(booking) or self.confirmed.get(booking)


class Seats:
    def __init__(self, secrets, rooms):
        self.secrets = secrets
        self.rooms = rooms
        self.events = {}
        self.released = ClosedHolds()
        self.refunded = ClosedHolds()

    def commands(self):
        return {
            b"SEATS.OPEN": Command(
                self.open, (ID, ID, COUNT), max=POSITIVE_COUNT, lifetime=FLAG,
            ),
            b"SEATS.RESERVE": Command(
                self.reserve, (ID, ID, ID, ID, POSITIVE_COUNT, COUNT),
                show=ID, price=AMOUNT, ttl=TTL, lifetime=FLAG, **{"pass": ID},
            ),
            b"SEATS.CONFIRM": Command(self.confirm, (ID, ID), user=ID, payment=ID),
            b"SEATS.RELEASE": Command(self.release, (ID, ID), user=ID),
            b"SEATS.REFUND": Command(self.refund, (ID, ID), user=ID),
            b"SEATS.EXTEND": Command(self.extend, (ID, ID, TTL)),
            b"SEATS.GET": Command(self.get, (ID, ID)),
            b"SEATS.LIST": Command(
                self.list, (ID,), zone=ID, user=ID, status=STATUS, after=CURSOR, count=PAGE_COUNT,
            ),
            b"SEATS.ZONE": Command(self.zone, (ID, ID)),
            b"SEATS.USER": Command(self.user, (ID, ID)),
            b"SEATS.CLOSE": Command(self.close, (ID,), force=FLAG),
        }

    def event(self, name, now):
        """The event as it is now. One that nobody opened is as good as an empty one."""
        event = self.events.get(name)
        if event is None:
            return Event()
        event.expire(now)
        return event

    def open(self, now, event_id, zone, capacity, max=None, lifetime=False):
        event = self.event(event_id, now)
        if lifetime and max is None:
            return [0, "INVALID_ARGUMENT"]
        if capacity < event.in_use(zone):
            return [0, "CAPACITY_IN_USE"]
        self.events[event_id] = event
        event.capacity[zone] = capacity
        event.limits.pop(zone, None)
        if max is not None:
            event.limits[zone] = (max, lifetime)
        return [1, event.available(zone), capacity]

    def reserve(
        self, now, event_id, zone, booking_id, user, quantity, max_per_user,
        show="", price=0, ttl=DEFAULT_TTL_MS, lifetime=False, **options,
    ):
        event = self.event(event_id, now)
        if zone not in event.capacity:
            return [0, "ZONE_NOT_FOUND"]
        wanted = Booking(
            event_id, zone, booking_id, user, quantity, show, price, ttl, lifetime, now
        )
        existing = event.find(booking_id)
        if existing:
            if existing.terms() != wanted.terms():
                return [0, "BOOKING_EXISTS"]
            return [1, event.available(zone), event.user_reserved(user), existing.expires_at]
        if not self.rooms.lets_reserve(now, event_id, user, options.get("pass")):
            return [0, "NOT_ADMITTED"]
        if quantity > event.available(zone):
            return [0, "INSUFFICIENT_STOCK"]
        if event.user_reserved(user) + quantity > max_per_user:
            return [0, "USER_LIMIT_EXCEEDED"]
        seats = event.user_held(user) + event.user_confirmed.get(user, 0)
        if seats + quantity > MAX_INTEGER:
            return [0, "USER_LIMIT_EXCEEDED"]
        if not event.zone_allows(zone, user, quantity):
            return [0, "USER_LIMIT_EXCEEDED"]
        event.reserved[booking_id] = wanted
        self.released.forget(event_id, booking_id)
        self.refunded.forget(event_id, booking_id)
        return [1, event.available(zone), event.user_reserved(user), wanted.expires_at]

    def confirm(self, now, event_id, booking_id, user=None, payment=""):
        event = self.event(event_id, now)
        booking = event.find(booking_id)
        if booking is None:
            return [0, "RESERVATION_NOT_FOUND"]
        if user is not None and user != booking.user:
            return [0, "NOT_OWNER"]
        if booking_id in event.confirmed:
            if payment != booking.payment:
                return [0, "INVALID_STATE"]
            return [1, "CONFIRMED", booking.code]
        del event.reserved[booking_id]
        event.confirmed[booking_id] = booking
        booking.expires_at = 0
        booking.confirmed_at = now
        booking.payment = payment
        booking.code = self.secrets.confirmation_code()
        add(event.zone_confirmed, booking.zone, booking.quantity)
        add(event.user_confirmed, booking.user, booking.quantity)
        if booking.lifetime:
            add(event.user_lifetime, booking.user, booking.quantity)
        self.rooms.confirmed(now, event_id, booking.user)
        return [1, "CONFIRMED", booking.code]

    def release(self, now, event_id, booking_id, user=None):
        event = self.event(event_id, now)
        booking = event.find(booking_id) or self.released.find(now, event_id, booking_id)
        if booking is None:
            return [0, "RESERVATION_NOT_FOUND"]
        if user is not None and user != booking.user:
            return [0, "NOT_OWNER"]
        if booking_id in event.confirmed:
            return [0, "INVALID_STATE"]
        if booking_id in event.reserved:
            del event.reserved[booking_id]
            self.released.remember(now, event_id, booking_id, booking)
        return [1, "SUCCESS", event.available(booking.zone), event.user_reserved(booking.user)]

    def refund(self, now, event_id, booking_id, user=None):
        event = self.event(event_id, now)
        booking = event.find(booking_id) or self.refunded.find(now, event_id, booking_id)
        if booking is None:
            return [0, "RESERVATION_NOT_FOUND"]
        if user is not None and user != booking.user:
            return [0, "NOT_OWNER"]
        if booking_id in event.reserved:
            return [0, "INVALID_STATE"]
        if booking_id in event.confirmed:
            del event.confirmed[booking_id]
            add(event.zone_confirmed, booking.zone, -booking.quantity)
            add(event.user_confirmed, booking.user, -booking.quantity)
            if booking.lifetime:
                add(event.user_lifetime, booking.user, -booking.quantity)
            self.refunded.remember(now, event_id, booking_id, booking)
        return [1, "REFUNDED", event.available(booking.zone)]

    def extend(self, now, event_id, booking_id, ttl):
        event = self.event(event_id, now)
        booking = event.find(booking_id)
        if booking is None:
            return [0, "RESERVATION_NOT_FOUND"]
        if booking_id in event.confirmed:
            return [0, "INVALID_STATE"]
        latest = booking.created_at + MAX_EXTENSION * booking.ttl
        booking.expires_at = max(booking.expires_at, min(now + ttl, latest))
        return [1, booking.expires_at]

    def get(self, now, event_id, booking_id):
        event = self.event(event_id, now)
        booking = event.find(booking_id)
        if booking is None:
            return [0, "RESERVATION_NOT_FOUND"]
        return self.fields(event, booking)

    def list(self, now, event_id, zone=None, user=None, status="any", after="", count=100):
        event = self.event(event_id, now)
        if after:
            return [0, "INVALID_ARGUMENT"]  # the tests make none that an engine knows
        found = []
        for which, bookings in (("reserved", event.reserved), ("confirmed", event.confirmed)):
            if status in ("any", which):
                found += bookings.values()
        return listed([
            self.fields(event, booking) for booking in found
            if zone in (None, booking.zone) and user in (None, booking.user)
        ])

    def fields(self, event, booking):
        confirmed = booking.booking in event.confirmed
        fields = [
            "booking_id", booking.booking,
            "user_id", booking.user,
            "zone_id", booking.zone,
            "event_id", booking.event,
            "show_id", booking.show,
            "quantity", booking.quantity,
            "unit_price", booking.price,
            "status", "confirmed" if confirmed else "reserved",
            "created_at", booking.created_at,
            "expires_at", booking.expires_at,
        ]
        if confirmed:
            fields += [
                "confirmed_at", booking.confirmed_at,
                "payment_id", booking.payment,
                "confirmation_code", booking.code,
            ]
        return fields

    def zone(self, now, event_id, zone):
        event = self.event(event_id, now)
        if zone not in event.capacity:
            return [0, "ZONE_NOT_FOUND"]
        return [
            "capacity", event.capacity[zone],
            "available", event.available(zone),
            "reserved", event.zone_reserved(zone),
            "confirmed", event.zone_confirmed.get(zone, 0),
        ]

    def user(self, now, event_id, user):
        event = self.event(event_id, now)
        return [event.user_held(user), event.user_confirmed.get(user, 0)]

    def close(self, now, event_id, force=False):
        event = self.event(event_id, now)
        if event.reserved or (event.confirmed and not force):
            return [0, "INVALID_STATE"]
        self.events.pop(event_id, None)
        self.released.forget_scope(event_id)
        self.refunded.forget_scope(event_id)
        return [1, len(event.confirmed), len(event.capacity)]

    def deadlines(self, now, event_id):
        """(time, booking id) of what will change by itself in the event."""
        event = self.event(event_id, now)
        due = [(booking.expires_at, booking.booking) for booking in event.reserved.values()]
        due += [(booking.expires_at + USER_GRACE_MS, booking.booking) for booking in event.lapsed]
        due += self.released.deadlines(now, event_id)
        return due + self.refunded.deadlines(now, event_id)


def add(counts, key, quantity):
    counts[key] = counts.get(key, 0) + quantity
