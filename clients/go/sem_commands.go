// SPDX-License-Identifier: Apache-2.0
//
// Semaphores: N slots at a time, first come first served.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// SemAcquire is what SEM.ACQUIRE is asked for. What is zero and optional is not sent.
type SemAcquire struct {
	// The semaphore; there while somebody holds or waits.
	Name string
	// Who asks: an id of your choice, the same again for a retry.
	ID string
	// How many slots there are.
	Limit int64
	// The caller is taken for dead when it has not pinged for so long. Optional.
	Heartbeat time.Duration
	// How long the slot is kept at most, however alive the caller is. Optional.
	TTL time.Duration
	// How long to stand in line for a slot; 0: do not wait. Optional.
	Wait time.Duration
	// How many slots to take at once; nobody behind overtakes who waits for many. Optional.
	Slots int64
}

// SemAcquireReply is the answer to SEM.ACQUIRE. Fence grows with every grant: hand it to what the
// slot protects, which refuses a lower one.
type SemAcquireReply struct {
	InUse int64
	Fence int64
}

var semAcquireCommand = command{"SEM.ACQUIRE", "lead", "", ""}

// SemAcquire carries out SEM.ACQUIRE: take one slot or several, waiting in line for them if asked
// to. Refusals: ErrNoSlot, ErrTimeout, ErrInvalidQuantity, ErrInvalidState, ErrInvalidTTL,
// ErrInvalidID.
func (c *Client) SemAcquire(ctx context.Context, ask SemAcquire) (SemAcquireReply, error) {
	words := []string{ask.Name, ask.ID, number(ask.Limit)}
	if ask.Heartbeat != 0 {
		words = append(words, "HEARTBEAT", milliseconds(ask.Heartbeat))
	}
	if ask.TTL != 0 {
		words = append(words, "TTL", milliseconds(ask.TTL))
	}
	if ask.Slots != 0 {
		words = append(words, "SLOTS", number(ask.Slots))
	}
	var reply SemAcquireReply
	err := c.execute(ctx, &semAcquireCommand, words, true, ask.Wait, func(a answer) error {
		return a.read(fields{
			{"in_use", &reply.InUse}, {"fence", &reply.Fence},
		})
	})
	return reply, err
}

// SemQueue is what SEM.QUEUE is asked for. What is zero and optional is not sent.
type SemQueue struct {
	// The semaphore; there while somebody holds or waits.
	Name string
	// Who asks: an id of your choice, the same again for a retry.
	ID string
	// The caller is taken for dead when it has not pinged for so long.
	Heartbeat time.Duration
	// How long the slot is kept at most once it is granted.
	TTL time.Duration
}

// SemQueueReply is the answer to SEM.QUEUE. Position counts from 1; 0: the caller holds a slot
// already.
type SemQueueReply struct {
	Position int64
}

var semQueueCommand = command{"SEM.QUEUE", "lead", "", ""}

// SemQueue carries out SEM.QUEUE: stand in line without waiting for the answer. Refusals:
// ErrInvalidTTL, ErrInvalidID.
func (c *Client) SemQueue(ctx context.Context, ask SemQueue) (SemQueueReply, error) {
	words := []string{ask.Name, ask.ID, milliseconds(ask.Heartbeat), milliseconds(ask.TTL)}
	var reply SemQueueReply
	err := c.execute(ctx, &semQueueCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"position", &reply.Position},
		})
	})
	return reply, err
}

// SemWake is what SEM.WAKE is asked for. What is zero and optional is not sent.
type SemWake struct {
	// The semaphore; there while somebody holds or waits.
	Name string
	// How many slots there are.
	Limit int64
	// For waiters that gave none: as in QUEUE.
	Heartbeat time.Duration
	// For waiters that gave none: as in QUEUE.
	TTL time.Duration
}

var semWakeCommand = command{"SEM.WAKE", "number", "", ""}

// SemWake carries out SEM.WAKE: hand free slots to the first in line. Refusals: ErrInvalidQuantity,
// ErrInvalidTTL, ErrInvalidID.
func (c *Client) SemWake(ctx context.Context, ask SemWake) (int64, error) {
	words := []string{ask.Name, number(ask.Limit), milliseconds(ask.Heartbeat), milliseconds(ask.TTL)}
	var reply int64
	err := c.execute(ctx, &semWakeCommand, words, false, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// SemConfirm is what SEM.CONFIRM is asked for. What is zero and optional is not sent.
type SemConfirm struct {
	// The semaphore; there while somebody holds or waits.
	Name string
	// Who was granted the slot.
	ID string
	// How many slots there are.
	Limit int64
	// The caller is taken for dead when it has not pinged for so long.
	Heartbeat time.Duration
	// How long the slot is kept at most, counted from the grant.
	TTL time.Duration
}

// SemConfirmReply is the answer to SEM.CONFIRM. Integers without a leading 1; changed is 0 if the
// caller holds no slot.
type SemConfirmReply struct {
	Changed int64
	InUse   int64
}

var semConfirmCommand = command{"SEM.CONFIRM", "list", "", ""}

// SemConfirm carries out SEM.CONFIRM: take a slot that was handed over into use; changed 0: the
// grant is stale. Refusals: ErrInvalidQuantity, ErrInvalidTTL, ErrInvalidID.
func (c *Client) SemConfirm(ctx context.Context, ask SemConfirm) (SemConfirmReply, error) {
	words := []string{ask.Name, ask.ID, number(ask.Limit), milliseconds(ask.Heartbeat), milliseconds(ask.TTL)}
	var reply SemConfirmReply
	err := c.execute(ctx, &semConfirmCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"changed", &reply.Changed}, {"in_use", &reply.InUse},
		})
	})
	return reply, err
}

