// SPDX-License-Identifier: Apache-2.0
//
// Stock: a flash sale, and purchases that the ledger guards.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// StockLoad is what STOCK.LOAD is asked for. What is zero and optional is not sent.
type StockLoad struct {
	// The product.
	Product string
	// How much of it there is to sell in all, sold or not.
	Quantity int64
	// Into how many counters it is split, on a cluster of Redis. Optional.
	Shards int64
	// With POLICY merge: how much is left when the counters become one. Optional.
	Watermark int64
	// For an empty counter: merge all into one at the watermark, or steal from another: merge,
	// steal. Optional.
	Policy string
}

// StockLoadReply is the answer to STOCK.LOAD.
type StockLoadReply struct {
	Available int64
}

var stockLoadCommand = command{"STOCK.LOAD", "lead", "", ""}

// StockLoad carries out STOCK.LOAD: set how much of a product there is to sell. Refusals:
// ErrCapacityInUse, ErrInvalidQuantity, ErrInvalidID, ErrInvalidArgument.
func (c *Client) StockLoad(ctx context.Context, ask StockLoad) (StockLoadReply, error) {
	words := []string{ask.Product, number(ask.Quantity)}
	if ask.Shards != 0 {
		words = append(words, "SHARDS", number(ask.Shards))
	}
	if ask.Watermark != 0 {
		words = append(words, "WATERMARK", number(ask.Watermark))
	}
	if ask.Policy != "" {
		words = append(words, "POLICY", ask.Policy)
	}
	var reply StockLoadReply
	err := c.execute(ctx, &stockLoadCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"available", &reply.Available},
		})
	})
	return reply, err
}

// StockTake is what STOCK.TAKE is asked for. What is zero and optional is not sent.
type StockTake struct {
	// The product.
	Product string
	// The order: an id of your choice, the same again for a retry.
	Order string
	// Who buys.
	User string
	// How many.
	Quantity int64
	// How long they are held unless settled. Optional.
	TTL time.Duration
	// How many of the product the user may have, taken and bought together. Optional.
	Max int64
}

// StockTakeReply is the answer to STOCK.TAKE.
type StockTakeReply struct {
	Remaining int64
}

var stockTakeCommand = command{"STOCK.TAKE", "lead", "", ""}

// StockTake carries out STOCK.TAKE: hold some of a product for an order until it is settled, given
// back, or due. Refusals: ErrProductNotFound, ErrSoldOut, ErrUserLimitExceeded, ErrInvalidState,
// ErrInvalidQuantity, ErrInvalidTTL, ErrInvalidID.
func (c *Client) StockTake(ctx context.Context, ask StockTake) (StockTakeReply, error) {
	words := []string{ask.Product, ask.Order, ask.User, number(ask.Quantity)}
	if ask.TTL != 0 {
		words = append(words, "TTL", milliseconds(ask.TTL))
	}
	if ask.Max != 0 {
		words = append(words, "MAX", number(ask.Max))
	}
	var reply StockTakeReply
	err := c.execute(ctx, &stockTakeCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"remaining", &reply.Remaining},
		})
	})
	return reply, err
}

// StockExtend is what STOCK.EXTEND is asked for. What is zero and optional is not sent.
type StockExtend struct {
	// The product.
	Product string
	// The order to hold for longer.
	Order string
	// How long it is held from now on.
	TTL time.Duration
	// The user whose order it has to be; not given: anybody's. Optional.
	User string
}

// StockExtendReply is the answer to STOCK.EXTEND.
type StockExtendReply struct {
	ExpiresAtMs int64
}

var stockExtendCommand = command{"STOCK.EXTEND", "lead", "", ""}

// StockExtend carries out STOCK.EXTEND: move an order's deadline to now + ttl, at most 12 first
// TTLs after its start. Refusals: ErrProductNotFound, ErrNotFound, ErrNotOwner, ErrInvalidState,
// ErrInvalidTTL, ErrInvalidID.
func (c *Client) StockExtend(ctx context.Context, ask StockExtend) (StockExtendReply, error) {
	words := []string{ask.Product, ask.Order, milliseconds(ask.TTL)}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	var reply StockExtendReply
	err := c.execute(ctx, &stockExtendCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"expires_at_ms", &reply.ExpiresAtMs},
		})
	})
	return reply, err
}

// StockSettle is what STOCK.SETTLE is asked for. What is zero and optional is not sent.
type StockSettle struct {
	// The product.
	Product string
	// The order that is paid for.
	Order string
	// The user whose order it has to be; not given: anybody's. Optional.
	User string
}

