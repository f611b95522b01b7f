// SPDX-License-Identifier: Apache-2.0

// Package holdfast is a typed client of Holdfast, which hands out scarce things under heavy
// concurrency: seats, stock, quota, slots, locks, places in a queue.
//
//	client, err := holdfast.New("holdfast://127.0.0.1:4653")
//	held, err := client.SeatsReserve(ctx, holdfast.SeatsReserve{
//		Event: "gala", Zone: "floor", Booking: "b-1", User: "ann", Quantity: 2, MaxPerUser: 4,
//	})
//	if errors.Is(err, holdfast.ErrInsufficientStock) { … }
//
// There is a method for each command, named as it is, with a struct of arguments of the same name. A
// client may be used by any number of goroutines.
package holdfast
