# SPDX-License-Identifier: Apache-2.0
"""The model against expectations worked out by hand from the contract."""

import pytest

from generate import Generator
from model import MALFORMED, Model
from model_values import OrderedFences, UnknownFence, known, matches

T0 = 1_700_000_000_000
CODE = "0123456789"
LOCK_ID = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"


class Engine:
    """A model that is talked to in words, at times counted from T0."""

    def __init__(self):
        self.model = Model()
        self.last = None

    def __call__(self, at_ms, command):
        argv = [word.encode() for word in command.split(" ")]
        self.last = self.model.apply(T0 + at_ms, argv)
        return self.last[0]

    @property
    def wakes(self):
        return self.last[1]


@pytest.fixture
def engine():
    return Engine()


@pytest.fixture
def seats(engine):
    assert engine(0, "SEATS.OPEN ev zone 10") == [1, 10, 10]
    return engine


def fields(flat):
    return dict(zip(flat[::2], flat[1::2]))


# Arguments


@pytest.mark.parametrize(
    "command, reply",
    [
        ("SEATS.OPEN ev zone", MALFORMED),
        ("SEATS.OPEN ev zone 1 2", MALFORMED),
        ("SEATS.NONE ev", MALFORMED),
        ("seats.open ev zone 7", [1, 7, 7]),
        ("SEATS.OPEN ev zone 0", [1, 0, 0]),
        ("SEATS.OPEN ev zone -0", [1, 0, 0]),
        ("SEATS.OPEN ev zone 007", [1, 7, 7]),
        ("SEATS.OPEN ev zone -1", [0, "INVALID_QUANTITY"]),
        ("SEATS.OPEN ev zone 9007199254740991", [1, 2**53 - 1, 2**53 - 1]),
        ("SEATS.OPEN ev zone 9007199254740992", [0, "INVALID_QUANTITY"]),
        ("SEATS.OPEN ev zone " + "9" * 5000, [0, "INVALID_QUANTITY"]),
        ("SEATS.OPEN ev zone +1", MALFORMED),
        ("SEATS.OPEN ev zone 1.0", MALFORMED),
        ("SEATS.OPEN ev zone ", MALFORMED),
        ("SEATS.OPEN  zone 1", [0, "INVALID_ID"]),
        ("SEATS.OPEN e{v} zone x", [0, "INVALID_ID"]),
        ("SEATS.OPEN " + "é" * 64 + " zone 1", [1, 1, 1]),
        ("SEATS.OPEN " + "é" * 64 + "x zone 1", [0, "INVALID_ID"]),
        ("SEATS.OPEN a\u00a0b zone 1", [0, "INVALID_ID"]),
        ("SEATS.OPEN a\u0085b zone 1", [0, "INVALID_ID"]),
        ("SEATS.RESERVE ev zone b u 0 x", [0, "INVALID_QUANTITY"]),
        ("SEATS.RESERVE ev zone b u 1 1 TTL 5 TTL 5", MALFORMED),
        ("SEATS.RESERVE ev zone b u 1 1 TTL", MALFORMED),
        ("SEATS.RESERVE ev zone b u 1 1 FOR 5", MALFORMED),
        ("SEATS.RESERVE ev zone b u 1 1 TTL 9ms", [0, "INVALID_TTL"]),
        ("SEATS.RESERVE ev zone b u 1 1 TTL 10ms", [0, "ZONE_NOT_FOUND"]),
        ("SEATS.RESERVE ev zone b u 1 1 TTL 720h", [0, "ZONE_NOT_FOUND"]),
        ("SEATS.RESERVE ev zone b u 1 1 TTL 2592000001ms", [0, "INVALID_TTL"]),
        ("SEATS.RESERVE ev zone b u 1 1 TTL -1", [0, "INVALID_TTL"]),
        ("SEATS.RESERVE ev zone b u 1 1 PRICE -1", [0, "INVALID_AMOUNT"]),
        ("QUOTA.RESERVE t 1 TTL 5", [0, "INVALID_ARGUMENT"]),
        ("QUOTA.RESERVE t 0", [0, "INVALID_AMOUNT"]),
        ("QUOTA.REFUND t 0", [0, "INVALID_AMOUNT"]),
        ("QUOTA.REFUND t 1", 0),
        ("SEM.ACQUIRE s id 0", [0, "INVALID_QUANTITY"]),
        ("SEM.ACQUIRE s id 1 WAIT 0", [1, 1, 1]),
        ("SEM.ACQUIRE s id 1 WAIT 9", [1, 1, 1]),
        ("SEM.ACQUIRE s id 1 WAIT -1", [0, "INVALID_TTL"]),
        ("SEM.ACQUIRE { id 1 WAIT 1 TTL 1 WAITS 1", [0, "INVALID_ID"]),
        ("SEM.ACQUIRE { id 1 WAIT 1 TTL 1 HEARTBEAT 1 SLOTS 1 WAITS", MALFORMED),
        ("SEM.CARD { x", MALFORMED),
        ("STOCK.LOAD p 5 SHARDS 1024 POLICY steal", [1, 5]),
        ("STOCK.LOAD p 5 SHARDS 1025", [0, "INVALID_QUANTITY"]),
        ("STOCK.LOAD p 5 POLICY keep", [0, "INVALID_ARGUMENT"]),
        ("STOCK.ADJUST p 5 " + "x" * 257, [0, "PAYLOAD_TOO_LARGE"]),
        ("ROOM.ADMIT ev 0", [0, "INVALID_QUANTITY"]),
        ("IDEM.COMPLETE key " + "x" * (2**20), 0),
        ("IDEM.COMPLETE key " + "x" * (2**20 + 1), [0, "PAYLOAD_TOO_LARGE"]),
    ],
)
def test_arguments_are_checked(engine, command, reply):
    assert engine(0, command) == reply


