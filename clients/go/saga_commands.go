// SPDX-License-Identifier: Apache-2.0
//
// Checkouts that are in flight or have ended.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// SagaGet is what SAGA.GET is asked for. What is zero and optional is not sent.
type SagaGet struct {
	// The saga.
	Saga string
	// How long to wait for its end. Optional.
	Wait time.Duration
}

// SagaGetReply is the answer to SAGA.GET. Status is STARTED, RESERVED, PAYING, PAID, COMPLETED,
// COMPENSATING, COMPENSATED or NEEDS_ATTENTION; payment is what is known of the charge: none, sent,
// succeeded, declined or refunded; error_code is empty unless something stands in the way or led to
// the compensation. Times are the database's.
type SagaGetReply struct {
	SagaID       string
	Status       string
	EventID      string
	BookingID    string
	ZoneID       string
	UserID       string
	Quantity     int64
	UnitPrice    int64
	Amount       int64
	Currency     string
	PaymentID    string
	Payment      string
	Provider     string
	ErrorCode    string
	ErrorMessage string
	Attempts     int64
	CreatedAt    int64
	UpdatedAt    int64
}

var sagaGetCommand = command{"SAGA.GET", "fields", "", ""}

// SagaGet carries out SAGA.GET: how far a checkout is. Refusals: ErrNotFound, ErrLedgerDown,
// ErrTimeout, ErrInvalidTTL, ErrInvalidID.
func (c *Client) SagaGet(ctx context.Context, ask SagaGet) (SagaGetReply, error) {
	words := []string{ask.Saga}
	var reply SagaGetReply
	err := c.execute(ctx, &sagaGetCommand, words, true, ask.Wait, func(a answer) error {
		return a.read(fields{
			{"saga_id", &reply.SagaID}, {"status", &reply.Status}, {"event_id", &reply.EventID},
			{"booking_id", &reply.BookingID}, {"zone_id", &reply.ZoneID}, {"user_id", &reply.UserID},
			{"quantity", &reply.Quantity}, {"unit_price", &reply.UnitPrice}, {"amount", &reply.Amount},
			{"currency", &reply.Currency}, {"payment_id", &reply.PaymentID}, {"payment", &reply.Payment},
			{"provider", &reply.Provider}, {"error_code", &reply.ErrorCode},
			{"error_message", &reply.ErrorMessage}, {"attempts", &reply.Attempts},
			{"created_at", &reply.CreatedAt}, {"updated_at", &reply.UpdatedAt},
		})
	})
	return reply, err
}

// SagaList is what SAGA.LIST is asked for. What is zero and optional is not sent.
type SagaList struct {
	// Only those in this state: any, STARTED, RESERVED, PAYING, PAID, COMPLETED, COMPENSATING,
	// COMPENSATED, NEEDS_ATTENTION. Optional.
	Status string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many checkouts at most. Optional.
	Count int64
}

// SagaListItem is an item of the answer to SAGA.LIST. In the order of their ids; each as SAGA.GET
// shows it. An empty cursor says that this was the end; a page of one state may be short or empty
// and have one.
type SagaListItem struct {
	SagaID       string
	Status       string
	EventID      string
	BookingID    string
	ZoneID       string
	UserID       string
	Quantity     int64
	UnitPrice    int64
	Amount       int64
	Currency     string
	PaymentID    string
	Payment      string
	Provider     string
	ErrorCode    string
	ErrorMessage string
	Attempts     int64
	CreatedAt    int64
	UpdatedAt    int64
}

var sagaListCommand = command{"SAGA.LIST", "page", "", ""}

