// SPDX-License-Identifier: Apache-2.0
//
// Quota: usage under a limit, reserved before it is known.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// QuotaLimit is what QUOTA.LIMIT is asked for. What is zero and optional is not sent.
type QuotaLimit struct {
	// The tenant.
	Tenant string
	// How much the tenant may use; may be below what is used.
	Limit int64
}

// QuotaLimitReply is the answer to QUOTA.LIMIT.
type QuotaLimitReply struct {
	Used  int64
	Limit int64
}

var quotaLimitCommand = command{"QUOTA.LIMIT", "lead", "", ""}

// QuotaLimit carries out QUOTA.LIMIT: set a tenant's limit. Refusals: ErrInvalidAmount,
// ErrInvalidID.
func (c *Client) QuotaLimit(ctx context.Context, ask QuotaLimit) (QuotaLimitReply, error) {
	words := []string{ask.Tenant, number(ask.Limit)}
	var reply QuotaLimitReply
	err := c.execute(ctx, &quotaLimitCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"used", &reply.Used}, {"limit", &reply.Limit},
		})
	})
	return reply, err
}

// QuotaReserve is what QUOTA.RESERVE is asked for. What is zero and optional is not sent.
type QuotaReserve struct {
	// The tenant.
	Tenant string
	// How much to count as used.
	Amount int64
	// Makes it a hold: an id of your choice, the same again for a retry. Optional.
	Hold string
	// How long the hold lasts unless committed. Optional.
	TTL time.Duration
}

// QuotaReserveReply is the answer to QUOTA.RESERVE. Over the limit the reply is [-1, used, limit],
// not [0, CODE, message]; HTTP answers 429.
type QuotaReserveReply struct {
	Used  int64
	Limit int64
}

var quotaReserveCommand = command{"QUOTA.RESERVE", "lead", "", "QUOTA_EXCEEDED"}

// QuotaReserve carries out QUOTA.RESERVE: count an amount as used; with HOLD it returns at the TTL
// unless committed. Refusals: ErrQuotaExceeded, ErrInvalidState, ErrInvalidAmount, ErrInvalidTTL,
// ErrInvalidID, ErrInvalidArgument.
func (c *Client) QuotaReserve(ctx context.Context, ask QuotaReserve) (QuotaReserveReply, error) {
	words := []string{ask.Tenant, number(ask.Amount)}
	if ask.Hold != "" {
		words = append(words, "HOLD", ask.Hold)
	}
	if ask.TTL != 0 {
		words = append(words, "TTL", milliseconds(ask.TTL))
	}
	var reply QuotaReserveReply
	err := c.execute(ctx, &quotaReserveCommand, words, ask.Hold != "", noWait, func(a answer) error {
		return a.read(fields{
			{"used", &reply.Used}, {"limit", &reply.Limit},
		})
	})
	return reply, err
}

// QuotaRefund is what QUOTA.REFUND is asked for. What is zero and optional is not sent.
type QuotaRefund struct {
	// The tenant.
	Tenant string
	// How much to give back.
	Amount int64
}

var quotaRefundCommand = command{"QUOTA.REFUND", "number", "", ""}

// QuotaRefund carries out QUOTA.REFUND: give committed usage back, never below 0. Refusals:
// ErrInvalidAmount, ErrInvalidID.
func (c *Client) QuotaRefund(ctx context.Context, ask QuotaRefund) (int64, error) {
	words := []string{ask.Tenant, number(ask.Amount)}
	var reply int64
	err := c.execute(ctx, &quotaRefundCommand, words, false, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// QuotaCommit is what QUOTA.COMMIT is asked for. What is zero and optional is not sent.
type QuotaCommit struct {
	// The tenant.
	Tenant string
	// The hold that becomes usage.
	Hold string
	// What was really used, and the rest of the hold goes back; not given: all of it. Optional.
	Amount *int64
}

// QuotaCommitReply is the answer to QUOTA.COMMIT.
type QuotaCommitReply struct {
	Used  int64
	Limit int64
}

var quotaCommitCommand = command{"QUOTA.COMMIT", "lead", "", ""}

// QuotaCommit carries out QUOTA.COMMIT: a hold becomes usage, or as much of it as was really used.
// Refusals: ErrHoldNotFound, ErrQuotaExceeded, ErrInvalidState, ErrInvalidAmount, ErrInvalidID.
func (c *Client) QuotaCommit(ctx context.Context, ask QuotaCommit) (QuotaCommitReply, error) {
	words := []string{ask.Tenant, ask.Hold}
	if ask.Amount != nil {
		words = append(words, "AMOUNT", number(*ask.Amount))
	}
	var reply QuotaCommitReply
	err := c.execute(ctx, &quotaCommitCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"used", &reply.Used}, {"limit", &reply.Limit},
		})
	})
	return reply, err
}

