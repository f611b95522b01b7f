// SPDX-License-Identifier: Apache-2.0
//
// Seats: holds with a deadline, in zones of an event.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// SeatsOpen is what SEATS.OPEN is asked for. What is zero and optional is not sent.
type SeatsOpen struct {
	// The event; made by its first zone.
	Event string
	// The zone of the event.
	Zone string
	// How many seats the zone has in all.
	Capacity int64
	// How many seats of the event a user may have, beside the reserve's own limit. Optional.
	Max int64
	// With MAX: confirmed seats count against it in every reserve. Optional.
	Lifetime bool
}

// SeatsOpenReply is the answer to SEATS.OPEN.
type SeatsOpenReply struct {
	Available int64
	Capacity  int64
}

var seatsOpenCommand = command{"SEATS.OPEN", "lead", "", ""}

// SeatsOpen carries out SEATS.OPEN: make a zone, or change its capacity and its limit per user.
// Refusals: ErrCapacityInUse, ErrInvalidQuantity, ErrInvalidID, ErrInvalidArgument.
func (c *Client) SeatsOpen(ctx context.Context, ask SeatsOpen) (SeatsOpenReply, error) {
	words := []string{ask.Event, ask.Zone, number(ask.Capacity)}
	if ask.Max != 0 {
		words = append(words, "MAX", number(ask.Max))
	}
	words = flag(words, "LIFETIME", ask.Lifetime)
	var reply SeatsOpenReply
	err := c.execute(ctx, &seatsOpenCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"available", &reply.Available}, {"capacity", &reply.Capacity},
		})
	})
	return reply, err
}

// SeatsReserve is what SEATS.RESERVE is asked for. What is zero and optional is not sent.
type SeatsReserve struct {
	// The event.
	Event string
	// The zone in which the seats are.
	Zone string
	// The booking: an id of your choice, the same again for a retry.
	Booking string
	// Who the seats are for.
	User string
	// How many seats.
	Quantity int64
	// How many seats the user may hold in the event, these included.
	MaxPerUser int64
	// The performance, for your own records. Optional.
	Show string
	// The price of a seat, for your own records, in the smallest unit of the currency. Optional.
	Price int64
	// How long the seats are held unless confirmed. Optional.
	TTL time.Duration
	// The seats go on counting for the user's limit once they are confirmed. Optional.
	Lifetime bool
	// The pass of the user, where ROOM.OPEN has set GATE. Optional.
	Pass string
}

// SeatsReserveReply is the answer to SEATS.RESERVE. User_reserved is what counts against
// max_per_user; expires_at is 0 if a retry finds the booking confirmed.
type SeatsReserveReply struct {
	Remaining    int64
	UserReserved int64
	ExpiresAt    int64
}

var seatsReserveCommand = command{"SEATS.RESERVE", "lead", "", ""}

// SeatsReserve carries out SEATS.RESERVE: hold seats in a zone for a user until a deadline.
// Refusals: ErrZoneNotFound, ErrInsufficientStock, ErrUserLimitExceeded, ErrBookingExists,
// ErrNotAdmitted, ErrInvalidQuantity, ErrInvalidAmount, ErrInvalidTTL, ErrInvalidID.
func (c *Client) SeatsReserve(ctx context.Context, ask SeatsReserve) (SeatsReserveReply, error) {
	words := []string{ask.Event, ask.Zone, ask.Booking, ask.User, number(ask.Quantity), number(ask.MaxPerUser)}
	if ask.Show != "" {
		words = append(words, "SHOW", ask.Show)
	}
	if ask.Price != 0 {
		words = append(words, "PRICE", number(ask.Price))
	}
	if ask.TTL != 0 {
		words = append(words, "TTL", milliseconds(ask.TTL))
	}
	words = flag(words, "LIFETIME", ask.Lifetime)
	if ask.Pass != "" {
		words = append(words, "PASS", ask.Pass)
	}
	var reply SeatsReserveReply
	err := c.execute(ctx, &seatsReserveCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"remaining", &reply.Remaining}, {"user_reserved", &reply.UserReserved},
			{"expires_at", &reply.ExpiresAt},
		})
	})
	return reply, err
}

