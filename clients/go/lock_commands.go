// SPDX-License-Identifier: Apache-2.0
//
// Locks: one holder, unlocked only with its own id.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// LockTry is what LOCK.TRY is asked for. What is zero and optional is not sent.
type LockTry struct {
	// What is locked.
	Resource string
	// How long the lock is held unless unlocked or extended.
	TTL time.Duration
	// The key to unlock it with, the same again for a retry; not given: a random UUID is made.
	// Optional.
	ID string
}

// LockTryReply is the answer to LOCK.TRY. Fence grows with every grant. TRY does not wait: a lock
// to wait for is a semaphore of 1 slot, SEM.ACQUIRE name id 1 WAIT ms.
type LockTryReply struct {
	LockID string
	Fence  int64
}

var lockTryCommand = command{"LOCK.TRY", "list", "LOCKED", ""}

// LockTry carries out LOCK.TRY: take a lock; nil while somebody else holds it. Refusals: ErrLocked,
// ErrInvalidTTL, ErrInvalidID.
func (c *Client) LockTry(ctx context.Context, ask LockTry) (LockTryReply, error) {
	words := []string{ask.Resource, milliseconds(ask.TTL)}
	if ask.ID != "" {
		words = append(words, "ID", ask.ID)
	}
	var reply LockTryReply
	err := c.execute(ctx, &lockTryCommand, words, ask.ID != "", noWait, func(a answer) error {
		return a.read(fields{
			{"lock_id", &reply.LockID}, {"fence", &reply.Fence},
		})
	})
	return reply, err
}

// LockUnlock is what LOCK.UNLOCK is asked for. What is zero and optional is not sent.
type LockUnlock struct {
	// What is locked.
	Resource string
	// The id it was locked with.
	LockID string
}

var lockUnlockCommand = command{"LOCK.UNLOCK", "number", "", ""}

// LockUnlock carries out LOCK.UNLOCK: unlock; 0 if that lock id does not hold it. Refusals:
// ErrInvalidID.
func (c *Client) LockUnlock(ctx context.Context, ask LockUnlock) (int64, error) {
	words := []string{ask.Resource, ask.LockID}
	var reply int64
	err := c.execute(ctx, &lockUnlockCommand, words, true, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// LockExtend is what LOCK.EXTEND is asked for. What is zero and optional is not sent.
type LockExtend struct {
	// What is locked.
	Resource string
	// The id it was locked with.
	LockID string
	// How long it is held from now on.
	TTL time.Duration
}

var lockExtendCommand = command{"LOCK.EXTEND", "number", "", ""}

// LockExtend carries out LOCK.EXTEND: set a lock's deadline to now + ttl; 0 if that lock id does
// not hold it. Refusals: ErrInvalidTTL, ErrInvalidID.
func (c *Client) LockExtend(ctx context.Context, ask LockExtend) (int64, error) {
	words := []string{ask.Resource, ask.LockID, milliseconds(ask.TTL)}
	var reply int64
	err := c.execute(ctx, &lockExtendCommand, words, true, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// LockGet is what LOCK.GET is asked for. What is zero and optional is not sent.
type LockGet struct {
	// What is locked.
	Resource string
}

// LockGetReply is the answer to LOCK.GET. Lock_id is empty, and left out by HTTP, for a user with
// the role read: it is the key that unlocks.
type LockGetReply struct {
	LockID string
	Fence  int64
	TTLMs  int64
}

var lockGetCommand = command{"LOCK.GET", "list", "NOT_FOUND", ""}

// LockGet carries out LOCK.GET: who holds a lock, with its fence and the milliseconds left; nil if
// nobody. Refusals: ErrNotFound, ErrInvalidID.
func (c *Client) LockGet(ctx context.Context, ask LockGet) (LockGetReply, error) {
	words := []string{ask.Resource}
	var reply LockGetReply
	err := c.execute(ctx, &lockGetCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"lock_id", &reply.LockID}, {"fence", &reply.Fence}, {"ttl_ms", &reply.TTLMs},
		})
	})
	return reply, err
}
