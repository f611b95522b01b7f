// SPDX-License-Identifier: Apache-2.0
//
// Commands that belong to no family.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
)

// Reconcile is what RECONCILE is asked for. What is zero and optional is not sent.
type Reconcile struct {
	// The product; not given: all that the ledger and the engine have. Optional.
	Product string
	// Correct nothing, only tell. Optional.
	Dry bool
}

// ReconcileReply is the answer to RECONCILE. How many products were compared, how many differed,
// and by how much in all.
type ReconcileReply struct {
	Products  int64
	Corrected int64
	Drift     int64
}

var reconcileCommand = command{"RECONCILE", "lead", "", ""}

// Reconcile carries out RECONCILE: compare the engine with the ledger, and correct the engine by
// what is certain. Refusals: ErrProductNotFound, ErrBusy, ErrLedgerDown, ErrTimeout, ErrInvalidID.
func (c *Client) Reconcile(ctx context.Context, ask Reconcile) (ReconcileReply, error) {
	words := []string{}
	if ask.Product != "" {
		words = append(words, "PRODUCT", ask.Product)
	}
	words = flag(words, "DRY", ask.Dry)
	var reply ReconcileReply
	err := c.execute(ctx, &reconcileCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"products", &reply.Products}, {"corrected", &reply.Corrected}, {"drift", &reply.Drift},
		})
	})
	return reply, err
}

// List is what LIST is asked for. What is zero and optional is not sent.
type List struct {
	// What to list: events, zones, tenants, semaphores, locks, products, rooms, keys.
	Kind string
	// What the names begin with; not given: all names. Optional.
	Match string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many names at most. Optional.
	Count int64
}

var listCommand = command{"LIST", "page", "", ""}

// List carries out LIST: the names of all there is of a kind, page by page; over HTTP with its
// totals. Refusals: ErrInvalidArgument, ErrInvalidQuantity, ErrPayloadTooLarge.
func (c *Client) List(ctx context.Context, ask List) (Page[string], error) {
	words := []string{ask.Kind}
	if ask.Match != "" {
		words = append(words, "MATCH", ask.Match)
	}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[string]
	err := c.execute(ctx, &listCommand, words, true, noWait, func(a answer) error {
		return readNames(a, &reply)
	})
	return reply, err
}
