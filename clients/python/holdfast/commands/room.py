# SPDX-License-Identifier: Apache-2.0
"""Waiting rooms: places in line, passes, admission.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from ..values import Command, Duration, Family, Words, duration, flag, option


class RoomOpenReply(NamedTuple):
    """The answer to ROOM.OPEN. How many are in line, and how many passes are valid."""

    waiting: int
    inside: int


class RoomJoinReply(NamedTuple):
    """The answer to ROOM.JOIN."""

    position: int
    total: int
    token: str


class RoomPositionReply(NamedTuple):
    """The answer to ROOM.POSITION. Position counts from 1; 0 while the order of a room with ORDER
    random is not drawn yet. Once the user is admitted and TOKEN is right: [0, total, pass].
    """

    position: int
    total: int
    pass_: str = ""


class RoomAdmitItem(NamedTuple):
    """An item of the answer to ROOM.ADMIT. Oldest first; an empty list if nobody waits, START is to
    come or as many as INSIDE allows are inside. RATE and PAUSED are for ROOM.TICK alone. With
    the ID of an earlier call: those it admitted whose passes are still valid.
    """

    user: str
    pass_: str


class RoomTickItem(NamedTuple):
    """An item of the answer to ROOM.TICK. As ROOM.ADMIT: oldest first, an empty list if nobody is
    admitted.
    """

    user: str
    pass_: str


class RoomStatsReply(NamedTuple):
    """The answer to ROOM.STATS. Estimated_wait_s is that of the last in line, and -1 (null in JSON)
    if it is not known; the four behind it are START, whether ORDER is random, PASS and GATE, as
    ROOM.OPEN set them.
    """

    waiting: int = 0
    inside: int = 0
    admitted: int = 0
    rate: int = 0
    inside_max: int = 0
    started: int = 0
    paused: int = 0
    estimated_wait_s: int = 0
    start_ms: int = 0
    random: int = 0
    pass_ms: int = 0
    gate: int = 0


_OPEN: Command[RoomOpenReply] = Command("ROOM.OPEN", "lead", RoomOpenReply)
_JOIN: Command[RoomJoinReply] = Command("ROOM.JOIN", "lead", RoomJoinReply)
_POSITION: Command[RoomPositionReply] = Command("ROOM.POSITION", "list", RoomPositionReply)
_LEAVE: Command[int] = Command("ROOM.LEAVE", "number", int)
_ADMIT: Command[Tuple[RoomAdmitItem, ...]] = Command("ROOM.ADMIT", "pairs", RoomAdmitItem)
_TICK: Command[Tuple[RoomTickItem, ...]] = Command("ROOM.TICK", "pairs", RoomTickItem)
_CHECK: Command[int] = Command("ROOM.CHECK", "number", int)
_DONE: Command[int] = Command("ROOM.DONE", "number", int)
_STATS: Command[RoomStatsReply] = Command("ROOM.STATS", "fields", RoomStatsReply)


class Room(Family):
    """Waiting rooms: places in line, passes, admission."""

    def open(
            self, event: str, *, rate: Optional[int] = None, inside: Optional[int] = None,
            start: Optional[int] = None, order: Optional[str] = None,
            pass_: Optional[Duration] = None, paused: bool = False,
            gate: bool = False) -> RoomOpenReply:
        """Set how an event's waiting room admits: each call sets everything.

        event: the event that people wait for
        rate: how many users ROOM.TICK admits per second; 0: any number
        inside: how many passes are valid at a time, at most; 0: any number
        start: nobody is admitted before this time, in milliseconds since 1970; 0: at once
        order: of those who come before START: as they came, or drawn by lot (fifo, random)
        pass_: how long a pass is good for
        paused: ROOM.TICK admits nobody for now
        gate: SEATS.RESERVE in the event needs a valid pass
        Raises: InvalidState, InvalidQuantity, InvalidTtl, InvalidId, InvalidArgument
        """
        words: Words = [event]
        words += option("RATE", rate)
        words += option("INSIDE", inside)
        words += option("START", start)
        words += option("ORDER", order)
        words += option("PASS", duration(pass_))
        words += flag("PAUSED", paused)
        words += flag("GATE", gate)
        return self._execute(_OPEN, words, again=False)

    def join(
            self, event: str, user: str, *, max: Optional[int] = None,
            ttl: Optional[Duration] = None) -> RoomJoinReply:
        """Stand in an event's line.

        event: the event that people wait for
        user: who joins the line
        max: the line is full with so many in it
        ttl: how long the place is kept
        Raises: AlreadyInQueue, QueueFull, InvalidQuantity, InvalidTtl, InvalidId
        """
        words: Words = [event, user]
        words += option("MAX", max)
        words += option("TTL", duration(ttl))
        return self._execute(_JOIN, words, again=False)

    def position(self, event: str, user: str, *, token: Optional[str] = None) -> RoomPositionReply:
        """Where a user stands in line, and how many do.

        event: the event
        user: who waits
        token: what JOIN answered: whoever shows it gets the pass, once the user is admitted
        Raises: NotInQueue, InvalidId
        """
        words: Words = [event, user]
        words += option("TOKEN", token)
        return self._execute(_POSITION, words, again=True)

    def leave(self, event: str, user: str) -> int:
        """Leave the line; 0 if the user was not in it.

        event: the event
        user: who leaves the line
        Raises: InvalidId
        """
        words: Words = [event, user]
        return self._execute(_LEAVE, words, again=True)

    def admit(
            self, event: str, count: int, *, pass_: Optional[Duration] = None,
            id: Optional[str] = None) -> Tuple[RoomAdmitItem, ...]:
        """By hand: the first in line leave it and get a pass, in one step.

        event: the event
        count: how many to admit at most; one call admits no more than 4,000
        pass_: how long their passes are good for; not given: as ROOM.OPEN said
        id: an id of your choice, the same again for a retry: it admits nobody more and answers
            with the same passes, for 300 s
        Raises: InvalidState, InvalidQuantity, InvalidTtl, InvalidId
        """
        words: Words = [event, count]
        words += option("PASS", duration(pass_))
        words += option("ID", id)
        return self._execute(_ADMIT, words, again=id is not None)

    def tick(self, event: str, *, limited: bool = False) -> Tuple[RoomTickItem, ...]:
        """Admit as many as the room's RATE, INSIDE, START and PAUSED allow now.

        event: the event
        limited: admit nobody if neither RATE nor INSIDE is set, as the admission worker does
        Raises: InvalidId
        """
        words: Words = [event]
        words += flag("LIMITED", limited)
        return self._execute(_TICK, words, again=False)

    def check(self, event: str, user: str, pass_: str, *, renew: bool = False) -> int:
        """Is this the user's pass, and still good?.

        event: the event
        user: whose pass it is
        pass_: the pass, as ADMIT or TICK answered it
        renew: if it is valid, its time starts again
        Raises: InvalidId
        """
        words: Words = [event, user, pass_]
        words += flag("RENEW", renew)
        return self._execute(_CHECK, words, again=False)

    def done(self, event: str, user: str) -> int:
        """End a user's pass, so that its place inside is free; 0 if there was none.

        event: the event
        user: who has what it came for, or gave up
        Raises: InvalidId
        """
        words: Words = [event, user]
        return self._execute(_DONE, words, again=True)

    def stats(self, event: str) -> RoomStatsReply:
        """How many wait, are inside and were admitted, and how long it takes.

        event: the event
        Raises: InvalidId
        """
        words: Words = [event]
        return self._execute(_STATS, words, again=True)