// StockSettleReply is the answer to STOCK.SETTLE.
type StockSettleReply struct {
	Remaining int64
}

var stockSettleCommand = command{"STOCK.SETTLE", "lead", "", ""}

// StockSettle carries out STOCK.SETTLE: an order is sold for good. Refusals: ErrProductNotFound,
// ErrNotFound, ErrNotOwner, ErrInvalidID.
func (c *Client) StockSettle(ctx context.Context, ask StockSettle) (StockSettleReply, error) {
	words := []string{ask.Product, ask.Order}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	var reply StockSettleReply
	err := c.execute(ctx, &stockSettleCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"remaining", &reply.Remaining},
		})
	})
	return reply, err
}

// StockGive is what STOCK.GIVE is asked for. What is zero and optional is not sent.
type StockGive struct {
	// The product.
	Product string
	// The order to give back.
	Order string
	// The user whose order it has to be; not given: anybody's. Optional.
	User string
}

// StockGiveReply is the answer to STOCK.GIVE.
type StockGiveReply struct {
	Remaining int64
}

var stockGiveCommand = command{"STOCK.GIVE", "lead", "", ""}

// StockGive carries out STOCK.GIVE: an order is taken back. Refusals: ErrProductNotFound,
// ErrNotFound, ErrNotOwner, ErrInvalidState, ErrInvalidID.
func (c *Client) StockGive(ctx context.Context, ask StockGive) (StockGiveReply, error) {
	words := []string{ask.Product, ask.Order}
	if ask.User != "" {
		words = append(words, "USER", ask.User)
	}
	var reply StockGiveReply
	err := c.execute(ctx, &stockGiveCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"remaining", &reply.Remaining},
		})
	})
	return reply, err
}

// StockList is what STOCK.LIST is asked for. What is zero and optional is not sent.
type StockList struct {
	// The product.
	Product string
	// The cursor that the page before ended with; from the beginning if left out. Optional.
	After string
	// How many orders at most. Optional.
	Count int64
}

// StockListItem is an item of the answer to STOCK.LIST.
type StockListItem struct {
	OrderID   string
	UserID    string
	Quantity  int64
	CreatedAt int64
	ExpiresAt int64
	Status    string
}

var stockListCommand = command{"STOCK.LIST", "page", "", ""}

// StockList carries out STOCK.LIST: the orders of a product that are taken, a page at a time.
// Refusals: ErrProductNotFound, ErrInvalidArgument, ErrInvalidQuantity, ErrInvalidID,
// ErrPayloadTooLarge.
func (c *Client) StockList(ctx context.Context, ask StockList) (Page[StockListItem], error) {
	words := []string{ask.Product}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[StockListItem]
	err := c.execute(ctx, &stockListCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *StockListItem) fields {
			return fields{
				{"order_id", &item.OrderID}, {"user_id", &item.UserID}, {"quantity", &item.Quantity},
				{"created_at", &item.CreatedAt}, {"expires_at", &item.ExpiresAt}, {"status", &item.Status},
			}
		})
	})
	return reply, err
}

// StockShards is what STOCK.SHARDS is asked for. What is zero and optional is not sent.
type StockShards struct {
	// The product.
	Product string
	// The cursor that the page before ended with; not given: from the beginning. Optional.
	After string
	// How many shards at most. Optional.
	Count int64
}

// StockShardsItem is an item of the answer to STOCK.SHARDS. The main counter first. One that is not
// in shards on a Redis cluster has that alone, and its node is empty. Figures of a shard that does
// not answer are -1 (null in JSON). They are read one after the other: what is on its way between
// two shards may be in neither.
type StockShardsItem struct {
	Shard     string
	Available int64
	Taken     int64
	Sold      int64
	Node      string
}

var stockShardsCommand = command{"STOCK.SHARDS", "page", "", ""}

// StockShards carries out STOCK.SHARDS: a product's shards one by one, each with what it has and
// the node it is on. Refusals: ErrProductNotFound, ErrInvalidArgument, ErrInvalidQuantity,
// ErrInvalidID, ErrPayloadTooLarge.
func (c *Client) StockShards(ctx context.Context, ask StockShards) (Page[StockShardsItem], error) {
	words := []string{ask.Product}
	if ask.After != "" {
		words = append(words, "AFTER", ask.After)
	}
	if ask.Count != 0 {
		words = append(words, "COUNT", number(ask.Count))
	}
	var reply Page[StockShardsItem]
	err := c.execute(ctx, &stockShardsCommand, words, true, noWait, func(a answer) error {
		return readPage(a, &reply, func(item *StockShardsItem) fields {
			return fields{
				{"shard", &item.Shard}, {"available", &item.Available}, {"taken", &item.Taken},
				{"sold", &item.Sold}, {"node", &item.Node},
			}
		})
	})
	return reply, err
}

