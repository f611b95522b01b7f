# SPDX-License-Identifier: Apache-2.0
"""A refusal says what stood against the request: which argument of a retry differs, with the value
that is stored and the one that was given, or what was not found. Both engines say it alike."""

import json

import pytest

from harness import Build, run
from servers import RedisServer

SETUP = """
SEATS.OPEN gala floor 9
SEATS.OPEN gala pit 9
SEATS.OPEN gala box 9 MAX 4
SEATS.OPEN gala stage 9 MAX 5 LIFETIME
SEATS.RESERVE gala floor b-1 ann 2 4 PRICE 5 TTL 60
SEATS.RESERVE gala floor b-2 ann 1 4 SHOW late LIFETIME
SEATS.RESERVE gala floor b-3 ann 1 4
SEATS.CONFIRM gala b-3 PAYMENT p-1
QUOTA.LIMIT acme 100
QUOTA.RESERVE acme 5 HOLD h-1 TTL 60
STOCK.LOAD phone 10
STOCK.TAKE phone o-1 ann 2 TTL 60
STOCK.TAKE phone o-2 ann 2
STOCK.SETTLE phone o-2
SEM.ACQUIRE gpu w-1 1 HEARTBEAT 30 TTL 60
SEM.ACQUIRE tape t-1 3 SLOTS 2
IDEM.BEGIN k-1 f-1
QUOTA.RESERVE acme 5 HOLD h-2
QUOTA.COMMIT acme h-2
ROOM.JOIN club ann MAX 1
ROOM.OPEN fair START 9007199254740991 ORDER random
ROOM.JOIN fair ann
SEATS.OPEN play floor 9
ROOM.OPEN play GATE
""" + "".join(f"ROOM.JOIN throng u-{n}\n" for n in range(501))