// SeatsConfirm is what SEATS.CONFIRM is asked for. What is zero and optional is not sent.
type SeatsConfirm struct {
	// The event.
	Event string
	// The booking that is paid for.
	Booking string
	// The user whose booking it has to be; not given: anybody's. Optional.
	User string
	// The payment; a retry has to name the same. Optional.
	Payment string
}

// SeatsConfirmReply is the answer to SEATS.CONFIRM.
type SeatsConfirmReply struct {
	Status           string
	ConfirmationCode string
}

var seatsConfirmCommand = command{"SEATS.CONFIRM", "lead", "", ""}

// SeatsConfirm carries out SEATS.CONFIRM: paid for: the booking loses its deadline and gets a
// confirmation code. Refusals: ErrReservationNotFound, ErrNotOwner, ErrInvalidState, ErrInvalidID.
func (c *Client) SeatsConfirm(ctx context.Context, ask SeatsConfirm) (SeatsConfirmReply, error) {
	words := []string{ask.Event, ask.Booking}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	if ask.Payment != "" {
		words = append(words, "PAYMENT", ask.Payment)
	}
	var reply SeatsConfirmReply
	err := c.execute(ctx, &seatsConfirmCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"status", &reply.Status}, {"confirmation_code", &reply.ConfirmationCode},
		})
	})
	return reply, err
}

// SeatsRelease is what SEATS.RELEASE is asked for. What is zero and optional is not sent.
type SeatsRelease struct {
	// The event.
	Event string
	// The booking to give back.
	Booking string
	// The user whose booking it has to be; not given: anybody's. Optional.
	User string
}

// SeatsReleaseReply is the answer to SEATS.RELEASE.
type SeatsReleaseReply struct {
	Status       string
	Available    int64
	UserReserved int64
}

var seatsReleaseCommand = command{"SEATS.RELEASE", "lead", "", ""}

// SeatsRelease carries out SEATS.RELEASE: give the seats of a booking back. Refusals:
// ErrReservationNotFound, ErrNotOwner, ErrInvalidState, ErrInvalidID.
func (c *Client) SeatsRelease(ctx context.Context, ask SeatsRelease) (SeatsReleaseReply, error) {
	words := []string{ask.Event, ask.Booking}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	var reply SeatsReleaseReply
	err := c.execute(ctx, &seatsReleaseCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"status", &reply.Status}, {"available", &reply.Available},
			{"user_reserved", &reply.UserReserved},
		})
	})
	return reply, err
}

// SeatsRefund is what SEATS.REFUND is asked for. What is zero and optional is not sent.
type SeatsRefund struct {
	// The event.
	Event string
	// The booking to give back.
	Booking string
	// The user whose booking it has to be; not given: anybody's. Optional.
	User string
}

// SeatsRefundReply is the answer to SEATS.REFUND.
type SeatsRefundReply struct {
	Status    string
	Available int64
}

var seatsRefundCommand = command{"SEATS.REFUND", "lead", "", ""}

// SeatsRefund carries out SEATS.REFUND: give a confirmed booking back: its seats are free again,
// its code is no longer valid. Refusals: ErrReservationNotFound, ErrNotOwner, ErrInvalidState,
// ErrInvalidID.
func (c *Client) SeatsRefund(ctx context.Context, ask SeatsRefund) (SeatsRefundReply, error) {
	words := []string{ask.Event, ask.Booking}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	var reply SeatsRefundReply
	err := c.execute(ctx, &seatsRefundCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"status", &reply.Status}, {"available", &reply.Available},
		})
	})
	return reply, err
}

// SeatsExtend is what SEATS.EXTEND is asked for. What is zero and optional is not sent.
type SeatsExtend struct {
	// The event.
	Event string
	// The booking to hold for longer.
	Booking string
	// How long it is held from now on.
	TTL time.Duration
}

// SeatsExtendReply is the answer to SEATS.EXTEND.
type SeatsExtendReply struct {
	ExpiresAtMs int64
}

var seatsExtendCommand = command{"SEATS.EXTEND", "lead", "", ""}

// SeatsExtend carries out SEATS.EXTEND: move a booking's deadline to now + ttl, at most 12 first
// TTLs after its start. Refusals: ErrReservationNotFound, ErrInvalidState, ErrInvalidTTL,
// ErrInvalidID.
func (c *Client) SeatsExtend(ctx context.Context, ask SeatsExtend) (SeatsExtendReply, error) {
	words := []string{ask.Event, ask.Booking, milliseconds(ask.TTL)}
	var reply SeatsExtendReply
	err := c.execute(ctx, &seatsExtendCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"expires_at_ms", &reply.ExpiresAtMs},
		})
	})
	return reply, err
}

