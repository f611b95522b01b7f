# SPDX-License-Identifier: Apache-2.0
"""Seats: holds with a deadline, in zones of an event.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Duration, Family, Page, Words, duration, flag, option


class SeatsOpenReply(NamedTuple):
    """The answer to SEATS.OPEN."""

    available: int
    capacity: int


class SeatsReserveReply(NamedTuple):
    """The answer to SEATS.RESERVE. User_reserved is what counts against max_per_user; expires_at is
    0 if a retry finds the booking confirmed.
    """

    remaining: int
    user_reserved: int
    expires_at: int


class SeatsConfirmReply(NamedTuple):
    """The answer to SEATS.CONFIRM."""

    status: str
    confirmation_code: str


class SeatsReleaseReply(NamedTuple):
    """The answer to SEATS.RELEASE."""

    status: str
    available: int
    user_reserved: int


class SeatsRefundReply(NamedTuple):
    """The answer to SEATS.REFUND."""

    status: str
    available: int


class SeatsExtendReply(NamedTuple):
    """The answer to SEATS.EXTEND."""

    expires_at_ms: int


class SeatsGetReply(NamedTuple):
    """The answer to SEATS.GET. Times are in milliseconds since 1970. The last three fields are
    there once it is confirmed.
    """

    booking_id: str = ""
    user_id: str = ""
    zone_id: str = ""
    event_id: str = ""
    show_id: str = ""
    quantity: int = 0
    unit_price: int = 0
    status: str = ""
    created_at: int = 0
    expires_at: int = 0
    confirmed_at: int = 0
    payment_id: str = ""
    confirmation_code: str = ""


class SeatsListItem(NamedTuple):
    """An item of the answer to SEATS.LIST. An empty cursor says that this was the end."""

    booking_id: str = ""
    user_id: str = ""
    zone_id: str = ""
    event_id: str = ""
    show_id: str = ""
    quantity: int = 0
    unit_price: int = 0
    status: str = ""
    created_at: int = 0
    expires_at: int = 0
    confirmed_at: int = 0
    payment_id: str = ""
    confirmation_code: str = ""


class SeatsZoneReply(NamedTuple):
    """The answer to SEATS.ZONE."""

    capacity: int = 0
    available: int = 0
    reserved: int = 0
    confirmed: int = 0


class SeatsUserReply(NamedTuple):
    """The answer to SEATS.USER. Held includes what expired less than 60 s ago; [0, 0] for a user or
    an event nobody knows.
    """

    held: int
    confirmed: int


class SeatsCloseReply(NamedTuple):
    """The answer to SEATS.CLOSE. How many bookings and zones were removed; an event nobody knows is
    closed already: [1, 0, 0]. The waiting room of the event stays.
    """

    bookings: int
    zones: int


class SeatsBookingsItem(NamedTuple):
    """An item of the answer to SEATS.BOOKINGS. An empty cursor says that this was the end; a page
    that a filter leaves empty has one. Times are in milliseconds since 1970, and left out where
    there is none.
    """

    booking_id: str = ""
    user_id: str = ""
    zone_id: str = ""
    event_id: str = ""
    show_id: str = ""
    quantity: int = 0
    unit_price: int = 0
    status: str = ""
    created_at: int = 0
    expires_at: int = 0
    confirmed_at: int = 0
    ended_at: int = 0
    payment_id: str = ""
    confirmation_code: str = ""


class SeatsHistoryItem(NamedTuple):
    """An item of the answer to SEATS.HISTORY. An empty cursor says that this was the end; a page
    that a filter leaves empty has one. Times are in milliseconds since 1970, and left out where
    there is none.
    """

    booking_id: str = ""
    user_id: str = ""
    zone_id: str = ""
    event_id: str = ""
    show_id: str = ""
    quantity: int = 0
    unit_price: int = 0
    status: str = ""
    created_at: int = 0
    expires_at: int = 0
    confirmed_at: int = 0
    ended_at: int = 0
    payment_id: str = ""
    confirmation_code: str = ""


class SeatsSummaryReply(NamedTuple):
    """The answer to SEATS.SUMMARY. Held includes what expired less than 60 s ago. limited is yes or
    no, as the zone has a MAX, or unknown without ZONE; limit and left are there with yes.
    """

    held: int = 0
    confirmed: int = 0
    limited: str = ""
    limit: int = 0
    left: int = 0


class SeatsCheckoutReply(NamedTuple):
    """The answer to SEATS.CHECKOUT. Status is STARTED, RESERVED, PAYING, PAID, COMPLETED,
    COMPENSATING, COMPENSATED or NEEDS_ATTENTION. Without WAIT it is answered as soon as the
    ledger has it; what a checkout was compensated for is a refusal once that is known. The same
    booking again is answered with the same saga.
    """

    saga_id: str
    booking_id: str
    status: str


_OPEN: Command[SeatsOpenReply] = Command("SEATS.OPEN", "lead", SeatsOpenReply)
_RESERVE: Command[SeatsReserveReply] = Command("SEATS.RESERVE", "lead", SeatsReserveReply)
_CONFIRM: Command[SeatsConfirmReply] = Command("SEATS.CONFIRM", "lead", SeatsConfirmReply)
_RELEASE: Command[SeatsReleaseReply] = Command("SEATS.RELEASE", "lead", SeatsReleaseReply)
_REFUND: Command[SeatsRefundReply] = Command("SEATS.REFUND", "lead", SeatsRefundReply)
_EXTEND: Command[SeatsExtendReply] = Command("SEATS.EXTEND", "lead", SeatsExtendReply)
_GET: Command[SeatsGetReply] = Command("SEATS.GET", "fields", SeatsGetReply)
_LIST: Command[Page[SeatsListItem]] = Command("SEATS.LIST", "page", SeatsListItem)
_ZONE: Command[SeatsZoneReply] = Command("SEATS.ZONE", "fields", SeatsZoneReply)
_USER: Command[SeatsUserReply] = Command("SEATS.USER", "list", SeatsUserReply)
_CLOSE: Command[SeatsCloseReply] = Command("SEATS.CLOSE", "lead", SeatsCloseReply)
_BOOKINGS: Command[Page[SeatsBookingsItem]] = Command("SEATS.BOOKINGS", "page", SeatsBookingsItem)
_HISTORY: Command[Page[SeatsHistoryItem]] = Command("SEATS.HISTORY", "page", SeatsHistoryItem)
_SUMMARY: Command[SeatsSummaryReply] = Command("SEATS.SUMMARY", "fields", SeatsSummaryReply)
_CHECKOUT: Command[SeatsCheckoutReply] = Command("SEATS.CHECKOUT", "lead", SeatsCheckoutReply)


class Seats(Family):
    """Seats: holds with a deadline, in zones of an event."""

    def open(
            self, event: str, zone: str, capacity: int, *, max: Optional[int] = None,
            lifetime: bool = False) -> SeatsOpenReply:
        """Make a zone, or change its capacity and its limit per user.

        event: the event; made by its first zone
        zone: the zone of the event
        capacity: how many seats the zone has in all
        max: how many seats of the event a user may have, beside the reserve's own limit
        lifetime: with MAX: confirmed seats count against it in every reserve
        Raises: CapacityInUse, InvalidQuantity, InvalidId, InvalidArgument
        """
        words: Words = [event, zone, capacity]
        words += option("MAX", max)
        words += flag("LIFETIME", lifetime)
        return self._execute(_OPEN, words, again=False)

    def reserve(
            self, event: str, zone: str, booking: str, user: str, quantity: int, max_per_user: int,
            *, show: Optional[str] = None, price: Optional[int] = None,
            ttl: Optional[Duration] = None, lifetime: bool = False,
            pass_: Optional[str] = None) -> SeatsReserveReply:
        """Hold seats in a zone for a user until a deadline.

        event: the event
        zone: the zone in which the seats are
        booking: the booking: an id of your choice, the same again for a retry
        user: who the seats are for
        quantity: how many seats
        max_per_user: how many seats the user may hold in the event, these included
        show: the performance, for your own records
        price: the price of a seat, for your own records, in the smallest unit of the currency
        ttl: how long the seats are held unless confirmed
        lifetime: the seats go on counting for the user's limit once they are confirmed
        pass_: the pass of the user, where ROOM.OPEN has set GATE
        Raises: ZoneNotFound, InsufficientStock, UserLimitExceeded, BookingExists, NotAdmitted,
            InvalidQuantity, InvalidAmount, InvalidTtl, InvalidId
        """
        words: Words = [event, zone, booking, user, quantity, max_per_user]
        words += option("SHOW", show)
        words += option("PRICE", price)
        words += option("TTL", duration(ttl))
        words += flag("LIFETIME", lifetime)
        words += option("PASS", pass_)
        return self._execute(_RESERVE, words, again=True)

    def confirm(
            self, event: str, booking: str, *, user: Optional[str] = None,
            payment: Optional[str] = None) -> SeatsConfirmReply:
        """Paid for: the booking loses its deadline and gets a confirmation code.

        event: the event
        booking: the booking that is paid for
        user: the user whose booking it has to be; not given: anybody's
        payment: the payment; a retry has to name the same
        Raises: ReservationNotFound, NotOwner, InvalidState, InvalidId
        """
        words: Words = [event, booking]
        words += option("USER", user)
        words += option("PAYMENT", payment)
        return self._execute(_CONFIRM, words, again=True)

    def release(self, event: str, booking: str, *, user: Optional[str] = None) -> SeatsReleaseReply:
        """Give the seats of a booking back.

        event: the event
        booking: the booking to give back
        user: the user whose booking it has to be; not given: anybody's
        Raises: ReservationNotFound, NotOwner, InvalidState, InvalidId
        """
        words: Words = [event, booking]
        words += option("USER", user)
        return self._execute(_RELEASE, words, again=True)

    def refund(self, event: str, booking: str, *, user: Optional[str] = None) -> SeatsRefundReply:
        """Give a confirmed booking back: its seats are free again, its code is no longer valid.

        event: the event
        booking: the booking to give back
        user: the user whose booking it has to be; not given: anybody's
        Raises: ReservationNotFound, NotOwner, InvalidState, InvalidId
        """
        words: Words = [event, booking]
        words += option("USER", user)
        return self._execute(_REFUND, words, again=True)

    def extend(self, event: str, booking: str, ttl: Duration) -> SeatsExtendReply:
        """Move a booking's deadline to now + ttl, at most 12 first TTLs after its start.

        event: the event
        booking: the booking to hold for longer
        ttl: how long it is held from now on
        Raises: ReservationNotFound, InvalidState, InvalidTtl, InvalidId
        """
        words: Words = [event, booking, duration(ttl)]
        return self._execute(_EXTEND, words, again=True)

    def get(self, event: str, booking: str) -> SeatsGetReply:
        """One booking.

        event: the event
        booking: the booking
        Raises: ReservationNotFound, InvalidId
        """
        words: Words = [event, booking]
        return self._execute(_GET, words, again=True)

    def list(
            self, event: str, *, zone: Optional[str] = None, user: Optional[str] = None,
            status: Optional[str] = None, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[SeatsListItem]:
        """The bookings of an event that are reserved or confirmed, page by page.

        event: the event
        zone: only bookings in this zone; not given: in all
        user: only bookings of this user; not given: of all
        status: only reserved, or only confirmed ones (any, reserved, confirmed)
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many bookings at most
        Raises: InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge
        """
        words: Words = [event]
        words += option("ZONE", zone)
        words += option("USER", user)
        words += option("STATUS", status)
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_LIST, words, again=True)

    def zone(self, event: str, zone: str) -> SeatsZoneReply:
        """A zone's totals: capacity = available + reserved + confirmed.

        event: the event
        zone: the zone of the event
        Raises: ZoneNotFound, InvalidId
        """
        words: Words = [event, zone]
        return self._execute(_ZONE, words, again=True)

    def user(self, event: str, user: str) -> SeatsUserReply:
        """How many seats a user holds and has confirmed in an event.

        event: the event
        user: the user
        Raises: InvalidId
        """
        words: Words = [event, user]
        return self._execute(_USER, words, again=True)

    def close(self, event: str, *, force: bool = False) -> SeatsCloseReply:
        """The event is over: remove its zones, bookings and users.

        event: the event that is over
        force: confirmed bookings are removed, too
        Raises: InvalidState, InvalidId
        """
        words: Words = [event]
        words += flag("FORCE", force)
        return self._execute(_CLOSE, words, again=True)

    def bookings(
            self, user: str, *, event: Optional[str] = None, zone: Optional[str] = None,
            status: Optional[str] = None, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[SeatsBookingsItem]:
        """The bookings of a user as the ledger has them, in every state, page by page.

        user: the user
        event: only bookings of this event; not given: of all
        zone: only bookings in zones of this name; not given: in all
        status: only bookings in this state (any, reserved, confirmed, cancelled, expired,
            refunded)
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many bookings at most
        Raises: InvalidArgument, LedgerDown, Timeout, InvalidQuantity, InvalidId,
            PayloadTooLarge
        """
        words: Words = [user]
        words += option("EVENT", event)
        words += option("ZONE", zone)
        words += option("STATUS", status)
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_BOOKINGS, words, again=True)

    def history(
            self, event: str, *, zone: Optional[str] = None, user: Optional[str] = None,
            status: Optional[str] = None, after: Optional[str] = None,
            count: Optional[int] = None) -> Page[SeatsHistoryItem]:
        """The bookings of an event as the ledger has them, in every state, page by page.

        event: the event
        zone: only bookings in this zone; not given: in all
        user: only bookings of this user; not given: of all
        status: only bookings in this state (any, reserved, confirmed, cancelled, expired,
            refunded)
        after: the cursor that the page before ended with; not given: from the beginning
        count: how many bookings at most
        Raises: InvalidArgument, LedgerDown, Timeout, InvalidQuantity, InvalidId,
            PayloadTooLarge
        """
        words: Words = [event]
        words += option("ZONE", zone)
        words += option("USER", user)
        words += option("STATUS", status)
        words += option("AFTER", after)
        words += option("COUNT", count)
        return self._execute(_HISTORY, words, again=True)

    def summary(self, event: str, user: str, *, zone: Optional[str] = None) -> SeatsSummaryReply:
        """What a user has in an event, and may still have in a zone of it.

        event: the event
        user: the user
        zone: the zone whose MAX is the limit; not given: it is unknown
        Raises: ZoneNotFound, InvalidId
        """
        words: Words = [event, user]
        words += option("ZONE", zone)
        return self._execute(_SUMMARY, words, again=True)

    def checkout(
            self, event: str, zone: str, user: str, quantity: int, max_per_user: int, *,
            booking: Optional[str] = None, saga: Optional[str] = None, price: Optional[int] = None,
            currency: Optional[str] = None, pass_: Optional[str] = None,
            token: Optional[str] = None, wait: Optional[Duration] = None) -> SeatsCheckoutReply:
        """Check out: seats held, payment taken, booking confirmed; or all of it taken back.

        event: the event
        zone: the zone
        user: who buys
        quantity: how many seats
        max_per_user: how many the user may hold of the event
        booking: the booking: an id of your choice, the same again for a retry; or one is made
        saga: the saga: an id of your choice; not given: one is made
        price: the price of a seat in whole minor units of the currency, such as cents
        currency: three letters, such as EUR; not given: that of the settings
        pass_: the pass of the waiting room, if the event has a gate
        token: what the payment peer is to charge, as it was told by the peer to the client
        wait: how long to wait for the end
        Raises: InvalidState, InvalidAmount, PaymentDeclined, InsufficientStock, ZoneNotFound,
            UserLimitExceeded, NotAdmitted, ReservationNotFound, Busy, LedgerDown, Timeout,
            InvalidQuantity, InvalidTtl, InvalidId, InvalidArgument, PayloadTooLarge
        """
        words: Words = [event, zone, user, quantity, max_per_user]
        words += option("BOOKING", booking)
        words += option("SAGA", saga)
        words += option("PRICE", price)
        words += option("CURRENCY", currency)
        words += option("PASS", pass_)
        words += option("TOKEN", token)
        return self._execute(_CHECKOUT, words, again=booking is not None, wait=wait)