ID = ": another request needs another id"
REFUSALS = [
    ("SEATS.RESERVE gala pit b-1 ann 2 4 PRICE 5 TTL 60", "BOOKING_EXISTS",
     f'the booking exists with zone "floor", not "pit"{ID}'),
    ("SEATS.RESERVE gala floor b-1 bob 2 4 PRICE 5 TTL 60", "BOOKING_EXISTS",
     f'the booking exists with user "ann", not "bob"{ID}'),
    ("SEATS.RESERVE gala floor b-1 ann 3 4 PRICE 5 TTL 60", "BOOKING_EXISTS",
     f"the booking exists with quantity 2, not 3{ID}"),
    ("SEATS.RESERVE gala floor b-1 ann 2 4 PRICE 5 TTL 60 SHOW late", "BOOKING_EXISTS",
     f'the booking exists with SHOW "", not "late"{ID}'),
    ("SEATS.RESERVE gala floor b-1 ann 2 4 PRICE 6 TTL 60", "BOOKING_EXISTS",
     f"the booking exists with PRICE 5, not 6{ID}"),
    ("SEATS.RESERVE gala floor b-1 ann 2 4 PRICE 5 TTL 61", "BOOKING_EXISTS",
     f"the booking exists with TTL 60000 ms, not 61000 ms{ID}"),
    ("SEATS.RESERVE gala floor b-2 ann 1 4 SHOW late", "BOOKING_EXISTS",
     f"the booking exists with LIFETIME 1, not 0{ID}"),
    ("SEATS.CONFIRM gala b-3 PAYMENT p-2", "INVALID_STATE",
     'the booking is confirmed already, with payment "p-1", not "p-2"'),
    ("SEATS.CONFIRM gala b-1 USER bob", "NOT_OWNER", 'the booking does not belong to user "bob"'),
    ("SEATS.RELEASE gala b-1 USER bob", "NOT_OWNER", 'the booking does not belong to user "bob"'),
    ("SEATS.RELEASE gala b-3", "INVALID_STATE",
     "the booking is confirmed: only a reserved one can be released"),
    ("QUOTA.RESERVE acme 6 HOLD h-1 TTL 60", "INVALID_STATE",
     f"the hold exists with amount 5, not 6{ID}"),
    ("QUOTA.RESERVE acme 5 HOLD h-1 TTL 61", "INVALID_STATE",
     f"the hold exists with TTL 60000 ms, not 61000 ms{ID}"),
    ("STOCK.TAKE phone o-1 bob 2 TTL 60", "INVALID_STATE",
     f'the order exists with user "ann", not "bob"{ID}'),
    ("STOCK.TAKE phone o-1 ann 3 TTL 60", "INVALID_STATE",
     f"the order exists with quantity 2, not 3{ID}"),
    ("STOCK.TAKE phone o-1 ann 2 TTL 61", "INVALID_STATE",
     f"the order exists with TTL 60000 ms, not 61000 ms{ID}"),
    ("STOCK.GIVE phone o-2", "INVALID_STATE",
     "the order is settled: what is sold is not given back"),
    ("SEM.ACQUIRE gpu w-1 1 HEARTBEAT 31 TTL 60", "INVALID_STATE",
     f"the slot is held with HEARTBEAT 30000 ms, not 31000 ms{ID}"),
    ("SEM.ACQUIRE gpu w-1 1 HEARTBEAT 30 TTL 61", "INVALID_STATE",
     f"the slot is held with TTL 60000 ms, not 61000 ms{ID}"),
    ("SEM.ACQUIRE gpu w-1 2 HEARTBEAT 30 TTL 60 SLOTS 2", "INVALID_STATE",
     f"the slot is held with SLOTS 1, not 2{ID}"),
    ("SEM.ACQUIRE tape t-2 3 SLOTS 2", "NO_SLOT", "SLOTS 2, but 1 slots are free, 0 waiting"),
    ("SEM.ACQUIRE tape t-2 3 SLOTS 4", "INVALID_QUANTITY",
     "SLOTS 4 is more than limit 3: it could never be granted"),
    ("IDEM.BEGIN k-1 f-2", "KEY_REUSED",
     'the key was used with fingerprint "f-1", not "f-2": another request needs another key'),
    ("SEATS.RESERVE gala roof b-9 ann 1 4", "ZONE_NOT_FOUND",
     'no such zone: open it first; event "gala", zone "roof"'),
    ("SEATS.ZONE gala roof", "ZONE_NOT_FOUND", 'no such zone; event "gala", zone "roof"'),
    ("SEATS.CONFIRM gala b-9", "RESERVATION_NOT_FOUND",
     'no such booking: never made, released, refunded, expired; event "gala", booking "b-9"'),
    ("SEATS.GET gala b-9", "RESERVATION_NOT_FOUND",
     'no such booking: never made, released, refunded, expired; event "gala", booking "b-9"'),
    ("QUOTA.COMMIT acme h-9", "HOLD_NOT_FOUND",
     'no such hold: never made, cancelled or expired; tenant "acme", hold "h-9"'),
    ("STOCK.GET tablet", "PRODUCT_NOT_FOUND", 'no such product: load it first; product "tablet"'),
    ("STOCK.SETTLE phone o-9", "NOT_FOUND",
     'no such order: never taken, given back or expired; product "phone", order "o-9"'),
    ("ROOM.POSITION gala ann", "NOT_IN_QUEUE",
     'the user is not in the queue; event "gala", user "ann"'),
    ("SEATS.OPEN gala floor 1", "CAPACITY_IN_USE",
     "capacity 1 is below the 3 seats reserved and 1 confirmed"),
    ("SEATS.RESERVE gala floor b-8 bob 99 100", "INSUFFICIENT_STOCK",
     "5 seats available, 99 requested"),
    ("SEATS.RESERVE gala floor b-8 ann 2 4", "USER_LIMIT_EXCEEDED",
     "the user has 3 seats, 2 requested, at most 4 allowed; holds that expired count for 60 s more"),
    ("SEATS.RESERVE gala box b-8 ann 2 9", "USER_LIMIT_EXCEEDED",
     "the user has 3 seats, 2 requested, the zone allows at most 4; holds that expired count for "
     "60 s more"),
    ("SEATS.RESERVE gala stage b-8 ann 2 9", "USER_LIMIT_EXCEEDED",
     "the user has 4 seats with those confirmed, 2 requested, the zone allows at most 5; holds that "
     "expired count for 60 s more"),
    ("SEATS.REFUND gala b-1", "INVALID_STATE",
     "the booking is reserved: only a confirmed one can be refunded; release it"),
    ("SEATS.REFUND gala b-3 USER bob", "NOT_OWNER", 'the booking does not belong to user "bob"'),
    ("SEATS.REFUND gala b-9", "RESERVATION_NOT_FOUND",
     'no such booking: never made, released, refunded, expired; event "gala", booking "b-9"'),
    ("SEATS.OPEN gala box 9 LIFETIME", "INVALID_ARGUMENT", "LIFETIME makes no sense without MAX"),
    ("SEATS.EXTEND gala b-3 60", "INVALID_STATE", "the booking is confirmed and has no deadline"),
    ("QUOTA.CANCEL acme h-2", "INVALID_STATE", "the hold is committed: refund it instead"),
    ("QUOTA.CLOSE acme", "INVALID_STATE",
     "5 are on hold: commit or cancel the holds, or wait until they expire"),
    ("QUOTA.COMMIT acme h-2 AMOUNT 4", "INVALID_STATE",
     "the hold is committed with amount 5, not 4: refund or reserve the rest"),
    ("QUOTA.COMMIT acme h-1 AMOUNT 96", "QUOTA_EXCEEDED",
     "10 used of 100, 91 more requested than is held: commit less, or raise the limit; "
     "the hold stays open"),
    (f"QUOTA.SYNC acme {2**53 - 1}", "INVALID_AMOUNT",
     f"actual {2**53 - 1} and 5 on hold are more than {2**53 - 1}"),
    ("SEM.ACQUIRE gpu w-2 1", "NO_SLOT", "1 of 1 slots in use, 0 waiting"),
    ("SEM.ACQUIRE gpu w-2 1 WAIT 10", "TIMEOUT", "waited and got no slot"),
    ("STOCK.TAKE phone o-8 ann 99", "SOLD_OUT", "6 left, 99 requested"),
    ("STOCK.LOAD phone 1", "CAPACITY_IN_USE",
     "that would leave 1 in all, with 2 taken and 2 sold"),
    (f"STOCK.ADJUST phone {2**53 - 10} found", "INVALID_QUANTITY",
     f"that would make {2**53} in all: at most {2**53 - 1}"),
    ("ROOM.JOIN club ann MAX 1", "ALREADY_IN_QUEUE", "in the queue already, at place 1 of 1"),
    ("ROOM.JOIN club bob MAX 1", "QUEUE_FULL", "1 in the queue, at most 1 allowed"),
    ("ROOM.JOIN fair ann", "ALREADY_IN_QUEUE",
     "in the queue already, one of 1 whose order is drawn at the start"),
    ("ROOM.OPEN throng START 9007199254740991 ORDER random", "INVALID_STATE",
     "501 are in line: ORDER random with a START to come draws the order of at most 200; set it "
     "before they come"),
    ("SEATS.RESERVE play floor b-1 ann 1 4", "NOT_ADMITTED",
     'event "play" is entered through its waiting room: PASS is missing, which admission gives to '
     'user "ann"'),
    ("SEATS.RESERVE play floor b-1 ann 1 4 PASS x", "NOT_ADMITTED",
     'event "play" is entered through its waiting room: PASS is not the pass of user "ann", or no '
     "longer valid"),
]


@pytest.fixture(scope="module", params=["embedded", "redis"])
def messages(request):
    """What an engine has to say to each of the commands, by command."""
    lines = SETUP.strip().splitlines()
    text = "\n".join(lines + [command for command, _, _ in REFUSALS]) + "\n"

    def ask(url):
        ended = run(Build().program, "call", "--json", "--engine", url, stdin=text.encode())
        replies = [json.loads(line) for line in ended.lines]
        assert not any("error" in reply for reply in replies[:len(lines)]), replies
        return {command: reply for (command, _, _), reply in zip(REFUSALS, replies[len(lines):])}

    if request.param == "embedded":
        return ask("embedded:")
    with RedisServer() as redis:
        return ask(redis.url)


@pytest.mark.parametrize("command, code, message", REFUSALS)
def test_a_refusal_names_what_and_why(messages, command, code, message):
    assert messages[command] == {"error": {"code": code, "message": message}}