// SeatsGet is what SEATS.GET is asked for. What is zero and optional is not sent.
type SeatsGet struct {
	// The event.
	Event string
	// The booking.
	Booking string
}

// SeatsGetReply is the answer to SEATS.GET. Times are in milliseconds since 1970. The last three
// fields are there once it is confirmed.
type SeatsGetReply struct {
	BookingID        string
	UserID           string
	ZoneID           string
	EventID          string
	ShowID           string
	Quantity         int64
	UnitPrice        int64
	Status           string
	CreatedAt        int64
	ExpiresAt        int64
	ConfirmedAt      int64
	PaymentID        string
	ConfirmationCode string
}

var seatsGetCommand = command{"SEATS.GET", "fields", "", ""}

// SeatsGet carries out SEATS.GET: one booking. Refusals: ErrReservationNotFound, ErrInvalidID.
func (c *Client) SeatsGet(ctx context.Context, ask SeatsGet) (SeatsGetReply, error) {
	words := []string{ask.Event, ask.Booking}
	var reply SeatsGetReply
	err := c.execute(ctx, &seatsGetCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"booking_id", &reply.BookingID}, {"user_id", &reply.UserID}, {"zone_id", &reply.ZoneID},
			{"event_id", &reply.EventID}, {"show_id", &reply.ShowID}, {"quantity", &reply.Quantity},
			{"unit_price", &reply.UnitPrice}, {"status", &reply.Status},
			{"created_at", &reply.CreatedAt}, {"expires_at", &reply.ExpiresAt},
			{"confirmed_at", &reply.ConfirmedAt}, {"payment_id", &reply.PaymentID},
			{"confirmation_code", &reply.ConfirmationCode},
		})
	})
	return reply, err
}

// SeatsList is what SEATS.LIST is asked for. What is zero and optional is not sent.
type SeatsList struct {
	// The event.
	Event string
	// Only bookings in this zone; not given: in all. Optional.
	Zone string
	// Only bookings of this user; not given: of all. Optional.
	User string
	// Only reserved, or only confirmed ones: any, reserved, confirmed. Optional.
	Status string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many bookings at most. Optional.
	Count int64
}

// SeatsListItem is an item of the answer to SEATS.LIST. An empty cursor says that this was the end.
type SeatsListItem struct {
	BookingID        string
	UserID           string
	ZoneID           string
	EventID          string
	ShowID           string
	Quantity         int64
	UnitPrice        int64
	Status           string
	CreatedAt        int64
	ExpiresAt        int64
	ConfirmedAt      int64
	PaymentID        string
	ConfirmationCode string
}

var seatsListCommand = command{"SEATS.LIST", "page", "", ""}

// SeatsList carries out SEATS.LIST: the bookings of an event that are reserved or confirmed, page
// by page. Refusals: ErrInvalidArgument, ErrInvalidQuantity, ErrInvalidID, ErrPayloadTooLarge.
func (c *Client) SeatsList(ctx context.Context, ask SeatsList) (Page[SeatsListItem], error) {
	words := []string{ask.Event}
	if ask.Zone != "" {
		words = append(words, "ZONE", ask.Zone)
	}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	if ask.Status != "" {
		words = append(words, "STATUS", ask.Status)
	}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[SeatsListItem]
	err := c.execute(ctx, &seatsListCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *SeatsListItem) fields {
			return fields{
				{"booking_id", &item.BookingID}, {"user_id", &item.UserID}, {"zone_id", &item.ZoneID},
				{"event_id", &item.EventID}, {"show_id", &item.ShowID}, {"quantity", &item.Quantity},
				{"unit_price", &item.UnitPrice}, {"status", &item.Status}, {"created_at", &item.CreatedAt},
				{"expires_at", &item.ExpiresAt}, {"confirmed_at", &item.ConfirmedAt},
				{"payment_id", &item.PaymentID}, {"confirmation_code", &item.ConfirmationCode},
			}
		})
	})
	return reply, err
}

// SeatsZone is what SEATS.ZONE is asked for. What is zero and optional is not sent.
type SeatsZone struct {
	// The event.
	Event string
	// The zone of the event.
	Zone string
}