// StockClose is what STOCK.CLOSE is asked for. What is zero and optional is not sent.
type StockClose struct {
	// The product that is no longer sold.
	Product string
}

// StockCloseReply is the answer to STOCK.CLOSE. What was sold, and what was left; a product nobody
// knows is closed already: [1, 0, 0].
type StockCloseReply struct {
	Sold      int64
	Available int64
}

var stockCloseCommand = command{"STOCK.CLOSE", "lead", "", ""}

// StockClose carries out STOCK.CLOSE: the product is no longer sold: remove it, its orders and its
// users. Refusals: ErrInvalidState, ErrInvalidID.
func (c *Client) StockClose(ctx context.Context, ask StockClose) (StockCloseReply, error) {
	words := []string{ask.Product}
	var reply StockCloseReply
	err := c.execute(ctx, &stockCloseCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"sold", &reply.Sold}, {"available", &reply.Available},
		})
	})
	return reply, err
}

// StockGet is what STOCK.GET is asked for. What is zero and optional is not sent.
type StockGet struct {
	// The product.
	Product string
}

// StockGetReply is the answer to STOCK.GET.
type StockGetReply struct {
	Available int64
	Taken     int64
	Sold      int64
	Loaded    int64
	Shards    int64
	Mode      string
}

var stockGetCommand = command{"STOCK.GET", "fields", "", ""}

// StockGet carries out STOCK.GET: a product's totals: loaded = available + taken + sold. Refusals:
// ErrProductNotFound, ErrInvalidID.
func (c *Client) StockGet(ctx context.Context, ask StockGet) (StockGetReply, error) {
	words := []string{ask.Product}
	var reply StockGetReply
	err := c.execute(ctx, &stockGetCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"available", &reply.Available}, {"taken", &reply.Taken}, {"sold", &reply.Sold},
			{"loaded", &reply.Loaded}, {"shards", &reply.Shards}, {"mode", &reply.Mode},
		})
	})
	return reply, err
}

// StockAdjust is what STOCK.ADJUST is asked for. What is zero and optional is not sent.
type StockAdjust struct {
	// The product.
	Product string
	// How many more, or with a minus fewer.
	Delta int64
	// Why, for the journal.
	Reason string
}

// StockAdjustReply is the answer to STOCK.ADJUST.
type StockAdjustReply struct {
	Available int64
}

var stockAdjustCommand = command{"STOCK.ADJUST", "lead", "", ""}

// StockAdjust carries out STOCK.ADJUST: move what is available by a difference. Refusals:
// ErrProductNotFound, ErrCapacityInUse, ErrInvalidQuantity, ErrInvalidID, ErrInvalidArgument,
// ErrPayloadTooLarge.
func (c *Client) StockAdjust(ctx context.Context, ask StockAdjust) (StockAdjustReply, error) {
	words := []string{ask.Product, number(ask.Delta), ask.Reason}
	var reply StockAdjustReply
	err := c.execute(ctx, &stockAdjustCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"available", &reply.Available},
		})
	})
	return reply, err
}

// StockOpen is what STOCK.OPEN is asked for. What is zero and optional is not sent.
type StockOpen struct {
	// The product.
	Product string
	// Into how many counters it is split, on a cluster of Redis. Optional.
	Shards int64
	// With POLICY merge: how much is left when the counters become one. Optional.
	Watermark int64
	// For an empty counter: merge all into one at the watermark, or steal from another: merge,
	// steal. Optional.
	Policy string
}

// StockOpenReply is the answer to STOCK.OPEN. A product that is open already is compared with the
// ledger, and corrected.
type StockOpenReply struct {
	Available int64
}

var stockOpenCommand = command{"STOCK.OPEN", "lead", "", ""}