// SagaList carries out SAGA.LIST: the checkouts of the ledger, all or those in one state, page by
// page. Refusals: ErrInvalidArgument, ErrLedgerDown, ErrTimeout, ErrInvalidQuantity,
// ErrPayloadTooLarge.
func (c *Client) SagaList(ctx context.Context, ask SagaList) (Page[SagaListItem], error) {
	words := []string{}
	if ask.Status != "" {
		words = append(words, "STATUS", ask.Status)
	}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[SagaListItem]
	err := c.execute(ctx, &sagaListCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *SagaListItem) fields {
			return fields{
				{"saga_id", &item.SagaID}, {"status", &item.Status}, {"event_id", &item.EventID},
				{"booking_id", &item.BookingID}, {"zone_id", &item.ZoneID}, {"user_id", &item.UserID},
				{"quantity", &item.Quantity}, {"unit_price", &item.UnitPrice}, {"amount", &item.Amount},
				{"currency", &item.Currency}, {"payment_id", &item.PaymentID}, {"payment", &item.Payment},
				{"provider", &item.Provider}, {"error_code", &item.ErrorCode},
				{"error_message", &item.ErrorMessage}, {"attempts", &item.Attempts},
				{"created_at", &item.CreatedAt}, {"updated_at", &item.UpdatedAt},
			}
		})
	})
	return reply, err
}

// SagaResume is what SAGA.RESUME is asked for. What is zero and optional is not sent.
type SagaResume struct {
	// The saga.
	Saga string
}

// SagaResumeReply is the answer to SAGA.RESUME. Any other saga is left alone; status says where it
// is.
type SagaResumeReply struct {
	SagaID string
	Status string
}

var sagaResumeCommand = command{"SAGA.RESUME", "lead", "", ""}

// SagaResume carries out SAGA.RESUME: drive a saga on that needs attention, from where it was.
// Refusals: ErrNotFound, ErrBusy, ErrLedgerDown, ErrTimeout, ErrInvalidID.
func (c *Client) SagaResume(ctx context.Context, ask SagaResume) (SagaResumeReply, error) {
	words := []string{ask.Saga}
	var reply SagaResumeReply
	err := c.execute(ctx, &sagaResumeCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"saga_id", &reply.SagaID}, {"status", &reply.Status},
		})
	})
	return reply, err
}

// SagaRefund is what SAGA.REFUND is asked for. What is zero and optional is not sent.
type SagaRefund struct {
	// The saga.
	Saga string
}

// SagaRefundReply is the answer to SAGA.REFUND. SAGA.GET tells when it is COMPENSATED.
type SagaRefundReply struct {
	SagaID string
	Status string
}

var sagaRefundCommand = command{"SAGA.REFUND", "lead", "", ""}

// SagaRefund carries out SAGA.REFUND: take a checkout back that is completed or needs attention:
// seats and payment. Refusals: ErrNotFound, ErrInvalidState, ErrBusy, ErrLedgerDown, ErrTimeout,
// ErrInvalidID.
func (c *Client) SagaRefund(ctx context.Context, ask SagaRefund) (SagaRefundReply, error) {
	words := []string{ask.Saga}
	var reply SagaRefundReply
	err := c.execute(ctx, &sagaRefundCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"saga_id", &reply.SagaID}, {"status", &reply.Status},
		})
	})
	return reply, err
}

// SagaWake is what SAGA.WAKE is asked for. What is zero and optional is not sent.
type SagaWake struct {
	// The payment, as SAGA.GET shows it.
	Payment string
	// The id of the message: with the same one again it is refused. Optional.
	Message string
	// When the message was sent, in seconds since 1970; messages are kept for an hour. Optional.
	Sent int64
}

// SagaWakeReply is the answer to SAGA.WAKE. What POST /v1/payments/callback does with a signed
// message. A saga that has ended is left alone.
type SagaWakeReply struct {
	SagaID string
	Status string
}

var sagaWakeCommand = command{"SAGA.WAKE", "lead", "", ""}

// SagaWake carries out SAGA.WAKE: the payment peer has news: the saga of the payment asks for it
// now. Refusals: ErrNotFound, ErrKeyReused, ErrLedgerDown, ErrTimeout, ErrInvalidQuantity,
// ErrInvalidID.
func (c *Client) SagaWake(ctx context.Context, ask SagaWake) (SagaWakeReply, error) {
	words := []string{ask.Payment}
	if ask.Message != "" {
		words = append(words, "MESSAGE", ask.Message)
	}
	if ask.Sent != 0 {
		words = append(words, "SENT", number(ask.Sent))
	}
	var reply SagaWakeReply
	err := c.execute(ctx, &sagaWakeCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"saga_id", &reply.SagaID}, {"status", &reply.Status},
		})
	})
	return reply, err
}
