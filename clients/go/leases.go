// SPDX-License-Identifier: Apache-2.0
//
// Leases: what is held until it is released, kept alive in the background, and known to be lost no
// later than somebody else can have it.

package holdfast

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	signsOfLife = 5                      // in an interval
	signRetry   = 100 * time.Millisecond // after one that did not get through
)

// Lease is something that is held until its time is up, and renewed before.
type Lease struct {
	client *Client
	length time.Duration
	renew  func(context.Context, *Client) (endMs int64, ours bool, err error)
	give   func(context.Context) error

	lost    chan struct{}
	stop    context.CancelFunc
	stopped chan struct{}
	ending  sync.Once

	mutex     sync.Mutex
	until     time.Time
	baseEndMs int64
	baseUntil time.Time
}

// sure is for how long a lease is surely ours, counted from when the request was sent: the server
// counts whole milliseconds, by a clock of its own.
func sure(length time.Duration) time.Duration {
	return length - length/1000 - 2*time.Millisecond
}

// begin keeps a lease that was taken by a request sent at `start`.
func (l *Lease) begin(start time.Time) {
	l.until = start.Add(sure(l.length))
	l.lost, l.stopped = make(chan struct{}), make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.keep(ctx)
}

// Lost is closed when the lease is lost while it should be held.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Check gives ErrLeaseLost if it may be somebody else's by now.
func (l *Lease) Check() error {
	select {
	case <-l.lost:
		return ErrLeaseLost
	default:
	}
	if time.Until(l.deadline()) <= 0 {
		return ErrLeaseLost
	}
	return nil
}

// Release gives it back, if it is still ours; a second time does nothing.
func (l *Lease) Release(ctx context.Context) (err error) {
	l.ending.Do(func() {
		l.halt()
		select {
		case <-l.lost:
		default:
			err = l.give(ctx)
		}
	})
	return err
}

// finish ends the lease without giving anything back.
func (l *Lease) finish() { l.ending.Do(l.halt) }

func (l *Lease) halt() {
	l.stop()
	<-l.stopped
}

func (l *Lease) deadline() time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.until
}

func (l *Lease) keep(ctx context.Context) {
	defer close(l.stopped)
	pause := l.length / signsOfLife
	for {
		left := time.Until(l.deadline())
		if pause < left {
			left = pause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
		lost, again := l.sign(ctx)
		if ctx.Err() != nil {
			return
		}
		if lost {
			close(l.lost)
			return
		}
		pause = again
	}
}

// sign sends one sign of life; gives whether the lease is lost, and when to send the next.
func (l *Lease) sign(ctx context.Context) (lost bool, pause time.Duration) {
	start := time.Now()
	left := time.Until(l.deadline())
	if left <= 0 {
		return true, 0
	}
	if left > l.client.options.Timeout {
		left = l.client.options.Timeout
	}
	endMs, ours, err := l.renew(ctx, l.client.within(left))
	pause = l.length / signsOfLife
	if err != nil {
		var e *Error
		if pause > signRetry {
			pause = signRetry
		}
		return errors.As(err, &e) && e.Refused(), pause
	}
	if ours {
		l.move(start, endMs)
	}
	return !ours, pause
}

// move sets the deadline anew. An extension may be shorter than what was asked for: the first one
// tells how the server's clock and ours go together, later ones are counted from there.
func (l *Lease) move(start time.Time, endMs int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.until = start.Add(sure(l.length))
	if endMs == 0 {
		return
	}
	if l.baseEndMs == 0 {
		l.baseEndMs, l.baseUntil = endMs, l.until
	}
	l.until = l.baseUntil.Add(sure(time.Duration(endMs-l.baseEndMs) * time.Millisecond))
}

func orElse(given, otherwise time.Duration) time.Duration {
	if given == 0 {
		return otherwise
	}
	return given
}

func orNew(id string) string {
	if id == "" {
		return NewID()
	}
	return id
}
