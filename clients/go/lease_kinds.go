// SPDX-License-Identifier: Apache-2.0
//
// What can be leased: slots, locks, and holds of seats, stock and quota.

package holdfast

import (
	"context"
	"time"
)

// Slot is a slot of a semaphore, or several.
type Slot struct {
	Lease
	// ID is the holder's.
	ID string
	// Fence goes to what the slot protects, which refuses a lower one.
	Fence int64
}

// AcquireSlot takes a slot, waiting in line for ask.Wait. Without an id one is made; the heartbeat is
// 30 s if it is not given.
func (c *Client) AcquireSlot(ctx context.Context, ask SemAcquire) (*Slot, error) {
	ask.ID, ask.Heartbeat = orNew(ask.ID), orElse(ask.Heartbeat, 30*time.Second)
	got, err := c.SemAcquire(ctx, ask)
	if err != nil {
		return nil, err
	}
	slot := &Slot{ID: ask.ID, Fence: got.Fence}
	ping := SemPing{ask.Name, ask.ID, ask.Heartbeat, orElse(ask.TTL, 24*time.Hour)}
	slot.Lease = Lease{client: c, length: ask.Heartbeat,
		renew: func(ctx context.Context, c *Client) (int64, bool, error) {
			pinged, err := c.SemPing(ctx, ping)
			return 0, pinged.ChangedSlot > 0, err
		},
		give: func(ctx context.Context) error {
			_, err := c.SemRelease(ctx, SemRelease{ask.Name, ask.ID})
			return err
		}}
	// When a wait was granted is not known here: the first sign of life is sent at once.
	start := time.Now()
	_, ours, err := slot.renew(ctx, c)
	if err != nil || !ours {
		slot.give(ctx)
		return nil, ErrLeaseLost
	}
	slot.begin(start)
	return slot, nil
}

// HeldLock is a lock.
type HeldLock struct {
	Lease
	// LockID is the key to unlock it with.
	LockID string
	// Fence goes to what the lock protects, which refuses a lower one.
	Fence int64
}

// AcquireLock takes a lock for 30 s unless ask.TTL says otherwise, and extends it. It does not wait.
func (c *Client) AcquireLock(ctx context.Context, ask LockTry) (*HeldLock, error) {
	ask.ID, ask.TTL = orNew(ask.ID), orElse(ask.TTL, 30*time.Second)
	start := time.Now()
	got, err := c.LockTry(ctx, ask)
	if err != nil {
		return nil, err
	}
	lock := &HeldLock{LockID: ask.ID, Fence: got.Fence}
	lock.Lease = Lease{client: c, length: ask.TTL,
		renew: func(ctx context.Context, c *Client) (int64, bool, error) {
			extended, err := c.LockExtend(ctx, LockExtend{ask.Resource, ask.ID, ask.TTL})
			return 0, extended > 0, err
		},
		give: func(ctx context.Context) error {
			_, err := c.LockUnlock(ctx, LockUnlock{ask.Resource, ask.ID})
			return err
		}}
	lock.begin(start)
	return lock, nil
}

// SeatHold has seats of a zone, given back by Release unless Confirm made them the user's. Like every
// hold it is extended until it is 12 times as old as its first length; from then on it can be lost.
type SeatHold struct {
	Lease
	// Ask is what was reserved, with the booking's id.
	Ask SeatsReserve
}

// HoldSeats reserves seats. Without a booking's id one is made.
func (c *Client) HoldSeats(ctx context.Context, ask SeatsReserve) (*SeatHold, error) {
	ask.Booking, ask.TTL = orNew(ask.Booking), orElse(ask.TTL, 10*time.Minute)
	start := time.Now()
	if _, err := c.SeatsReserve(ctx, ask); err != nil {
		return nil, err
	}
	hold := &SeatHold{Ask: ask}
	hold.Lease = Lease{client: c, length: ask.TTL,
		renew: func(ctx context.Context, c *Client) (int64, bool, error) {
			got, err := c.SeatsExtend(ctx, SeatsExtend{ask.Event, ask.Booking, ask.TTL})
			return got.ExpiresAtMs, true, err
		},
		give: func(ctx context.Context) error {
			_, err := c.SeatsRelease(ctx, SeatsRelease{Event: ask.Event, Booking: ask.Booking})
			return err
		}}
	hold.begin(start)
	return hold, nil
}