# Seats


def test_reserve_checks_in_order(seats):
    assert seats(0, "SEATS.RESERVE ev other b u 99 1") == [0, "ZONE_NOT_FOUND"]
    assert seats(0, "SEATS.RESERVE ev zone b u 11 1") == [0, "INSUFFICIENT_STOCK"]
    assert seats(0, "SEATS.RESERVE ev zone b u 5 4") == [0, "USER_LIMIT_EXCEEDED"]
    assert seats(0, "SEATS.RESERVE ev zone b u 4 4") == [1, 6, 4, T0 + 600_000]


def test_reserve_again_is_compared(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 4")
    assert seats(5, "SEATS.RESERVE ev zone b u 4 0 TTL 10m PRICE 0") == [
        1, 6, 4, T0 + 600_000]
    assert seats(5, "SEATS.RESERVE ev zone b u 4 4 TTL 599") == [0, "BOOKING_EXISTS"]
    assert seats(5, "SEATS.RESERVE ev zone b u 4 4 LIFETIME") == [0, "BOOKING_EXISTS"]


def test_expiry_gives_seats_back_and_keeps_the_users_count_for_a_minute(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 9 TTL 1s")
    assert fields(seats(999, "SEATS.ZONE ev zone"))["available"] == 6
    assert fields(seats(1000, "SEATS.ZONE ev zone"))["available"] == 10
    assert seats(1000, "SEATS.CONFIRM ev b") == [0, "RESERVATION_NOT_FOUND"]
    assert seats(60_999, "SEATS.USER ev u") == [4, 0]
    assert seats(61_000, "SEATS.USER ev u") == [0, 0]


def test_a_clock_that_steps_back_revives_nothing(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 9 TTL 1s")
    seats(1000, "SEATS.USER ev u")
    assert seats(10, "SEATS.GET ev b") == [0, "RESERVATION_NOT_FOUND"]


def test_confirm_and_its_retries(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 9")
    assert seats(1, "SEATS.CONFIRM ev b USER v") == [0, "NOT_OWNER"]
    assert matches(seats(1, "SEATS.CONFIRM ev b USER u PAYMENT p"), [1, "CONFIRMED", CODE])
    again = seats(900_000, "SEATS.CONFIRM ev b PAYMENT p")
    assert not matches(again, [1, "CONFIRMED", "9876543210"])
    assert matches(again, [1, "CONFIRMED", CODE])
    assert seats(900_000, "SEATS.CONFIRM ev b PAYMENT q") == [0, "INVALID_STATE"]
    assert seats(900_000, "SEATS.RELEASE ev b") == [0, "INVALID_STATE"]
    assert seats(900_000, "SEATS.EXTEND ev b 5") == [0, "INVALID_STATE"]
    assert seats(900_000, "SEATS.USER ev u") == [0, 4]
    assert seats(900_000, "SEATS.RESERVE ev zone b u 4 9") == [1, 6, 0, 0]
    assert fields(seats(900_000, "SEATS.GET ev b"))["expires_at"] == 0


def test_lifetime_goes_on_counting(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 4 LIFETIME")
    seats(0, "SEATS.CONFIRM ev b")
    assert seats(0, "SEATS.RESERVE ev zone c u 1 4") == [0, "USER_LIMIT_EXCEEDED"]
    assert seats(0, "SEATS.RESERVE ev zone c u 1 5") == [1, 5, 5, T0 + 600_000]


def test_release_is_remembered_for_the_retry_window(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 9")
    assert seats(0, "SEATS.RELEASE ev b") == [1, "SUCCESS", 10, 0]
    assert seats(299_999, "SEATS.RELEASE ev b") == [1, "SUCCESS", 10, 0]
    assert seats(299_999, "SEATS.RELEASE ev b USER v") == [0, "NOT_OWNER"]
    assert seats(299_999, "SEATS.CONFIRM ev b") == [0, "RESERVATION_NOT_FOUND"]
    assert seats(300_000, "SEATS.RELEASE ev b") == [0, "RESERVATION_NOT_FOUND"]


def test_extend_is_bounded_and_never_shortens(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 9 TTL 10s")
    assert seats(5000, "SEATS.EXTEND ev b 1s") == [1, T0 + 10_000]
    assert seats(5000, "SEATS.EXTEND ev b 60s") == [1, T0 + 65_000]
    assert seats(5000, "SEATS.EXTEND ev b 1h") == [1, T0 + 120_000]


def test_get_shows_the_record(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 9 SHOW s PRICE 70")
    assert seats(5, "SEATS.GET ev b") == [
        "booking_id", "b", "user_id", "u", "zone_id", "zone", "event_id", "ev", "show_id", "s",
        "quantity", 4, "unit_price", 70, "status", "reserved", "created_at", T0, "expires_at",
        T0 + 600_000,
    ]


def test_capacity_may_not_go_below_what_is_in_use(seats):
    seats(0, "SEATS.RESERVE ev zone b u 4 9")
    assert seats(0, "SEATS.OPEN ev zone 3") == [0, "CAPACITY_IN_USE"]
    assert seats(0, "SEATS.OPEN ev zone 4") == [1, 0, 4]


def test_a_users_seats_stay_within_the_integers(seats):
    seats(0, f"SEATS.OPEN ev large {2**53 - 1}")
    seats(0, "SEATS.RESERVE ev zone b u 1 9")
    seats(0, "SEATS.CONFIRM ev b")
    reserve = "SEATS.RESERVE ev large c u {} " + str(2**53 - 1)
    assert seats(0, reserve.format(2**53 - 1)) == [0, "USER_LIMIT_EXCEEDED"]
    assert seats(0, reserve.format(2**53 - 2)) == [1, 1, 2**53 - 2, T0 + 600_000]


# Quota


def test_quota_holds(engine):
    engine(0, "QUOTA.LIMIT t 100")
    assert engine(0, "QUOTA.RESERVE t 60 HOLD h TTL 1s") == [1, 60, 100]
    assert engine(0, "QUOTA.RESERVE t 41") == [-1, 60, 100]
    assert engine(0, "QUOTA.RESERVE t 60 HOLD h TTL 1000ms") == [1, 60, 100]
    assert engine(0, "QUOTA.RESERVE t 60 HOLD h") == [0, "INVALID_STATE"]
    assert engine(0, "QUOTA.RESERVE t 40") == [1, 100, 100]
    assert engine(0, "QUOTA.REFUND t 90") == 60
    assert engine(0, "QUOTA.SYNC t 30") == [1, 90, 100]
    assert engine(999, "QUOTA.GET t") == [90, 100, 60]
    assert engine(1000, "QUOTA.GET t") == [30, 100, 0]
    assert engine(1000, "QUOTA.COMMIT t h") == [0, "HOLD_NOT_FOUND"]


def test_quota_closed_holds(engine):
    engine(0, "QUOTA.LIMIT t 100")
    engine(0, "QUOTA.RESERVE t 10 HOLD h")
    assert engine(0, "QUOTA.COMMIT t h") == [1, 10, 100]
    assert engine(299_999, "QUOTA.COMMIT t h") == [1, 10, 100]
    assert engine(299_999, "QUOTA.RESERVE t 10 HOLD h") == [1, 10, 100]
    assert engine(299_999, "QUOTA.CANCEL t h") == [0, "INVALID_STATE"]
    assert engine(300_000, "QUOTA.CANCEL t h") == [0, "HOLD_NOT_FOUND"]
    assert engine(300_000, "QUOTA.RESERVE t 10 HOLD h") == [1, 20, 100]
    assert engine(300_000, "QUOTA.CANCEL t h") == [1, 10, 100]
    assert engine(300_000, "QUOTA.CANCEL t h") == [1, 10, 100]
    assert engine(300_000, "QUOTA.COMMIT t h") == [0, "HOLD_NOT_FOUND"]
    assert engine(300_000, "QUOTA.RESERVE t 20 HOLD h") == [1, 30, 100]


def test_used_stays_within_the_integers(engine):
    engine(0, "QUOTA.LIMIT t 100")
    engine(0, "QUOTA.RESERVE t 10 HOLD h")
    assert engine(0, f"QUOTA.SYNC t {2**53 - 10}") == [0, "INVALID_AMOUNT"]
    assert engine(0, f"QUOTA.SYNC t {2**53 - 11}") == [1, 2**53 - 1, 100]


# Semaphore


def test_acquire_wait_and_release(engine):
    assert engine(0, "SEM.ACQUIRE s a 1") == [1, 1, 1]
    assert engine(0, "SEM.ACQUIRE s a 9") == [1, 1, 1]
    assert engine(0, "SEM.ACQUIRE s a 1 TTL 5") == [0, "INVALID_STATE"]
    assert engine(0, "SEM.ACQUIRE s b 1") == [0, "NO_SLOT"]
    assert engine(0, "SEM.ACQUIRE s b 1 WAIT 1000") == "WAIT"
    assert engine(0, "SEM.STATS s") == ["in_use", 1, "max", 1, "waiting", 1]
    assert engine(0, "SEM.RELEASE s a") == 1
    assert engine.wakes == [[5, [1, 1, 2]]]
    assert engine(0, "SEM.RELEASE s a") == 0


def test_a_wait_runs_out(engine):
    engine(0, "SEM.ACQUIRE s a 1")
    engine(0, "SEM.ACQUIRE s b 1 WAIT 1000")
    engine(999, "SEM.CARD s")
    assert engine.wakes == []
    assert engine(1000, "SEM.STATS s") == ["in_use", 1, "max", 1, "waiting", 0]
    assert engine.wakes == [[2, [0, "TIMEOUT"]]]


def test_a_freed_slot_passes_on_at_its_own_time(engine):
    engine(0, "SEM.ACQUIRE s a 1 HEARTBEAT 1s")
    engine(0, "SEM.ACQUIRE s b 1 HEARTBEAT 2s WAIT 60s")
    engine(0, "SEM.ACQUIRE s c 1 HEARTBEAT 2s WAIT 3s")
    # b had the slot from 1000 to 3000; c's wait ended in the same millisecond, so c gets none.
    assert engine(10_000, "SEM.CARD s") == 0
    assert engine.wakes == [[2, [1, 1, 2]], [3, [0, "TIMEOUT"]]]


def test_everybody_ahead_gets_a_slot_first(engine):
    engine(0, "SEM.ACQUIRE s a 1")
    engine(0, "SEM.QUEUE s b 5 5")
    assert engine(0, "SEM.ACQUIRE s c 2") == [0, "NO_SLOT"]
    assert engine(0, "SEM.ACQUIRE s c 3") == [1, 3, 3]
    assert engine(0, "SEM.ACQUIRE s b 3 HEARTBEAT 5 TTL 5") == [1, 3, 2]


def test_a_second_waiting_acquire_takes_the_place_over(engine):
    engine(0, "SEM.ACQUIRE s a 1")
    engine(0, "SEM.ACQUIRE s b 1 WAIT 1000")
    engine(0, "SEM.QUEUE s c 5 5")
    assert engine(0, "SEM.ACQUIRE s b 1 WAIT 9000") == "WAIT"
    assert engine.wakes == [[2, [0, "TIMEOUT"]]]
    assert engine(0, "SEM.QUEUE s b 5 5") == [1, 1]
    assert engine(0, "SEM.PING s b 5 5") == [1, 0]
    assert engine(0, "SEM.RELEASE s b") == 1
    assert engine.wakes == [[4, [0, "TIMEOUT"]]]


def test_queue_keeps_the_place_and_lives_by_its_heartbeat(engine):
    assert engine(0, "SEM.QUEUE s a 1s 5") == [1, 1]
    assert engine(0, "SEM.QUEUE s b 9s 5") == [1, 2]
    assert engine(900, "SEM.QUEUE s a 1s 5") == [1, 1]
    assert engine(1800, "SEM.PING s a 1s 5") == [1, 0]
    assert engine(2799, "SEM.PING s b 9s 5") == [1, 0]
    assert engine(2800, "SEM.PING s a 1s 5") == [0, 0]
    assert engine(2800, "SEM.WAKE s 3 5 5") == 1
    assert engine(2800, "SEM.QUEUE s b 5 5") == [1, 0]
    assert engine(2800, "SEM.PING s b 5 5") == [0, 1]


def test_a_ping_restarts_the_heartbeat_this_once(engine):
    engine(0, "SEM.ACQUIRE s a 1 HEARTBEAT 1s")
    assert engine(500, "SEM.PING s a 5s 5") == [0, 1]
    assert engine(5499, "SEM.ACQUIRE s a 1 HEARTBEAT 1s") == [1, 1, 1]
    assert engine(5499, "SEM.ACQUIRE s a 1 HEARTBEAT 5s") == [0, "INVALID_STATE"]
    assert engine(5500, "SEM.CARD s") == 0


def test_confirm_counts_the_ttl_from_the_grant(engine):
    engine(0, "SEM.ACQUIRE s a 1")
    engine(0, "SEM.ACQUIRE s b 1 WAIT 60s")
    assert engine(5000, "SEM.CONFIRM s x 1 5 5") == [0, 1]
    assert engine(5000, "SEM.CONFIRM s a 1 60 6s") == [1, 1]
    assert engine(5999, "SEM.CARD s") == 1
    assert engine.wakes == []
    engine(6000, "SEM.CARD s")
    assert engine.wakes == [[2, [1, 1, 2]]]
    assert engine(9000, "SEM.CONFIRM s b 1 60 3s") == [0, 0]
    assert engine(9000, "SEM.STATS s") == ["in_use", 0, "max", 0, "waiting", 0]


def test_fences_of_one_millisecond_share_their_numbers(engine):
    for name in ("s", "t"):
        engine(0, f"SEM.ACQUIRE {name} a 1 TTL 1s")
        engine(0, f"SEM.ACQUIRE {name} b 1 WAIT 60s")
    engine(1000, "SEM.CARD s")
    (_, [_, _, one]), (_, [_, _, two]) = engine.wakes
    assert isinstance(one, UnknownFence) and isinstance(two, UnknownFence)
    assert not one.accept(5) and one.accept(4) and not two.accept(4) and two.accept(3)
    assert engine(1000, "LOCK.TRY r 5 ID x") == ["x", 5]


# Lock


def test_lock(engine):
    assert engine(0, "LOCK.GET r") is None
    assert engine(0, "LOCK.TRY r 1s ID x") == ["x", 1]
    assert engine(400, "LOCK.TRY r 9s ID x") == ["x", 1]
    assert engine(400, "LOCK.TRY r 9s") is None
    assert engine(400, "LOCK.GET r") == ["x", 1, 600]
    assert engine(400, "LOCK.EXTEND r y 5s") == 0
    assert engine(400, "LOCK.EXTEND r x 100ms") == 1
    assert engine(500, "LOCK.UNLOCK r x") == 0
    made = engine(500, "LOCK.TRY r 1s")
    assert engine(500, f"LOCK.UNLOCK r {LOCK_ID}") == 0
    assert matches(made, [LOCK_ID, 2]) and known(made[0]) == LOCK_ID
    assert engine(500, f"LOCK.UNLOCK r {LOCK_ID}") == 1


# Stock


def test_stock_load_and_adjust(engine):
    assert engine(0, "STOCK.GET p") == [0, "PRODUCT_NOT_FOUND"]
    assert engine(0, "STOCK.LOAD p 10") == [1, 10]
    assert engine(0, "STOCK.ADJUST p -3 broken") == [1, 7]
    assert engine(0, "STOCK.TAKE p o u 5") == [1, 2]
    assert engine(0, "STOCK.LOAD p 7") == [0, "CAPACITY_IN_USE"]
    assert engine(0, "STOCK.LOAD p 8 SHARDS 4") == [1, 0]
    assert engine(0, "STOCK.ADJUST p -1 x") == [0, "CAPACITY_IN_USE"]
    assert engine(0, f"STOCK.ADJUST p {2**53 - 1} x") == [0, "INVALID_QUANTITY"]
    assert engine(0, "STOCK.GET p") == [
        "available", 0, "taken", 5, "sold", 0, "loaded", 5, "shards", 4, "mode", "single"
    ]


def test_stock_orders(engine):
    engine(0, "STOCK.LOAD p 10")
    assert engine(0, "STOCK.TAKE p o u 11") == [0, "SOLD_OUT"]
    assert engine(0, "STOCK.TAKE p o u 4") == [1, 6]
    assert engine(0, "STOCK.TAKE p o u 4 TTL 15m") == [1, 6]
    assert engine(0, "STOCK.TAKE p o v 4") == [0, "INVALID_STATE"]
    assert engine(0, "STOCK.SETTLE p o") == [1, 6]
    assert engine(0, "STOCK.SETTLE p o") == [1, 6]
    assert engine(0, "STOCK.GIVE p o") == [0, "INVALID_STATE"]
    assert engine(0, "STOCK.TAKE p q u 6 TTL 1s") == [1, 0]
    assert engine(0, "STOCK.GIVE p q") == [1, 6]
    assert engine(0, "STOCK.GIVE p q") == [1, 6]
    assert engine(0, "STOCK.SETTLE p q") == [0, "NOT_FOUND"]
    assert engine(0, "STOCK.TAKE p q u 6 TTL 1s") == [1, 0]
    assert engine(1000, "STOCK.GIVE p q") == [0, "NOT_FOUND"]
    assert fields(engine(1000, "STOCK.GET p"))["available"] == 6


# Waiting room


def test_room(engine):
    joined = engine(0, "ROOM.JOIN ev a TTL 1s")
    assert matches(joined, [1, 1, 1, "t" * 32])
    assert engine(0, "ROOM.JOIN ev a") == [0, "ALREADY_IN_QUEUE"]
    assert engine(0, "ROOM.JOIN ev b MAX 1") == [0, "QUEUE_FULL"]
    assert not matches(engine(0, "ROOM.JOIN ev b MAX 2"), [1, 2, 2, "t" * 32])
    assert engine(999, "ROOM.POSITION ev b") == [2, 2]
    assert engine(1000, "ROOM.POSITION ev b") == [1, 1]
    assert engine(1000, "ROOM.LEAVE ev a") == 0
    assert matches(engine(1000, "ROOM.ADMIT ev 5 PASS 2s"), ["b", "p" * 32])
    assert engine(1000, "ROOM.POSITION ev b") == [0, "NOT_IN_QUEUE"]
    assert engine(1000, "ROOM.ADMIT ev 5") == []
    assert engine(2999, "ROOM.CHECK ev b " + "p" * 32) == 1
    assert engine(2999, "ROOM.CHECK ev b " + "p" * 31) == 0
    assert engine(3000, "ROOM.CHECK ev b " + "p" * 32) == 0


# Idempotency


def test_idempotency(engine):
    assert engine(0, "IDEM.BEGIN k f") == [1, "NEW"]
    assert engine(0, "IDEM.BEGIN k f") == [0, "PROCESSING"]
    assert engine(0, "IDEM.BEGIN k g") == [0, "KEY_REUSED"]
    assert engine(59_999, "IDEM.ABORT k") == 1
    assert engine(59_999, "IDEM.ABORT k") == 0
    assert engine(60_000, "IDEM.BEGIN k g") == [1, "NEW"]
    assert engine(120_000, "IDEM.COMPLETE k done") == 0
    engine(120_000, "IDEM.BEGIN k f")
    assert engine(120_000, "IDEM.COMPLETE k done") == 1
    assert engine(120_000, "IDEM.COMPLETE k done TTL 1s") == 1
    assert engine(120_000, "IDEM.COMPLETE k other") == 0
    assert engine(120_000, "IDEM.ABORT k") == 0
    assert engine(120_000 + 86_399_999, "IDEM.BEGIN k f") == [2, "COMPLETED", "done"]
    assert engine(120_000 + 86_400_000, "IDEM.BEGIN k f") == [1, "NEW"]


# Fences that only have to grow


def test_ordered_fences_grow_in_each_scope_and_stay_what_they_were():
    fences = OrderedFences()
    first, second, third = [fences.take("s") for _ in range(3)]
    other = fences.take("t")
    assert first.accept(100) and first.accept(100) and not first.accept(101)
    assert not third.accept(100) and third.accept(300)
    assert not second.accept(300) and not second.accept(True) and second.accept(200)
    assert other.accept(1)


def test_a_model_with_ordered_fences_repeats_a_holders_fence():
    model = Model(fences=OrderedFences())
    grant = model.apply(T0, [b"LOCK.TRY", b"r", b"5", b"ID", b"x"])
    assert matches(grant, [["x", 7], []])
    again = model.apply(T0, [b"LOCK.TRY", b"r", b"5", b"ID", b"x"])
    assert not matches(again, [["x", 8], []]) and matches(again, [["x", 7], []])


def test_the_generator_makes_every_command():
    model = Model()
    generator, made = Generator(model, 1), set()
    for _ in range(20_000):
        now, argv = generator.next()
        made.add(argv[0].upper())
        model.apply(now, argv)
    assert set(model.commands) - made == set()