// QuotaCancel is what QUOTA.CANCEL is asked for. What is zero and optional is not sent.
type QuotaCancel struct {
	// The tenant.
	Tenant string
	// The hold to give back.
	Hold string
}

// QuotaCancelReply is the answer to QUOTA.CANCEL.
type QuotaCancelReply struct {
	Used  int64
	Limit int64
}

var quotaCancelCommand = command{"QUOTA.CANCEL", "lead", "", ""}

// QuotaCancel carries out QUOTA.CANCEL: a hold is given back. Refusals: ErrHoldNotFound,
// ErrInvalidState, ErrInvalidID.
func (c *Client) QuotaCancel(ctx context.Context, ask QuotaCancel) (QuotaCancelReply, error) {
	words := []string{ask.Tenant, ask.Hold}
	var reply QuotaCancelReply
	err := c.execute(ctx, &quotaCancelCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"used", &reply.Used}, {"limit", &reply.Limit},
		})
	})
	return reply, err
}

// QuotaExtend is what QUOTA.EXTEND is asked for. What is zero and optional is not sent.
type QuotaExtend struct {
	// The tenant.
	Tenant string
	// The hold to keep for longer.
	Hold string
	// How long it lasts from now on.
	TTL time.Duration
}

// QuotaExtendReply is the answer to QUOTA.EXTEND.
type QuotaExtendReply struct {
	ExpiresAtMs int64
}

var quotaExtendCommand = command{"QUOTA.EXTEND", "lead", "", ""}

// QuotaExtend carries out QUOTA.EXTEND: move a hold's deadline to now + ttl, at most 12 first TTLs
// after its start. Refusals: ErrHoldNotFound, ErrInvalidState, ErrInvalidTTL, ErrInvalidID.
func (c *Client) QuotaExtend(ctx context.Context, ask QuotaExtend) (QuotaExtendReply, error) {
	words := []string{ask.Tenant, ask.Hold, milliseconds(ask.TTL)}
	var reply QuotaExtendReply
	err := c.execute(ctx, &quotaExtendCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"expires_at_ms", &reply.ExpiresAtMs},
		})
	})
	return reply, err
}

// QuotaList is what QUOTA.LIST is asked for. What is zero and optional is not sent.
type QuotaList struct {
	// The tenant.
	Tenant string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many holds at most. Optional.
	Count int64
}

// QuotaListItem is an item of the answer to QUOTA.LIST. An empty cursor says that this was the end.
// Times are in milliseconds since 1970.
type QuotaListItem struct {
	HoldID    string
	Amount    int64
	CreatedAt int64
	ExpiresAt int64
}

var quotaListCommand = command{"QUOTA.LIST", "page", "", ""}

// QuotaList carries out QUOTA.LIST: the open holds of a tenant, page by page. Refusals:
// ErrInvalidArgument, ErrInvalidQuantity, ErrInvalidID, ErrPayloadTooLarge.
func (c *Client) QuotaList(ctx context.Context, ask QuotaList) (Page[QuotaListItem], error) {
	words := []string{ask.Tenant}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[QuotaListItem]
	err := c.execute(ctx, &quotaListCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *QuotaListItem) fields {
			return fields{
				{"hold_id", &item.HoldID}, {"amount", &item.Amount}, {"created_at", &item.CreatedAt},
				{"expires_at", &item.ExpiresAt},
			}
		})
	})
	return reply, err
}

