// SPDX-License-Identifier: Apache-2.0
//
// The client against a server: HOLDFAST_URL is one, HOLDFAST_DROPPING a way to it on which the first
// answers to SEATS.RESERVE and to QUOTA.REFUND get lost, HOLDFAST_NOBODY a port nobody listens on.

package holdfast

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

const patience = time.Minute

func connect(t *testing.T, name string, options ...Options) *Client {
	t.Helper()
	url := os.Getenv(name)
	if url == "" {
		t.Skip("no " + name)
	}
	client, err := New(url, append(options, Options{Timeout: patience})[0])
	must(t, err)
	t.Cleanup(client.Close)
	return client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, holds bool, what ...any) {
	t.Helper()
	if !holds {
		t.Fatal(what...)
	}
}

// renewed waits until a deadline moves away from us.
func renewed(t *testing.T, deadline func() (int64, error)) {
	t.Helper()
	before, err := deadline()
	must(t, err)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		now, err := deadline()
		must(t, err)
		if now > before {
			return
		}
		before = now
	}
	t.Fatal("no sign of life")
}

func TestRepliesOfEveryShape(t *testing.T) {
	c, ctx, event := connect(t, "HOLDFAST_URL"), context.Background(), "go-shapes"
	opened, err := c.SeatsOpen(ctx, SeatsOpen{Event: event, Zone: "floor", Capacity: 10})
	must(t, err)
	check(t, opened == SeatsOpenReply{10, 10}, opened)
	for i, booking := range []string{"b-1", "b-2"} {
		held, err := c.SeatsReserve(ctx, SeatsReserve{Event: event, Zone: "floor", Booking: booking,
			User: "ann", Quantity: 2, MaxPerUser: 4, Price: 4500, TTL: 5 * time.Minute})
		must(t, err)
		check(t, held.Remaining == int64(8-2*i) && held.ExpiresAt > 0, held)
	}
	booking, err := c.SeatsGet(ctx, SeatsGet{event, "b-1"})
	must(t, err)
	check(t, booking.Status == "reserved" && booking.UnitPrice == 4500, booking)
	user, err := c.SeatsUser(ctx, SeatsUser{event, "ann"})
	must(t, err)
	check(t, user == SeatsUserReply{4, 0}, user)
	count := 0
	must(t, Every(ctx, func(ctx context.Context, after string) (Page[SeatsListItem], error) {
		return c.SeatsList(ctx, SeatsList{Event: event, Count: 1, After: after})
	}, func(SeatsListItem) error { count++; return nil }))
	check(t, count == 2, count)
	events, err := c.List(ctx, List{Kind: "events", Match: event})
	must(t, err)
	check(t, len(events.Items) == 1 && events.Items[0] == event, events)
	used, err := c.QuotaRefund(ctx, QuotaRefund{event, 1})
	must(t, err)
	check(t, used == 0, used)
	_, err = c.RoomJoin(ctx, RoomJoin{Event: event, User: "cy"})
	must(t, err)
	admitted, err := c.RoomAdmit(ctx, RoomAdmit{Event: event, Count: 5, ID: "a-1"})
	must(t, err)
	check(t, len(admitted) == 1 && admitted[0].User == "cy" && admitted[0].Pass != "", admitted)
	body := []byte{255, 0, 32}
	_, err = c.IdemBegin(ctx, IdemBegin{Key: event, Fingerprint: "f"})
	must(t, err)
	_, err = c.IdemComplete(ctx, IdemComplete{Key: event, Response: body})
	must(t, err)
	stored, err := c.IdemBegin(ctx, IdemBegin{Key: event, Fingerprint: "f"})
	must(t, err)
	check(t, stored.State == "COMPLETED" && bytes.Equal(stored.Response, body), stored)
}