// SeatsZoneReply is the answer to SEATS.ZONE.
type SeatsZoneReply struct {
	Capacity  int64
	Available int64
	Reserved  int64
	Confirmed int64
}

var seatsZoneCommand = command{"SEATS.ZONE", "fields", "", ""}

// SeatsZone carries out SEATS.ZONE: a zone's totals: capacity = available + reserved + confirmed.
// Refusals: ErrZoneNotFound, ErrInvalidID.
func (c *Client) SeatsZone(ctx context.Context, ask SeatsZone) (SeatsZoneReply, error) {
	words := []string{ask.Event, ask.Zone}
	var reply SeatsZoneReply
	err := c.execute(ctx, &seatsZoneCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"capacity", &reply.Capacity}, {"available", &reply.Available},
			{"reserved", &reply.Reserved}, {"confirmed", &reply.Confirmed},
		})
	})
	return reply, err
}

// SeatsUser is what SEATS.USER is asked for. What is zero and optional is not sent.
type SeatsUser struct {
	// The event.
	Event string
	// The user.
	User string
}

// SeatsUserReply is the answer to SEATS.USER. Held includes what expired less than 60 s ago; [0, 0]
// for a user or an event nobody knows.
type SeatsUserReply struct {
	Held      int64
	Confirmed int64
}

var seatsUserCommand = command{"SEATS.USER", "list", "", ""}

// SeatsUser carries out SEATS.USER: how many seats a user holds and has confirmed in an event.
// Refusals: ErrInvalidID.
func (c *Client) SeatsUser(ctx context.Context, ask SeatsUser) (SeatsUserReply, error) {
	words := []string{ask.Event, ask.User}
	var reply SeatsUserReply
	err := c.execute(ctx, &seatsUserCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"held", &reply.Held}, {"confirmed", &reply.Confirmed},
		})
	})
	return reply, err
}

// SeatsClose is what SEATS.CLOSE is asked for. What is zero and optional is not sent.
type SeatsClose struct {
	// The event that is over.
	Event string
	// Confirmed bookings are removed, too. Optional.
	Force bool
}

// SeatsCloseReply is the answer to SEATS.CLOSE. How many bookings and zones were removed; an event
// nobody knows is closed already: [1, 0, 0]. The waiting room of the event stays.
type SeatsCloseReply struct {
	Bookings int64
	Zones    int64
}

var seatsCloseCommand = command{"SEATS.CLOSE", "lead", "", ""}

// SeatsClose carries out SEATS.CLOSE: the event is over: remove its zones, bookings and users.
// Refusals: ErrInvalidState, ErrInvalidID.
func (c *Client) SeatsClose(ctx context.Context, ask SeatsClose) (SeatsCloseReply, error) {
	words := []string{ask.Event}
	words = flag(words, "FORCE", ask.Force)
	var reply SeatsCloseReply
	err := c.execute(ctx, &seatsCloseCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"bookings", &reply.Bookings}, {"zones", &reply.Zones},
		})
	})
	return reply, err
}

// SeatsBookings is what SEATS.BOOKINGS is asked for. What is zero and optional is not sent.
type SeatsBookings struct {
	// The user.
	User string
	// Only bookings of this event; not given: of all. Optional.
	Event string
	// Only bookings in zones of this name; not given: in all. Optional.
	Zone string
	// Only bookings in this state: any, reserved, confirmed, cancelled, expired, refunded.
	// Optional.
	Status string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many bookings at most. Optional.
	Count int64
}

// SeatsBookingsItem is an item of the answer to SEATS.BOOKINGS. An empty cursor says that this was
// the end; a page that a filter leaves empty has one. Times are in milliseconds since 1970, and
// left out where there is none.
type SeatsBookingsItem struct {
	BookingID        string
	UserID           string
	ZoneID           string
	EventID          string
	ShowID           string
	Quantity         int64
	UnitPrice        int64
	Status           string
	CreatedAt        int64
	ExpiresAt        int64
	ConfirmedAt      int64
	EndedAt          int64
	PaymentID        string
	ConfirmationCode string
}

var seatsBookingsCommand = command{"SEATS.BOOKINGS", "page", "", ""}