// Confirm makes the seats the user's.
func (h *SeatHold) Confirm(ctx context.Context, payment string) (SeatsConfirmReply, error) {
	got, err := h.client.SeatsConfirm(ctx, SeatsConfirm{
		Event: h.Ask.Event, Booking: h.Ask.Booking, Payment: payment})
	if err == nil {
		h.finish()
	}
	return got, err
}

// StockHold has some of a product, given back by Release unless Settle made it sold.
type StockHold struct {
	Lease
	// Ask is what was taken, with the order's id.
	Ask StockTake
}

// HoldStock takes stock. Without an order's id one is made.
func (c *Client) HoldStock(ctx context.Context, ask StockTake) (*StockHold, error) {
	ask.Order, ask.TTL = orNew(ask.Order), orElse(ask.TTL, 15*time.Minute)
	start := time.Now()
	if _, err := c.StockTake(ctx, ask); err != nil {
		return nil, err
	}
	hold := &StockHold{Ask: ask}
	hold.Lease = Lease{client: c, length: ask.TTL,
		renew: func(ctx context.Context, c *Client) (int64, bool, error) {
			got, err := c.StockExtend(ctx, StockExtend{
				Product: ask.Product, Order: ask.Order, TTL: ask.TTL})
			return got.ExpiresAtMs, true, err
		},
		give: func(ctx context.Context) error {
			_, err := c.StockGive(ctx, StockGive{Product: ask.Product, Order: ask.Order})
			return err
		}}
	hold.begin(start)
	return hold, nil
}

// Settle makes it sold.
func (h *StockHold) Settle(ctx context.Context) (StockSettleReply, error) {
	got, err := h.client.StockSettle(ctx, StockSettle{Product: h.Ask.Product, Order: h.Ask.Order})
	if err == nil {
		h.finish()
	}
	return got, err
}

// QuotaHold has an amount of a quota, given back by Release unless Commit made it usage.
type QuotaHold struct {
	Lease
	// Ask is what was reserved, with the hold's id.
	Ask QuotaReserve
}

// HoldQuota reserves an amount. Without a hold's id one is made.
func (c *Client) HoldQuota(ctx context.Context, ask QuotaReserve) (*QuotaHold, error) {
	ask.Hold, ask.TTL = orNew(ask.Hold), orElse(ask.TTL, 15*time.Minute)
	start := time.Now()
	if _, err := c.QuotaReserve(ctx, ask); err != nil {
		return nil, err
	}
	hold := &QuotaHold{Ask: ask}
	hold.Lease = Lease{client: c, length: ask.TTL,
		renew: func(ctx context.Context, c *Client) (int64, bool, error) {
			got, err := c.QuotaExtend(ctx, QuotaExtend{ask.Tenant, ask.Hold, ask.TTL})
			return got.ExpiresAtMs, true, err
		},
		give: func(ctx context.Context) error {
			_, err := c.QuotaCancel(ctx, QuotaCancel{ask.Tenant, ask.Hold})
			return err
		}}
	hold.begin(start)
	return hold, nil
}

// Commit makes it usage, or as much of it as was really used.
func (h *QuotaHold) Commit(ctx context.Context, used *int64) (QuotaCommitReply, error) {
	got, err := h.client.QuotaCommit(ctx, QuotaCommit{h.Ask.Tenant, h.Ask.Hold, used})
	if err == nil {
		h.finish()
	}
	return got, err
}
