// SPDX-License-Identifier: Apache-2.0
//
// Waiting rooms: places in line, passes, admission.
// Made from the command table by `make clients`; do not edit.

package holdfast

import (
	"context"
	"time"
)

// RoomOpen is what ROOM.OPEN is asked for. What is zero and optional is not sent.
type RoomOpen struct {
	// The event that people wait for.
	Event string
	// How many users ROOM.TICK admits per second; 0: any number. Optional.
	Rate int64
	// How many passes are valid at a time, at most; 0: any number. Optional.
	Inside int64
	// Nobody is admitted before this time, in milliseconds since 1970; 0: at once. Optional.
	Start int64
	// Of those who come before START: as they came, or drawn by lot: fifo, random. Optional.
	Order string
	// How long a pass is good for. Optional.
	Pass time.Duration
	// ROOM.TICK admits nobody for now. Optional.
	Paused bool
	// SEATS.RESERVE in the event needs a valid pass. Optional.
	Gate bool
}

// RoomOpenReply is the answer to ROOM.OPEN. How many are in line, and how many passes are valid.
type RoomOpenReply struct {
	Waiting int64
	Inside  int64
}

var roomOpenCommand = command{"ROOM.OPEN", "lead", "", ""}

// RoomOpen carries out ROOM.OPEN: set how an event's waiting room admits: each call sets
// everything. Refusals: ErrInvalidState, ErrInvalidQuantity, ErrInvalidTTL, ErrInvalidID,
// ErrInvalidArgument.
func (c *Client) RoomOpen(ctx context.Context, ask RoomOpen) (RoomOpenReply, error) {
	words := []string{ask.Event}
	if ask.Rate != 0 {
		words = append(words, "RATE", number(ask.Rate))
	}
	if ask.Inside != 0 {
		words = append(words, "INSIDE", number(ask.Inside))
	}
	if ask.Start != 0 {
		words = append(words, "START", number(ask.Start))
	}
	if ask.Order != "" {
		words = append(words, "ORDER", ask.Order)
	}
	if ask.Pass != 0 {
		words = append(words, "PASS", milliseconds(ask.Pass))
	}
	words = flag(words, "PAUSED", ask.Paused)
	words = flag(words, "GATE", ask.Gate)
	var reply RoomOpenReply
	err := c.execute(ctx, &roomOpenCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"waiting", &reply.Waiting}, {"inside", &reply.Inside},
		})
	})
	return reply, err
}

// RoomJoin is what ROOM.JOIN is asked for. What is zero and optional is not sent.
type RoomJoin struct {
	// The event that people wait for.
	Event string
	// Who joins the line.
	User string
	// The line is full with so many in it. Optional.
	Max int64
	// How long the place is kept. Optional.
	TTL time.Duration
}

// RoomJoinReply is the answer to ROOM.JOIN.
type RoomJoinReply struct {
	Position int64
	Total    int64
	Token    string
}

var roomJoinCommand = command{"ROOM.JOIN", "lead", "", ""}

// RoomJoin carries out ROOM.JOIN: stand in an event's line. Refusals: ErrAlreadyInQueue,
// ErrQueueFull, ErrInvalidQuantity, ErrInvalidTTL, ErrInvalidID.
func (c *Client) RoomJoin(ctx context.Context, ask RoomJoin) (RoomJoinReply, error) {
	words := []string{ask.Event, ask.User}
	if ask.Max != 0 {
		words = append(words, "MAX", number(ask.Max))
	}
	if ask.TTL != 0 {
		words = append(words, "TTL", milliseconds(ask.TTL))
	}
	var reply RoomJoinReply
	err := c.execute(ctx, &roomJoinCommand, words, false, noWait, func(a answer) error {
		return a.read(fields{
			{"position", &reply.Position}, {"total", &reply.Total}, {"token", &reply.Token},
		})
	})
	return reply, err
}

// RoomPosition is what ROOM.POSITION is asked for. What is zero and optional is not sent.
type RoomPosition struct {
	// The event.
	Event string
	// Who waits.
	User string
	// What JOIN answered: whoever shows it gets the pass, once the user is admitted. Optional.
	Token string
}