// StockOpen carries out STOCK.OPEN: open a product that the ledger has, with the stock that is left
// there. Refusals: ErrProductNotFound, ErrLedgerDown, ErrTimeout, ErrBusy, ErrLoading,
// ErrInvalidQuantity, ErrInvalidID, ErrInvalidArgument.
func (c *Client) StockOpen(ctx context.Context, ask StockOpen) (StockOpenReply, error) {
	words := []string{ask.Product}
	if ask.Shards != 0 {
		words = append(words, "SHARDS", number(ask.Shards))
	}
	if ask.Watermark != 0 {
		words = append(words, "WATERMARK", number(ask.Watermark))
	}
	if ask.Policy != "" {
		words = append(words, "POLICY", ask.Policy)
	}
	var reply StockOpenReply
	err := c.execute(ctx, &stockOpenCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"available", &reply.Available},
		})
	})
	return reply, err
}

// StockBuy is what STOCK.BUY is asked for. What is zero and optional is not sent.
type StockBuy struct {
	// The product.
	Product string
	// The order: an id of your choice, the same again for a retry.
	Order string
	// Who buys.
	User string
	// How many.
	Quantity int64
	// How many of the product the user may have, taken and bought together. Optional.
	Max int64
	// The price of one, for the order's row in the ledger. Optional.
	Price int64
}

// StockBuyReply is the answer to STOCK.BUY. The same order again is answered as the first time, and
// sold once.
type StockBuyReply struct {
	Remaining int64
	Status    string
}

var stockBuyCommand = command{"STOCK.BUY", "lead", "", ""}

// StockBuy carries out STOCK.BUY: buy: taken in the engine, sold in the ledger, settled in the
// engine. Refusals: ErrProductNotFound, ErrSoldOut, ErrUserLimitExceeded, ErrInvalidState,
// ErrLedgerDown, ErrTimeout, ErrBusy, ErrLoading, ErrInvalidQuantity, ErrInvalidAmount,
// ErrInvalidID.
func (c *Client) StockBuy(ctx context.Context, ask StockBuy) (StockBuyReply, error) {
	words := []string{ask.Product, ask.Order, ask.User, number(ask.Quantity)}
	if ask.Max != 0 {
		words = append(words, "MAX", number(ask.Max))
	}
	if ask.Price != 0 {
		words = append(words, "PRICE", number(ask.Price))
	}
	var reply StockBuyReply
	err := c.execute(ctx, &stockBuyCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"remaining", &reply.Remaining}, {"status", &reply.Status},
		})
	})
	return reply, err
}

// StockReturn is what STOCK.RETURN is asked for. What is zero and optional is not sent.
type StockReturn struct {
	// The product.
	Product string
	// The order that comes back.
	Order string
}

// StockReturnReply is the answer to STOCK.RETURN.
type StockReturnReply struct {
	Status    string
	Available int64
}

var stockReturnCommand = command{"STOCK.RETURN", "lead", "", ""}

// StockReturn carries out STOCK.RETURN: a sold order comes back, to the ledger and to the engine,
// once. Refusals: ErrProductNotFound, ErrNotFound, ErrInvalidState, ErrLedgerDown, ErrTimeout,
// ErrLoading, ErrInvalidID.
func (c *Client) StockReturn(ctx context.Context, ask StockReturn) (StockReturnReply, error) {
	words := []string{ask.Product, ask.Order}
	var reply StockReturnReply
	err := c.execute(ctx, &stockReturnCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"status", &reply.Status}, {"available", &reply.Available},
		})
	})
	return reply, err
}

// StockOrder is what STOCK.ORDER is asked for. What is zero and optional is not sent.
type StockOrder struct {
	// The product.
	Product string
	// The order.
	Order string
}

// StockOrderReply is the answer to STOCK.ORDER. Times are the database's; returned_at is 0 unless
// the order was returned.
type StockOrderReply struct {
	OrderID    string
	ProductID  string
	UserID     string
	Quantity   int64
	UnitPrice  int64
	Status     string
	SoldAt     int64
	ReturnedAt int64
}

var stockOrderCommand = command{"STOCK.ORDER", "fields", "", ""}

// StockOrder carries out STOCK.ORDER: an order as the ledger has it. Refusals: ErrNotFound,
// ErrLedgerDown, ErrTimeout, ErrInvalidID.
func (c *Client) StockOrder(ctx context.Context, ask StockOrder) (StockOrderReply, error) {
	words := []string{ask.Product, ask.Order}
	var reply StockOrderReply
	err := c.execute(ctx, &stockOrderCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"order_id", &reply.OrderID}, {"product_id", &reply.ProductID}, {"user_id", &reply.UserID},
			{"quantity", &reply.Quantity}, {"unit_price", &reply.UnitPrice}, {"status", &reply.Status},
			{"sold_at", &reply.SoldAt}, {"returned_at", &reply.ReturnedAt},
		})
	})
	return reply, err
}
