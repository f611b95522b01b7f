// SPDX-License-Identifier: Apache-2.0
//
// Idempotency: doing a request once.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// IdemBegin is what IDEM.BEGIN is asked for. What is zero and optional is not sent.
type IdemBegin struct {
	// The key of the request, of the client's choice.
	Key string
	// What tells this request from another, such as a hash of it.
	Fingerprint string
	// How long it may be processed before somebody else may begin it. Optional.
	TTL time.Duration
}

// IdemBeginReply is the answer to IDEM.BEGIN. [1, "NEW"]: carry it out. [0, "PROCESSING"]: somebody
// is at it; HTTP answers 409. [2, "COMPLETED", response]: the stored answer.
type IdemBeginReply struct {
	State    string
	Response []byte
}

var idemBeginCommand = command{"IDEM.BEGIN", "lead", "", "IN_PROGRESS"}

// IdemBegin carries out IDEM.BEGIN: may this request be carried out, or was it before?. Refusals:
// ErrInProgress, ErrKeyReused, ErrInvalidTTL, ErrInvalidID.
func (c *Client) IdemBegin(ctx context.Context, ask IdemBegin) (IdemBeginReply, error) {
	words := []string{ask.Key, ask.Fingerprint}
	if ask.TTL != 0 {
		words = append(words, "TTL", milliseconds(ask.TTL))
	}
	var reply IdemBeginReply
	err := c.execute(ctx, &idemBeginCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"state", &reply.State}, {"response", &reply.Response},
		})
	})
	return reply, err
}

// IdemComplete is what IDEM.COMPLETE is asked for. What is zero and optional is not sent.
type IdemComplete struct {
	// The key of the request.
	Key string
	// The answer to keep.
	Response []byte
	// How long it is kept. Optional.
	TTL time.Duration
}

var idemCompleteCommand = command{"IDEM.COMPLETE", "number", "", ""}

// IdemComplete carries out IDEM.COMPLETE: the answer to a request, for whoever asks again.
// Refusals: ErrInvalidTTL, ErrInvalidID, ErrPayloadTooLarge.
func (c *Client) IdemComplete(ctx context.Context, ask IdemComplete) (int64, error) {
	words := []string{ask.Key, string(ask.Response)}
	if ask.TTL != 0 {
		words = append(words, "TTL", milliseconds(ask.TTL))
	}
	var reply int64
	err := c.execute(ctx, &idemCompleteCommand, words, true, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// IdemAbort is what IDEM.ABORT is asked for. What is zero and optional is not sent.
type IdemAbort struct {
	// The key of the request.
	Key string
}

var idemAbortCommand = command{"IDEM.ABORT", "number", "", ""}

// IdemAbort carries out IDEM.ABORT: a request was not carried out after all; the next BEGIN is new.
// Refusals: ErrInvalidID.
func (c *Client) IdemAbort(ctx context.Context, ask IdemAbort) (int64, error) {
	words := []string{ask.Key}
	var reply int64
	err := c.execute(ctx, &idemAbortCommand, words, false, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}
