// SPDX-License-Identifier: Apache-2.0
//
// Webhooks that were sent or given up.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
)

// WebhooksReplay is what WEBHOOKS.REPLAY is asked for. What is zero and optional is not sent.
type WebhooksReplay struct {
	// Of this booking or order; not given: of all. Optional.
	Key string
	// Of this type, such as booking.confirmed; not given: of all. Optional.
	Type string
	// Written since then, in milliseconds since 1970. Optional.
	Since int64
}

// WebhooksReplayReply is the answer to WEBHOOKS.REPLAY. How many are pending again. Without SINCE
// and KEY only those that were given up.
type WebhooksReplayReply struct {
	Replayed int64
}

var webhooksReplayCommand = command{"WEBHOOKS.REPLAY", "lead", "", ""}

// WebhooksReplay carries out WEBHOOKS.REPLAY: send webhooks again that were given up, or that were
// delivered. Refusals: ErrLedgerDown, ErrTimeout, ErrInvalidQuantity, ErrInvalidID.
func (c *Client) WebhooksReplay(ctx context.Context, ask WebhooksReplay) (WebhooksReplayReply, error) {
	words := []string{}
	if ask.Key != "" {
		words = append(words, "KEY", ask.Key)
	}
	if ask.Type != "" {
		words = append(words, "TYPE", ask.Type)
	}
	if ask.Since != 0 {
		words = append(words, "SINCE", number(ask.Since))
	}
	var reply WebhooksReplayReply
	err := c.execute(ctx, &webhooksReplayCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"replayed", &reply.Replayed},
		})
	})
	return reply, err
}