func TestAnErrorIsAType(t *testing.T) {
	c, ctx := connect(t, "HOLDFAST_URL"), context.Background()
	_, err := c.SeatsOpen(ctx, SeatsOpen{Event: "go-errors", Zone: "floor", Capacity: 1})
	must(t, err)
	_, err = c.SeatsReserve(ctx, SeatsReserve{Event: "go-errors", Zone: "floor", Booking: "b-1",
		User: "ann", Quantity: 2, MaxPerUser: 4})
	var refused *Error
	check(t, errors.Is(err, ErrInsufficientStock) && errors.As(err, &refused), err)
	check(t, refused.Refused() && refused.RetryAfter() == 0, refused)
	check(t, refused.Message == "1 seats available, 2 requested", refused)
	_, err = c.QuotaReserve(ctx, QuotaReserve{Tenant: "go-errors", Amount: 5})
	check(t, errors.Is(err, ErrQuotaExceeded) && errors.As(err, &refused), err)
	check(t, refused.Figures["limit"] == 0 && refused.RetryAfter() > 0, refused.Figures)
	_, err = c.LockTry(ctx, LockTry{Resource: "go-errors", TTL: time.Minute})
	must(t, err)
	_, err = c.LockTry(ctx, LockTry{Resource: "go-errors", TTL: time.Minute})
	check(t, errors.Is(err, ErrLocked), err)
	_, err = c.SeatsZone(ctx, SeatsZone{"a b", "c"})
	check(t, errors.Is(err, ErrInvalidID), err)
	_, err = New("redis://127.0.0.1")
	check(t, err != nil, "a URL that is none")
}

func TestALostAnswer(t *testing.T) {
	c, unlucky, ctx := connect(t, "HOLDFAST_URL"), connect(t, "HOLDFAST_DROPPING"), context.Background()
	_, err := c.SeatsOpen(ctx, SeatsOpen{Event: "go-lost", Zone: "floor", Capacity: 10})
	must(t, err)
	held, err := unlucky.SeatsReserve(ctx, SeatsReserve{Event: "go-lost", Zone: "floor",
		Booking: "b-1", User: "ann", Quantity: 2, MaxPerUser: 4})
	must(t, err)
	check(t, held.Remaining == 8, held)
	zone, err := c.SeatsZone(ctx, SeatsZone{"go-lost", "floor"})
	must(t, err)
	check(t, zone.Reserved == 2, zone)

	_, err = c.QuotaLimit(ctx, QuotaLimit{"go-once", 10})
	must(t, err)
	_, err = c.QuotaReserve(ctx, QuotaReserve{Tenant: "go-once", Amount: 6})
	must(t, err)
	_, err = unlucky.QuotaRefund(ctx, QuotaRefund{"go-once", 2})
	check(t, errors.Is(err, ErrOutcomeUnknown), err)
	quota, err := c.QuotaGet(ctx, QuotaGet{"go-once"})
	must(t, err)
	check(t, quota.Used == 4, quota)
}

// TestConnectionsAreHandedOnClean: what has no id is not repeated, so that a connection which comes out of
// the pool with anything left of the command before it shows.
func TestConnectionsAreHandedOnClean(t *testing.T) {
	c, done := connect(t, "HOLDFAST_URL"), make(chan error)
	for i := 0; i < 8; i++ {
		go func() {
			var err error
			for n := 0; n < 200 && err == nil; n++ {
				_, err = c.QuotaRefund(context.Background(), QuotaRefund{"go-clean", 1})
			}
			done <- err
		}()
	}
	for i := 0; i < 8; i++ {
		must(t, <-done)
	}
}

func TestNobodyThere(t *testing.T) {
	c := connect(t, "HOLDFAST_NOBODY", Options{RetryFor: 200 * time.Millisecond})
	_, err := c.QuotaRefund(context.Background(), QuotaRefund{"t", 1})
	check(t, errors.Is(err, ErrUnavailable), err)
}

