// SPDX-License-Identifier: Apache-2.0
//
// The example of README.md.

package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"holdfast.example/client"
)

func Example() {
	client, err := holdfast.New("") // HOLDFAST_URL, or else the server of this machine
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	if _, err := client.SeatsOpen(ctx, holdfast.SeatsOpen{
		Event: "gala", Zone: "floor", Capacity: 500,
	}); err != nil {
		log.Fatal(err)
	}
	held, err := client.SeatsReserve(ctx, holdfast.SeatsReserve{
		Event: "gala", Zone: "floor", Booking: "b-1", User: "ann", Quantity: 2, MaxPerUser: 4,
		TTL: 5 * time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(held.Remaining)
	_, err = client.SeatsReserve(ctx, holdfast.SeatsReserve{
		Event: "gala", Zone: "floor", Booking: "b-2", User: "bob", Quantity: 1000, MaxPerUser: 1000,
	})
	if errors.Is(err, holdfast.ErrInsufficientStock) {
		fmt.Println(err)
	}

	slot, err := client.AcquireSlot(ctx, holdfast.SemAcquire{
		Name: "render", Limit: 2, Wait: 30 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer slot.Release(ctx)
	select {
	case <-slot.Lost():
	default:
		fmt.Println(slot.Fence > 0)
	}
	// Output:
	// 498
	// holdfast: INSUFFICIENT_STOCK: 498 seats available, 1000 requested
	// true
}