// SemRelease is what SEM.RELEASE is asked for. What is zero and optional is not sent.
type SemRelease struct {
	// The semaphore; there while somebody holds or waits.
	Name string
	// Who leaves.
	ID string
}

var semReleaseCommand = command{"SEM.RELEASE", "number", "", ""}

// SemRelease carries out SEM.RELEASE: leave the slot or the line; the slot goes to the next in line
// in the same step. Refusals: ErrInvalidID.
func (c *Client) SemRelease(ctx context.Context, ask SemRelease) (int64, error) {
	words := []string{ask.Name, ask.ID}
	var reply int64
	err := c.execute(ctx, &semReleaseCommand, words, true, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// SemPing is what SEM.PING is asked for. What is zero and optional is not sent.
type SemPing struct {
	// The semaphore; there while somebody holds or waits.
	Name string
	// Who is alive.
	ID string
	// Until when the next ping has to come.
	Heartbeat time.Duration
	// Accepted and not used: a ping does not move the TTL.
	TTL time.Duration
}

// SemPingReply is the answer to SEM.PING. Integers without a leading 1; [0, 0]: the caller has
// neither a slot nor a place in line any more.
type SemPingReply struct {
	ChangedWaiting int64
	ChangedSlot    int64
}

var semPingCommand = command{"SEM.PING", "list", "", ""}

// SemPing carries out SEM.PING: still alive; [0, 0]: the caller was taken for dead. Refusals:
// ErrInvalidTTL, ErrInvalidID.
func (c *Client) SemPing(ctx context.Context, ask SemPing) (SemPingReply, error) {
	words := []string{ask.Name, ask.ID, milliseconds(ask.Heartbeat), milliseconds(ask.TTL)}
	var reply SemPingReply
	err := c.execute(ctx, &semPingCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"changed_waiting", &reply.ChangedWaiting}, {"changed_slot", &reply.ChangedSlot},
		})
	})
	return reply, err
}

// SemCard is what SEM.CARD is asked for. What is zero and optional is not sent.
type SemCard struct {
	// The semaphore; there while somebody holds or waits.
	Name string
}

var semCardCommand = command{"SEM.CARD", "number", "", ""}

// SemCard carries out SEM.CARD: slots in use. Refusals: ErrInvalidID.
func (c *Client) SemCard(ctx context.Context, ask SemCard) (int64, error) {
	words := []string{ask.Name}
	var reply int64
	err := c.execute(ctx, &semCardCommand, words, true, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// SemStats is what SEM.STATS is asked for. What is zero and optional is not sent.
type SemStats struct {
	// The semaphore; there while somebody holds or waits.
	Name string
}

// SemStatsReply is the answer to SEM.STATS. Max is the limit last given; all 0 for a semaphore
// nobody uses.
type SemStatsReply struct {
	InUse   int64
	Max     int64
	Waiting int64
}

var semStatsCommand = command{"SEM.STATS", "fields", "", ""}

// SemStats carries out SEM.STATS: slots in use, the limit last given, and how many wait. Refusals:
// ErrInvalidID.
func (c *Client) SemStats(ctx context.Context, ask SemStats) (SemStatsReply, error) {
	words := []string{ask.Name}
	var reply SemStatsReply
	err := c.execute(ctx, &semStatsCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"in_use", &reply.InUse}, {"max", &reply.Max}, {"waiting", &reply.Waiting},
		})
	})
	return reply, err
}

// SemList is what SEM.LIST is asked for. What is zero and optional is not sent.
type SemList struct {
	// The semaphore; there while somebody holds or waits.
	Name string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many clients at most. Optional.
	Count int64
}

// SemListItem is an item of the answer to SEM.LIST. An empty cursor says that this was the end. A
// waiter has its position in line, from 1, a holder its fence; in no order: the positions say who
// is next.
type SemListItem struct {
	ID          string
	State       string
	Slots       int64
	Position    int64
	Fence       int64
	AgeMs       int64
	ExpiresInMs int64
}

var semListCommand = command{"SEM.LIST", "page", "", ""}

// SemList carries out SEM.LIST: the holders and the waiters of a semaphore, page by page. Refusals:
// ErrInvalidArgument, ErrInvalidQuantity, ErrInvalidID, ErrPayloadTooLarge.
func (c *Client) SemList(ctx context.Context, ask SemList) (Page[SemListItem], error) {
	words := []string{ask.Name}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[SemListItem]
	err := c.execute(ctx, &semListCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *SemListItem) fields {
			return fields{
				{"id", &item.ID}, {"state", &item.State}, {"slots", &item.Slots},
				{"position", &item.Position}, {"fence", &item.Fence}, {"age_ms", &item.AgeMs},
				{"expires_in_ms", &item.ExpiresInMs},
			}
		})
	})
	return reply, err
}
