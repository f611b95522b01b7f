// SPDX-License-Identifier: Apache-2.0
//
// The errors of the server, by their codes.
// Made from the command table by `make clients`; do not edit.

package holdfast

import "time"

// What errors.Is(err, …) tells apart; errors.As(err, &holdfastError) gives the message.
var (
	// ErrInvalidQuantity: the quantity is out of bounds.
	ErrInvalidQuantity = &Error{Code: "INVALID_QUANTITY"}
	// ErrInvalidAmount: the amount is out of bounds.
	ErrInvalidAmount = &Error{Code: "INVALID_AMOUNT"}
	// ErrInvalidTTL: the duration is out of bounds: 10 ms to 30 days.
	ErrInvalidTTL = &Error{Code: "INVALID_TTL"}
	// ErrInvalidID: not an id: 1-128 bytes of UTF-8, no spaces, control characters, { or }.
	ErrInvalidID = &Error{Code: "INVALID_ID"}
	// ErrInvalidArgument: the argument is not one of those allowed.
	ErrInvalidArgument = &Error{Code: "INVALID_ARGUMENT"}
	// ErrUserLimitExceeded: the user would hold more than allowed.
	ErrUserLimitExceeded = &Error{Code: "USER_LIMIT_EXCEEDED"}
	// ErrZoneNotFound: no such zone.
	ErrZoneNotFound = &Error{Code: "ZONE_NOT_FOUND"}
	// ErrReservationNotFound: no such booking: never made, released, refunded, expired.
	ErrReservationNotFound = &Error{Code: "RESERVATION_NOT_FOUND"}
	// ErrHoldNotFound: no such hold: never made, cancelled or expired.
	ErrHoldNotFound = &Error{Code: "HOLD_NOT_FOUND"}
	// ErrProductNotFound: no such product: load it first.
	ErrProductNotFound = &Error{Code: "PRODUCT_NOT_FOUND"}
	// ErrNotInQueue: the user is not in the queue.
	ErrNotInQueue = &Error{Code: "NOT_IN_QUEUE"}
	// ErrNotFound: not found.
	ErrNotFound = &Error{Code: "NOT_FOUND"}
	// ErrTimeout: waited and got nothing.
	ErrTimeout = &Error{Code: "TIMEOUT"}
	// ErrInsufficientStock: not enough seats left.
	ErrInsufficientStock = &Error{Code: "INSUFFICIENT_STOCK"}
	// ErrSoldOut: sold out.
	ErrSoldOut = &Error{Code: "SOLD_OUT"}
	// ErrInvalidState: not possible in the state it is in.
	ErrInvalidState = &Error{Code: "INVALID_STATE"}
	// ErrBookingExists: the booking id is in use with other arguments.
	ErrBookingExists = &Error{Code: "BOOKING_EXISTS"}
	// ErrCapacityInUse: more than that is held or sold.
	ErrCapacityInUse = &Error{Code: "CAPACITY_IN_USE"}
	// ErrAlreadyInQueue: the user is in the queue already.
	ErrAlreadyInQueue = &Error{Code: "ALREADY_IN_QUEUE"}
	// ErrInProgress: being processed.
	ErrInProgress = &Error{Code: "IN_PROGRESS"}
	// ErrLocked: somebody else holds the lock.
	ErrLocked = &Error{Code: "LOCKED"}
	// ErrNotOwner: belongs to another user.
	ErrNotOwner = &Error{Code: "NOT_OWNER"}
	// ErrPayloadTooLarge: too large.
	ErrPayloadTooLarge = &Error{Code: "PAYLOAD_TOO_LARGE"}
	// ErrKeyReused: the key was used for another request.
	ErrKeyReused = &Error{Code: "KEY_REUSED"}
	// ErrQuotaExceeded: over the quota.
	ErrQuotaExceeded = &Error{Code: "QUOTA_EXCEEDED"}
	// ErrQueueFull: the queue is full.
	ErrQueueFull = &Error{Code: "QUEUE_FULL"}
	// ErrNoSlot: no slot free.
	ErrNoSlot = &Error{Code: "NO_SLOT"}
	// ErrRateLimited: too many requests.
	ErrRateLimited = &Error{Code: "RATE_LIMITED"}
	// ErrErr: malformed request.
	ErrErr = &Error{Code: "ERR"}
	// ErrUnauthorized: authentication needed.
	ErrUnauthorized = &Error{Code: "UNAUTHORIZED"}
	// ErrForbidden: not allowed for this user.
	ErrForbidden = &Error{Code: "FORBIDDEN"}
	// ErrInternal: internal error.
	ErrInternal = &Error{Code: "INTERNAL"}
	// ErrIoerr: the data directory failed; the server stops.
	ErrIoerr = &Error{Code: "IOERR"}
	// ErrReadonly: this server does not take writes.
	ErrReadonly = &Error{Code: "READONLY"}
	// ErrLoading: still loading the data directory.
	ErrLoading = &Error{Code: "LOADING"}
	// ErrBusy: out of memory or too much to do; nothing was changed, try again later.
	ErrBusy = &Error{Code: "BUSY"}
	// ErrEngineDown: the engine does not answer.
	ErrEngineDown = &Error{Code: "ENGINE_DOWN"}
	// ErrLedgerDown: the ledger does not answer.
	ErrLedgerDown = &Error{Code: "LEDGER_DOWN"}
	// ErrNotAdmitted: the event is entered through its waiting room: a pass is needed.
	ErrNotAdmitted = &Error{Code: "NOT_ADMITTED"}
	// ErrPaymentDeclined: the payment was declined.
	ErrPaymentDeclined = &Error{Code: "PAYMENT_DECLINED"}
)