// QuotaClose is what QUOTA.CLOSE is asked for. What is zero and optional is not sent.
type QuotaClose struct {
	// The tenant that is gone.
	Tenant string
}

// QuotaCloseReply is the answer to QUOTA.CLOSE. What was used, and the limit; a tenant nobody knows
// is closed already: [1, 0, 0].
type QuotaCloseReply struct {
	Used  int64
	Limit int64
}

var quotaCloseCommand = command{"QUOTA.CLOSE", "lead", "", ""}

// QuotaClose carries out QUOTA.CLOSE: the tenant is gone: remove its limit and its usage. Refusals:
// ErrInvalidState, ErrInvalidID.
func (c *Client) QuotaClose(ctx context.Context, ask QuotaClose) (QuotaCloseReply, error) {
	words := []string{ask.Tenant}
	var reply QuotaCloseReply
	err := c.execute(ctx, &quotaCloseCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"used", &reply.Used}, {"limit", &reply.Limit},
		})
	})
	return reply, err
}

// QuotaSync is what QUOTA.SYNC is asked for. What is zero and optional is not sent.
type QuotaSync struct {
	// The tenant.
	Tenant string
	// What is really used, without the open holds.
	Actual int64
	// The time of QUOTA.MARK before the reading began: what was committed since is added on top,
	// too; not given: nothing is. Optional.
	Since int64
}

// QuotaSyncReply is the answer to QUOTA.SYNC.
type QuotaSyncReply struct {
	Used  int64
	Limit int64
}

var quotaSyncCommand = command{"QUOTA.SYNC", "lead", "", ""}

// QuotaSync carries out QUOTA.SYNC: what the database says is used; open holds are added on top.
// Refusals: ErrInvalidAmount, ErrInvalidArgument, ErrInvalidQuantity, ErrInvalidID.
func (c *Client) QuotaSync(ctx context.Context, ask QuotaSync) (QuotaSyncReply, error) {
	words := []string{ask.Tenant, number(ask.Actual)}
	if ask.Since != 0 {
		words = append(words, "SINCE", number(ask.Since))
	}
	var reply QuotaSyncReply
	err := c.execute(ctx, &quotaSyncCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"used", &reply.Used}, {"limit", &reply.Limit},
		})
	})
	return reply, err
}

// QuotaMark is what QUOTA.MARK is asked for. What is zero and optional is not sent.
type QuotaMark struct {
	// The tenant.
	Tenant string
}

// QuotaMarkReply is the answer to QUOTA.MARK. Milliseconds since 1970, by the clock of the engine
// that keeps the tenant.
type QuotaMarkReply struct {
	NowMs int64
}

var quotaMarkCommand = command{"QUOTA.MARK", "lead", "", ""}

// QuotaMark carries out QUOTA.MARK: the engine's time, before usage is read from the database: for
// SINCE of QUOTA.SYNC. Refusals: ErrInvalidID.
func (c *Client) QuotaMark(ctx context.Context, ask QuotaMark) (QuotaMarkReply, error) {
	words := []string{ask.Tenant}
	var reply QuotaMarkReply
	err := c.execute(ctx, &quotaMarkCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"now_ms", &reply.NowMs},
		})
	})
	return reply, err
}

// QuotaSyncall is what QUOTA.SYNCALL is asked for. What is zero and optional is not sent.
type QuotaSyncall struct {
	// The tenant; not given: all that the query answers. Optional.
	Tenant string
	// Set nothing, only tell. Optional.
	Dry bool
	// The number of a run: begin none, and tell how far this one is. Optional.
	Run int64
	// How long to wait for the end; not given: until it is there. Optional.
	Wait time.Duration
}

