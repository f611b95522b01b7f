// SPDX-License-Identifier: Apache-2.0
//
// What an error is, and when a command may be repeated after it. The codes are in errors.go.

package holdfast

import (
	"errors"
	"time"
)

// Error is a refusal of a command, or trouble of the server or the way to it.
type Error struct {
	// Code is the server's, or one of those below.
	Code string
	// Message says what was refused and why.
	Message string
	// Figures are what a refusal told besides: used and limit of a quota.
	Figures map[string]int64
	cause   error
}

type codeFacts struct {
	refusal        bool
	retryAfter     time.Duration
	nothingChanged bool
}

// Errors of the client itself.
var (
	// ErrUnavailable: no server was reached, the command was not sent, and nothing has changed.
	ErrUnavailable = &Error{Code: "UNAVAILABLE"}
	// ErrOutcomeUnknown: the command was sent and its answer is not known, so it may have happened.
	// The same with the same id again finds out; the client has tried that where it is safe.
	ErrOutcomeUnknown = &Error{Code: "OUTCOME_UNKNOWN"}
	// ErrLeaseLost: a slot, a lock or a hold is, or may be, no longer ours.
	ErrLeaseLost = &Error{Code: "LEASE_LOST"}
)

func (e *Error) Error() string {
	if e.Message == "" {
		return "holdfast: " + e.Code
	}
	return "holdfast: " + e.Code + ": " + e.Message
}

// Is compares the codes.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// Unwrap gives what the network had to say.
func (e *Error) Unwrap() error { return e.cause }

// Refused says whether the command was understood and refused; nothing has changed then.
func (e *Error) Refused() bool { return e.facts().refusal }

// RetryAfter is after how long the same may succeed; 0: trying later does not help.
func (e *Error) RetryAfter() time.Duration { return e.facts().retryAfter }

func (e *Error) facts() codeFacts {
	switch e.Code {
	case ErrUnavailable.Code:
		return codeFacts{false, time.Second, true}
	case ErrOutcomeUnknown.Code:
		return codeFacts{false, time.Second, false}
	}
	return codes[e.Code]
}

// mayRepeat: when nothing has changed, any command may be; when it is not known whether it happened,
// one that carries an id.
func mayRepeat(err error, again bool) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	facts := e.facts()
	return facts.nothingChanged || (again && !facts.refusal && facts.retryAfter > 0)
}

func unavailable(err error) error {
	return &Error{Code: ErrUnavailable.Code, Message: err.Error(), cause: err}
}

func unknown(err error) error {
	return &Error{Code: ErrOutcomeUnknown.Code, Message: err.Error(), cause: err}
}