// SeatsBookings carries out SEATS.BOOKINGS: the bookings of a user as the ledger has them, in every
// state, page by page. Refusals: ErrInvalidArgument, ErrLedgerDown, ErrTimeout, ErrInvalidQuantity,
// ErrInvalidID, ErrPayloadTooLarge.
func (c *Client) SeatsBookings(ctx context.Context, ask SeatsBookings) (Page[SeatsBookingsItem], error) {
	words := []string{ask.User}
	if ask.Event != "" {
		words = append(words, "EVENT", ask.Event)
	}
	if ask.Zone != "" {
		words = append(words, "ZONE", ask.Zone)
	}
	if ask.Status != "" {
		words = append(words, "STATUS", ask.Status)
	}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[SeatsBookingsItem]
	err := c.execute(ctx, &seatsBookingsCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *SeatsBookingsItem) fields {
			return fields{
				{"booking_id", &item.BookingID}, {"user_id", &item.UserID}, {"zone_id", &item.ZoneID},
				{"event_id", &item.EventID}, {"show_id", &item.ShowID}, {"quantity", &item.Quantity},
				{"unit_price", &item.UnitPrice}, {"status", &item.Status}, {"created_at", &item.CreatedAt},
				{"expires_at", &item.ExpiresAt}, {"confirmed_at", &item.ConfirmedAt},
				{"ended_at", &item.EndedAt}, {"payment_id", &item.PaymentID},
				{"confirmation_code", &item.ConfirmationCode},
			}
		})
	})
	return reply, err
}

// SeatsHistory is what SEATS.HISTORY is asked for. What is zero and optional is not sent.
type SeatsHistory struct {
	// The event.
	Event string
	// Only bookings in this zone; not given: in all. Optional.
	Zone string
	// Only bookings of this user; not given: of all. Optional.
	User string
	// Only bookings in this state: any, reserved, confirmed, cancelled, expired, refunded.
	// Optional.
	Status string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many bookings at most. Optional.
	Count int64
}

// SeatsHistoryItem is an item of the answer to SEATS.HISTORY. An empty cursor says that this was
// the end; a page that a filter leaves empty has one. Times are in milliseconds since 1970, and
// left out where there is none.
type SeatsHistoryItem struct {
	BookingID        string
	UserID           string
	ZoneID           string
	EventID          string
	ShowID           string
	Quantity         int64
	UnitPrice        int64
	Status           string
	CreatedAt        int64
	ExpiresAt        int64
	ConfirmedAt      int64
	EndedAt          int64
	PaymentID        string
	ConfirmationCode string
}

var seatsHistoryCommand = command{"SEATS.HISTORY", "page", "", ""}

// SeatsHistory carries out SEATS.HISTORY: the bookings of an event as the ledger has them, in every
// state, page by page. Refusals: ErrInvalidArgument, ErrLedgerDown, ErrTimeout, ErrInvalidQuantity,
// ErrInvalidID, ErrPayloadTooLarge.
func (c *Client) SeatsHistory(ctx context.Context, ask SeatsHistory) (Page[SeatsHistoryItem], error) {
	words := []string{ask.Event}
	if ask.Zone != "" {
		words = append(words, "ZONE", ask.Zone)
	}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	if ask.Status != "" {
		words = append(words, "STATUS", ask.Status)
	}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[SeatsHistoryItem]
	err := c.execute(ctx, &seatsHistoryCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *SeatsHistoryItem) fields {
			return fields{
				{"booking_id", &item.BookingID}, {"user_id", &item.UserID}, {"zone_id", &item.ZoneID},
				{"event_id", &item.EventID}, {"show_id", &item.ShowID}, {"quantity", &item.Quantity},
				{"unit_price", &item.UnitPrice}, {"status", &item.Status}, {"created_at", &item.CreatedAt},
				{"expires_at", &item.ExpiresAt}, {"confirmed_at", &item.ConfirmedAt},
				{"ended_at", &item.EndedAt}, {"payment_id", &item.PaymentID},
				{"confirmation_code", &item.ConfirmationCode},
			}
		})
	})
	return reply, err
}

// SeatsSummary is what SEATS.SUMMARY is asked for. What is zero and optional is not sent.
type SeatsSummary struct {
	// The event.
	Event string
	// The user.
	User string
	// The zone whose MAX is the limit; not given: it is unknown. Optional.
	Zone string
}