// QuotaSyncallReply is the answer to QUOTA.SYNCALL. The number of the run, 1 once it is done, how
// many tenants were read, set and changed, by how much in all, how many tenants of the engine were
// not in the answer, and how many could not be set. A sync that is going on is joined.
type QuotaSyncallReply struct {
	Run     int64
	Done    int64
	Tenants int64
	Applied int64
	Changed int64
	Drift   int64
	Missing int64
	Skipped int64
}

var quotaSyncallCommand = command{"QUOTA.SYNCALL", "lead", "", ""}

// QuotaSyncall carries out QUOTA.SYNCALL: read what tenants use from the database, and apply
// QUOTA.SYNC to each. Refusals: ErrInvalidState, ErrLedgerDown, ErrInvalidArgument, ErrBusy,
// ErrInvalidQuantity, ErrInvalidTTL, ErrInvalidID.
func (c *Client) QuotaSyncall(ctx context.Context, ask QuotaSyncall) (QuotaSyncallReply, error) {
	words := []string{}
	if ask.Tenant != "" {
		words = append(words, "TENANT", ask.Tenant)
	}
	words = flag(words, "DRY", ask.Dry)
	if ask.Run != 0 {
		words = append(words, "RUN", number(ask.Run))
	}
	var reply QuotaSyncallReply
	err := c.execute(ctx, &quotaSyncallCommand, words, false, ask.Wait, func(a answer) error {
		return a.read(fields{
			{"run", &reply.Run}, {"done", &reply.Done}, {"tenants", &reply.Tenants},
			{"applied", &reply.Applied}, {"changed", &reply.Changed}, {"drift", &reply.Drift},
			{"missing", &reply.Missing}, {"skipped", &reply.Skipped},
		})
	})
	return reply, err
}

// QuotaSynced is what QUOTA.SYNCED is asked for. What is zero and optional is not sent.
type QuotaSynced struct {
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many tenants at most. Optional.
	Count int64
}

// QuotaSyncedItem is an item of the answer to QUOTA.SYNCED. The outcome is changed, missing or
// skipped. Of this server, at most 10,000 tenants. An empty cursor says that this was the end.
type QuotaSyncedItem struct {
	Tenant  string
	Outcome string
	Before  int64
	After   int64
	Why     string
}

var quotaSyncedCommand = command{"QUOTA.SYNCED", "page", "", ""}

// QuotaSynced carries out QUOTA.SYNCED: what the last QUOTA.SYNCALL changed, did not find or could
// not set, page by page. Refusals: ErrInvalidArgument, ErrInvalidQuantity, ErrPayloadTooLarge.
func (c *Client) QuotaSynced(ctx context.Context, ask QuotaSynced) (Page[QuotaSyncedItem], error) {
	words := []string{}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[QuotaSyncedItem]
	err := c.execute(ctx, &quotaSyncedCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *QuotaSyncedItem) fields {
			return fields{
				{"tenant", &item.Tenant}, {"outcome", &item.Outcome}, {"before", &item.Before},
				{"after", &item.After}, {"why", &item.Why},
			}
		})
	})
	return reply, err
}

// QuotaGet is what QUOTA.GET is asked for. What is zero and optional is not sent.
type QuotaGet struct {
	// The tenant.
	Tenant string
}

// QuotaGetReply is the answer to QUOTA.GET. [0, 0, 0] for a tenant nobody has set up.
type QuotaGetReply struct {
	Used  int64
	Limit int64
	Held  int64
}

var quotaGetCommand = command{"QUOTA.GET", "list", "", ""}

// QuotaGet carries out QUOTA.GET: a tenant's totals; used includes held. Refusals: ErrInvalidID.
func (c *Client) QuotaGet(ctx context.Context, ask QuotaGet) (QuotaGetReply, error) {
	words := []string{ask.Tenant}
	var reply QuotaGetReply
	err := c.execute(ctx, &quotaGetCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"used", &reply.Used}, {"limit", &reply.Limit}, {"held", &reply.Held},
		})
	})
	return reply, err
}