func TestASlotIsKeptWaitedForAndHandedOn(t *testing.T) {
	c, ctx := connect(t, "HOLDFAST_URL"), context.Background()
	ask := SemAcquire{Name: "go-line", Limit: 1, Heartbeat: 10 * time.Second}
	first, err := c.AcquireSlot(ctx, ask)
	must(t, err)
	got := make(chan *Slot)
	go func() {
		ask.Wait = patience
		second, err := c.AcquireSlot(ctx, ask)
		if err != nil {
			t.Error(err)
		}
		got <- second
	}()
	renewed(t, func() (int64, error) {
		listed, err := c.SemList(ctx, SemList{Name: "go-line"})
		for _, one := range listed.Items {
			if one.ID == first.ID {
				return one.ExpiresInMs, err
			}
		}
		return 0, err
	})
	must(t, first.Check())
	must(t, first.Release(ctx))
	second := <-got
	check(t, second != nil && second.Fence > first.Fence, second)
	must(t, second.Release(ctx))
}

func TestALeaseThatIsLostSaysSo(t *testing.T) {
	c, ctx := connect(t, "HOLDFAST_URL"), context.Background()
	slot, err := c.AcquireSlot(ctx, SemAcquire{Name: "go-taken", Limit: 1, Heartbeat: 2 * time.Second})
	must(t, err)
	_, err = c.SemRelease(ctx, SemRelease{"go-taken", slot.ID})
	must(t, err)
	select {
	case <-slot.Lost():
	case <-time.After(patience):
		t.Fatal("it was not told")
	}
	check(t, errors.Is(slot.Check(), ErrLeaseLost), "lost")
	must(t, slot.Release(ctx))
}

func TestLocksAndHoldsAreMadeFinalOrGivenBack(t *testing.T) {
	c, ctx := connect(t, "HOLDFAST_URL"), context.Background()
	lock, err := c.AcquireLock(ctx, LockTry{Resource: "go-door"})
	must(t, err)
	must(t, lock.Release(ctx))
	_, err = c.LockGet(ctx, LockGet{"go-door"})
	check(t, errors.Is(err, ErrNotFound), err)

	_, err = c.SeatsOpen(ctx, SeatsOpen{Event: "go-holds", Zone: "floor", Capacity: 4})
	must(t, err)
	ask := SeatsReserve{Event: "go-holds", Zone: "floor", User: "ann", Quantity: 2, MaxPerUser: 4,
		TTL: 10 * time.Second}
	seats, err := c.HoldSeats(ctx, ask)
	must(t, err)
	renewed(t, func() (int64, error) {
		got, err := c.SeatsGet(ctx, SeatsGet{"go-holds", seats.Ask.Booking})
		return got.ExpiresAt, err
	})
	_, err = seats.Confirm(ctx, "p-1")
	must(t, err)
	must(t, seats.Release(ctx))
	ask.User = "bob"
	seats, err = c.HoldSeats(ctx, ask)
	must(t, err)
	must(t, seats.Release(ctx))
	zone, err := c.SeatsZone(ctx, SeatsZone{"go-holds", "floor"})
	must(t, err)
	check(t, zone.Available == 2 && zone.Confirmed == 2, zone)

	_, err = c.StockLoad(ctx, StockLoad{Product: "go-holds", Quantity: 5})
	must(t, err)
	order, err := c.HoldStock(ctx, StockTake{Product: "go-holds", User: "ann", Quantity: 2})
	must(t, err)
	_, err = order.Settle(ctx)
	must(t, err)
	_, err = c.QuotaLimit(ctx, QuotaLimit{"go-holds", 10})
	must(t, err)
	upload, err := c.HoldQuota(ctx, QuotaReserve{Tenant: "go-holds", Amount: 5})
	must(t, err)
	nothing := int64(0)
	_, err = upload.Commit(ctx, &nothing)
	must(t, err)
	quota, err := c.QuotaGet(ctx, QuotaGet{"go-holds"})
	must(t, err)
	check(t, quota == QuotaGetReply{0, 10, 0}, quota)
}