// What is known of each code: whether it is a refusal, when to try again, whether nothing was done.
var codes = map[string]codeFacts{
	"INVALID_QUANTITY":      {true, 0, false},
	"INVALID_AMOUNT":        {true, 0, false},
	"INVALID_TTL":           {true, 0, false},
	"INVALID_ID":            {true, 0, false},
	"INVALID_ARGUMENT":      {true, 0, false},
	"USER_LIMIT_EXCEEDED":   {true, 0, false},
	"ZONE_NOT_FOUND":        {true, 0, false},
	"RESERVATION_NOT_FOUND": {true, 0, false},
	"HOLD_NOT_FOUND":        {true, 0, false},
	"PRODUCT_NOT_FOUND":     {true, 0, false},
	"NOT_IN_QUEUE":          {true, 0, false},
	"NOT_FOUND":             {true, 0, false},
	"TIMEOUT":               {true, 1 * time.Second, false},
	"INSUFFICIENT_STOCK":    {true, 0, false},
	"SOLD_OUT":              {true, 0, false},
	"INVALID_STATE":         {true, 0, false},
	"BOOKING_EXISTS":        {true, 0, false},
	"CAPACITY_IN_USE":       {true, 0, false},
	"ALREADY_IN_QUEUE":      {true, 0, false},
	"IN_PROGRESS":           {true, 1 * time.Second, false},
	"LOCKED":                {true, 1 * time.Second, false},
	"NOT_OWNER":             {true, 0, false},
	"PAYLOAD_TOO_LARGE":     {true, 0, false},
	"KEY_REUSED":            {true, 0, false},
	"QUOTA_EXCEEDED":        {true, 5 * time.Second, false},
	"QUEUE_FULL":            {true, 5 * time.Second, false},
	"NO_SLOT":               {true, 1 * time.Second, false},
	"RATE_LIMITED":          {true, 1 * time.Second, true},
	"ERR":                   {false, 0, false},
	"UNAUTHORIZED":          {false, 0, false},
	"FORBIDDEN":             {false, 0, false},
	"INTERNAL":              {false, 0, false},
	"IOERR":                 {false, 5 * time.Second, false},
	"READONLY":              {false, 5 * time.Second, false},
	"LOADING":               {false, 1 * time.Second, true},
	"BUSY":                  {false, 1 * time.Second, true},
	"ENGINE_DOWN":           {false, 2 * time.Second, false},
	"LEDGER_DOWN":           {false, 2 * time.Second, false},
	"NOT_ADMITTED":          {true, 0, false},
	"PAYMENT_DECLINED":      {true, 0, false},
}