// SeatsSummaryReply is the answer to SEATS.SUMMARY. Held includes what expired less than 60 s ago.
// limited is yes or no, as the zone has a MAX, or unknown without ZONE; limit and left are there
// with yes.
type SeatsSummaryReply struct {
	Held      int64
	Confirmed int64
	Limited   string
	Limit     int64
	Left      int64
}

var seatsSummaryCommand = command{"SEATS.SUMMARY", "fields", "", ""}

// SeatsSummary carries out SEATS.SUMMARY: what a user has in an event, and may still have in a zone
// of it. Refusals: ErrZoneNotFound, ErrInvalidID.
func (c *Client) SeatsSummary(ctx context.Context, ask SeatsSummary) (SeatsSummaryReply, error) {
	words := []string{ask.Event, ask.User}
	if ask.Zone != "" {
		words = append(words, "ZONE", ask.Zone)
	}
	var reply SeatsSummaryReply
	err := c.execute(ctx, &seatsSummaryCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"held", &reply.Held}, {"confirmed", &reply.Confirmed}, {"limited", &reply.Limited},
			{"limit", &reply.Limit}, {"left", &reply.Left},
		})
	})
	return reply, err
}

// SeatsCheckout is what SEATS.CHECKOUT is asked for. What is zero and optional is not sent.
type SeatsCheckout struct {
	// The event.
	Event string
	// The zone.
	Zone string
	// Who buys.
	User string
	// How many seats.
	Quantity int64
	// How many the user may hold of the event.
	MaxPerUser int64
	// The booking: an id of your choice, the same again for a retry; or one is made. Optional.
	Booking string
	// The saga: an id of your choice; not given: one is made. Optional.
	Saga string
	// The price of a seat in whole minor units of the currency, such as cents. Optional.
	Price int64
	// Three letters, such as EUR; not given: that of the settings. Optional.
	Currency string
	// The pass of the waiting room, if the event has a gate. Optional.
	Pass string
	// What the payment peer is to charge, as it was told by the peer to the client. Optional.
	Token string
	// How long to wait for the end. Optional.
	Wait time.Duration
}

// SeatsCheckoutReply is the answer to SEATS.CHECKOUT. Status is STARTED, RESERVED, PAYING, PAID,
// COMPLETED, COMPENSATING, COMPENSATED or NEEDS_ATTENTION. Without WAIT it is answered as soon as
// the ledger has it; what a checkout was compensated for is a refusal once that is known. The same
// booking again is answered with the same saga.
type SeatsCheckoutReply struct {
	SagaID    string
	BookingID string
	Status    string
}

var seatsCheckoutCommand = command{"SEATS.CHECKOUT", "lead", "", ""}

// SeatsCheckout carries out SEATS.CHECKOUT: check out: seats held, payment taken, booking
// confirmed; or all of it taken back. Refusals: ErrInvalidState, ErrInvalidAmount,
// ErrPaymentDeclined, ErrInsufficientStock, ErrZoneNotFound, ErrUserLimitExceeded, ErrNotAdmitted,
// ErrReservationNotFound, ErrBusy, ErrLedgerDown, ErrTimeout, ErrInvalidQuantity, ErrInvalidTTL,
// ErrInvalidID, ErrInvalidArgument, ErrPayloadTooLarge.
func (c *Client) SeatsCheckout(ctx context.Context, ask SeatsCheckout) (SeatsCheckoutReply, error) {
	words := []string{ask.Event, ask.Zone, ask.User, number(ask.Quantity), number(ask.MaxPerUser)}
	if ask.Booking != "" {
		words = append(words, "BOOKING", ask.Booking)
	}
	if ask.Saga != "" {
		words = append(words, "SAGA", ask.Saga)
	}
	if ask.Price != 0 {
		words = append(words, "PRICE", number(ask.Price))
	}
	if ask.Currency != "" {
		words = append(words, "CURRENCY", ask.Currency)
	}
	if ask.Pass != "" {
		words = append(words, "PASS", ask.Pass)
	}
	if ask.Token != "" {
		words = append(words, "TOKEN", ask.Token)
	}
	var reply SeatsCheckoutReply
	err := c.execute(ctx, &seatsCheckoutCommand, words, ask.Booking != "", ask.Wait, func(a answer) error {
		return a.read(fields{
			{"saga_id", &reply.SagaID}, {"booking_id", &reply.BookingID}, {"status", &reply.Status},
		})
	})
	return reply, err
}