// RoomPositionReply is the answer to ROOM.POSITION. Position counts from 1; 0 while the order of a
// room with ORDER random is not drawn yet. Once the user is admitted and TOKEN is right: [0, total,
// pass].
type RoomPositionReply struct {
	Position int64
	Total    int64
	Pass     string
}

var roomPositionCommand = command{"ROOM.POSITION", "list", "", ""}

// RoomPosition carries out ROOM.POSITION: where a user stands in line, and how many do. Refusals:
// ErrNotInQueue, ErrInvalidID.
func (c *Client) RoomPosition(ctx context.Context, ask RoomPosition) (RoomPositionReply, error) {
	words := []string{ask.Event, ask.User}
	if ask.Token != "" {
		words = append(words, "TOKEN", ask.Token)
	}
	var reply RoomPositionReply
	err := c.execute(ctx, &roomPositionCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"position", &reply.Position}, {"total", &reply.Total}, {"pass", &reply.Pass},
		})
	})
	return reply, err
}

// RoomLeave is what ROOM.LEAVE is asked for. What is zero and optional is not sent.
type RoomLeave struct {
	// The event.
	Event string
	// Who leaves the line.
	User string
}

var roomLeaveCommand = command{"ROOM.LEAVE", "number", "", ""}

// RoomLeave carries out ROOM.LEAVE: leave the line; 0 if the user was not in it. Refusals:
// ErrInvalidID.
func (c *Client) RoomLeave(ctx context.Context, ask RoomLeave) (int64, error) {
	words := []string{ask.Event, ask.User}
	var reply int64
	err := c.execute(ctx, &roomLeaveCommand, words, true, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// RoomAdmit is what ROOM.ADMIT is asked for. What is zero and optional is not sent.
type RoomAdmit struct {
	// The event.
	Event string
	// How many to admit at most; one call admits no more than 4,000.
	Count int64
	// How long their passes are good for; not given: as ROOM.OPEN said. Optional.
	Pass time.Duration
	// An id of your choice, the same again for a retry: it admits nobody more and answers with the
	// same passes, for 300 s. Optional.
	ID string
}

// RoomAdmitItem is an item of the answer to ROOM.ADMIT. Oldest first; an empty list if nobody
// waits, START is to come or as many as INSIDE allows are inside. RATE and PAUSED are for ROOM.TICK
// alone. With the ID of an earlier call: those it admitted whose passes are still valid.
type RoomAdmitItem struct {
	User string
	Pass string
}

var roomAdmitCommand = command{"ROOM.ADMIT", "pairs", "", ""}

// RoomAdmit carries out ROOM.ADMIT: by hand: the first in line leave it and get a pass, in one
// step. Refusals: ErrInvalidState, ErrInvalidQuantity, ErrInvalidTTL, ErrInvalidID.
func (c *Client) RoomAdmit(ctx context.Context, ask RoomAdmit) ([]RoomAdmitItem, error) {
	words := []string{ask.Event, number(ask.Count)}
	if ask.Pass != 0 {
		words = append(words, "PASS", milliseconds(ask.Pass))
	}
	if ask.ID != "" {
		words = append(words, "ID", ask.ID)
	}
	var reply []RoomAdmitItem
	err := c.execute(ctx, &roomAdmitCommand, words, ask.ID != "", noWait, func(a answer) error {
		return readPairs(a, &reply, func(item *RoomAdmitItem) fields {
			return fields{
				{"user", &item.User}, {"pass", &item.Pass},
			}
		})
	})
	return reply, err
}

// RoomTick is what ROOM.TICK is asked for. What is zero and optional is not sent.
type RoomTick struct {
	// The event.
	Event string
	// Admit nobody if neither RATE nor INSIDE is set, as the admission worker does. Optional.
	Limited bool
}

// RoomTickItem is an item of the answer to ROOM.TICK. As ROOM.ADMIT: oldest first, an empty list if
// nobody is admitted.
type RoomTickItem struct {
	User string
	Pass string
}

var roomTickCommand = command{"ROOM.TICK", "pairs", "", ""}

// RoomTick carries out ROOM.TICK: admit as many as the room's RATE, INSIDE, START and PAUSED allow
// now. Refusals: ErrInvalidID.
func (c *Client) RoomTick(ctx context.Context, ask RoomTick) ([]RoomTickItem, error) {
	words := []string{ask.Event}
	words = flag(words, "LIMITED", ask.Limited)
	var reply []RoomTickItem
	err := c.execute(ctx, &roomTickCommand, words, false, noWait, func(a answer) error {
		return readPairs(a, &reply, func(item *RoomTickItem) fields {
			return fields{
				{"user", &item.User}, {"pass", &item.Pass},
			}
		})
	})
	return reply, err
}

// RoomCheck is what ROOM.CHECK is asked for. What is zero and optional is not sent.
type RoomCheck struct {
	// The event.
	Event string
	// Whose pass it is.
	User string
	// The pass, as ADMIT or TICK answered it.
	Pass string
	// If it is valid, its time starts again. Optional.
	Renew bool
}

var roomCheckCommand = command{"ROOM.CHECK", "number", "", ""}

// RoomCheck carries out ROOM.CHECK: is this the user's pass, and still good?. Refusals:
// ErrInvalidID.
func (c *Client) RoomCheck(ctx context.Context, ask RoomCheck) (int64, error) {
	words := []string{ask.Event, ask.User, ask.Pass}
	words = flag(words, "RENEW", ask.Renew)
	var reply int64
	err := c.execute(ctx, &roomCheckCommand, words, false, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// RoomDone is what ROOM.DONE is asked for. What is zero and optional is not sent.
type RoomDone struct {
	// The event.
	Event string
	// Who has what it came for, or gave up.
	User string
}

var roomDoneCommand = command{"ROOM.DONE", "number", "", ""}

// RoomDone carries out ROOM.DONE: end a user's pass, so that its place inside is free; 0 if there
// was none. Refusals: ErrInvalidID.
func (c *Client) RoomDone(ctx context.Context, ask RoomDone) (int64, error) {
	words := []string{ask.Event, ask.User}
	var reply int64
	err := c.execute(ctx, &roomDoneCommand, words, true, noWait, func(a answer) error {
		return a.number(&reply)
	})
	return reply, err
}

// RoomStats is what ROOM.STATS is asked for. What is zero and optional is not sent.
type RoomStats struct {
	// The event.
	Event string
}

// RoomStatsReply is the answer to ROOM.STATS. Estimated_wait_s is that of the last in line, and -1
// (null in JSON) if it is not known; the four behind it are START, whether ORDER is random, PASS
// and GATE, as ROOM.OPEN set them.
type RoomStatsReply struct {
	Waiting        int64
	Inside         int64
	Admitted       int64
	Rate           int64
	InsideMax      int64
	Started        int64
	Paused         int64
	EstimatedWaitS int64
	StartMs        int64
	Random         int64
	PassMs         int64
	Gate           int64
}

var roomStatsCommand = command{"ROOM.STATS", "fields", "", ""}

// RoomStats carries out ROOM.STATS: how many wait, are inside and were admitted, and how long it
// takes. Refusals: ErrInvalidID.
func (c *Client) RoomStats(ctx context.Context, ask RoomStats) (RoomStatsReply, error) {
	words := []string{ask.Event}
	var reply RoomStatsReply
	err := c.execute(ctx, &roomStatsCommand, words, true, noWait, func(a answer) error {
		return a.read(fields{
			{"waiting", &reply.Waiting}, {"inside", &reply.Inside}, {"admitted", &reply.Admitted},
			{"rate", &reply.Rate}, {"inside_max", &reply.InsideMax}, {"started", &reply.Started},
			{"paused", &reply.Paused}, {"estimated_wait_s", &reply.EstimatedWaitS},
			{"start_ms", &reply.StartMs}, {"random", &reply.Random}, {"pass_ms", &reply.PassMs},
			{"gate", &reply.Gate},
		})
	})
	return reply, err
}
