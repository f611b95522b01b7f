# SPDX-License-Identifier: Apache-2.0
"""With --ledger every booking is a row of the ledger in each of its states. The rows of holds are written
behind the engine: the tests wait until they are there."""

import pytest

from raw_client import http
from server import Error, wait_until
from shop import metrics, outcome

EVENT, ZONE = "gala", "floor"
COLUMNS = ("event_id", "booking_id", "zone_id", "user_id", "show_id", "quantity", "unit_price", "status",
           "created_at", "expires_at", "confirmed_at", "ended_at", "payment_id", "confirmation_code")


@pytest.fixture
def server(shop):
    server = shop.serve("--reconcile-every", "100ms", "--ledger-timeout", "10s")
    assert server.call("SEATS.OPEN", EVENT, ZONE, 100) == [1, 100, 100]
    return server


def reserve(server, booking, user="ann", quantity=2, *more):
    answer = server.call("SEATS.RESERVE", EVENT, ZONE, booking, user, quantity, 100, *more)
    assert answer[0] == 1, answer
    return answer[3]


def row(shop, booking):
    """The booking's row as a dictionary; None if there is none. There is never more than one."""
    rows = shop.rows(f"SELECT {', '.join(COLUMNS)} FROM bookings WHERE event_id = ? AND booking_id = ?",
                     EVENT, booking)
    assert len(rows) <= 1
    return dict(zip(COLUMNS, rows[0])) if rows else None


def wait_row(shop, booking, **wanted):
    """Waits until the row has these values, and gives it."""
    def fits():
        found = row(shop, booking)
        return found is not None and all(found[name] == value for name, value in wanted.items())
    try:
        wait_until(fits, f"{booking} is {wanted}", timeout=40)
    except AssertionError as error:
        raise AssertionError(f"{error}: {row(shop, booking)}")
    return row(shop, booking)


def pages(server, *words):
    """All items of a list, page by page, as dictionaries."""
    found, cursor = [], ""
    while True:
        answer = server.call(*words, *(["AFTER", cursor] if cursor else []))
        assert not isinstance(answer, Error) and answer[0] != 0, answer
        found += [dict(zip(item[::2], item[1::2])) for item in answer[1:]]
        cursor = answer[0]
        if cursor == "":
            return found


def by_id(items):
    return [item["booking_id"] for item in items]


def test_every_state_has_its_row(shop, server):
    expires = reserve(server, "b-1", "ann", 2, "SHOW", "late", "PRICE", 1500, "TTL", "10m")
    first = wait_row(shop, "b-1", status="reserved")
    assert first == {"event_id": EVENT, "booking_id": "b-1", "zone_id": ZONE, "user_id": "ann",
                     "show_id": "late", "quantity": 2, "unit_price": 1500, "status": "reserved",
                     "created_at": expires - 600_000, "expires_at": expires, "confirmed_at": None,
                     "ended_at": None, "payment_id": "", "confirmation_code": ""}
    extended = server.call("SEATS.EXTEND", EVENT, "b-1", "30m")[1]
    assert wait_row(shop, "b-1", expires_at=extended)["created_at"] == first["created_at"]
    code = server.call("SEATS.CONFIRM", EVENT, "b-1", "PAYMENT", "p-1")[2]
    confirmed = row(shop, "b-1")
    assert (confirmed["status"], confirmed["payment_id"], confirmed["confirmation_code"],
            confirmed["show_id"], confirmed["created_at"], confirmed["unit_price"]) == (
                "confirmed", "p-1", code, "late", first["created_at"], 1500)
    assert confirmed["confirmed_at"] > 0 and confirmed["ended_at"] is None
    words = server.call("SEATS.GET", EVENT, "b-1")
    assert dict(zip(words[::2], words[1::2]))["confirmation_code"] == code
    assert server.call("SEATS.REFUND", EVENT, "b-1")[:2] == [1, "REFUNDED"]
    refunded = row(shop, "b-1")
    assert refunded["status"] == "refunded" and refunded["ended_at"] >= refunded["confirmed_at"]

    reserve(server, "b-2", "bob", 1)
    assert server.call("SEATS.RELEASE", EVENT, "b-2", "USER", "ann")[1] == "NOT_OWNER"
    assert server.call("SEATS.RELEASE", EVENT, "b-2")[1] == "SUCCESS"
    cancelled = wait_row(shop, "b-2", status="cancelled")
    assert cancelled["user_id"] == "bob" and cancelled["ended_at"] > 0
    assert shop.value("SELECT sold FROM zones") == 0


def test_a_hold_that_lapsed_is_marked(shop, server):
    expires = reserve(server, "b-1", "ann", 2, "TTL", "1500ms")
    reserve(server, "b-2", "ann", 1, "TTL", "10m")
    expired = wait_row(shop, "b-1", status="expired")
    assert expired["ended_at"] == expired["expires_at"] == expires
    wait_row(shop, "b-2", status="reserved")
    # It may be made again, and sold, under the same id.
    reserve(server, "b-1", "bob", 3)
    again = wait_row(shop, "b-1", status="reserved", user_id="bob")
    assert again["quantity"] == 3 and again["created_at"] >= expires and again["ended_at"] is None
    assert server.call("SEATS.CONFIRM", EVENT, "b-1")[1] == "CONFIRMED"
    assert row(shop, "b-1")["status"] == "confirmed"
    # A released one, too.
    assert server.call("SEATS.RELEASE", EVENT, "b-2")[1] == "SUCCESS"
    wait_row(shop, "b-2", status="cancelled")
    reserve(server, "b-2", "cem", 1)
    wait_row(shop, "b-2", status="reserved", user_id="cem")


def test_a_hold_that_was_extended_unseen_is_not_marked(shop, server):
    """Its row has an old deadline: the engine is asked before the row is marked."""
    expires = reserve(server, "b-1")
    wait_row(shop, "b-1", status="reserved")
    shop.rows("UPDATE bookings SET expires_at = 1000, created_at = 900")
    wait_row(shop, "b-1", status="reserved", expires_at=expires)
    # What was confirmed past the ledger has no row in it.
    shop.rows("UPDATE bookings SET booking_id = 'gone', expires_at = 1000")
    wait_row(shop, "gone", status="expired")


def test_lists(shop, server):
    for number in range(7):
        reserve(server, f"b-{number}", "ann" if number < 5 else "bob", 1)
    server.call("SEATS.OPEN", EVENT, "stalls", 10)
    server.call("SEATS.RESERVE", EVENT, "stalls", "s-1", "ann", 1, 100)
    server.call("SEATS.OPEN", "other", ZONE, 10)
    server.call("SEATS.RESERVE", "other", ZONE, "x-1", "ann", 1, 100, "TTL", "10ms")
    server.call("SEATS.CONFIRM", EVENT, "b-3", "PAYMENT", "p-3")
    server.call("SEATS.RELEASE", EVENT, "b-4")
    wait_until(lambda: shop.value("SELECT COUNT(*) FROM bookings") == 9, "all rows are there", timeout=40)
    wait_row(shop, "b-4", status="cancelled")
    mine = pages(server, "SEATS.BOOKINGS", "ann", "COUNT", 2)
    assert by_id(mine) == ["b-0", "b-1", "b-2", "b-3", "b-4", "s-1", "x-1"]
    states = {item["booking_id"]: item["status"] for item in mine}
    assert (states["b-0"], states["b-3"], states["b-4"]) == ("reserved", "confirmed", "cancelled")
    wait_until(lambda: by_id(pages(server, "SEATS.BOOKINGS", "ann", "STATUS", "expired")) == ["x-1"],
               "a hold that lapsed is shown as expired", timeout=40)
    assert mine[3]["payment_id"] == "p-3" and len(mine[3]["confirmation_code"]) == 10
    assert "ended_at" not in mine[0] and mine[4]["ended_at"] > 0
    assert by_id(pages(server, "SEATS.BOOKINGS", "ann", "EVENT", EVENT, "ZONE", "stalls")) == ["s-1"]
    assert by_id(pages(server, "SEATS.BOOKINGS", "ann", "EVENT", "other", "COUNT", 1)) == ["x-1"]
    assert pages(server, "SEATS.BOOKINGS", "ann", "EVENT", "none") == []
    assert by_id(pages(server, "SEATS.HISTORY", EVENT, "COUNT", 3)) == [
        "b-0", "b-1", "b-2", "b-3", "b-4", "b-5", "b-6", "s-1"]
    assert by_id(pages(server, "SEATS.HISTORY", EVENT, "USER", "bob", "COUNT", 1)) == ["b-5", "b-6"]
    assert by_id(pages(server, "SEATS.HISTORY", EVENT, "STATUS", "cancelled")) == ["b-4"]
    assert by_id(pages(server, "SEATS.HISTORY", EVENT, "ZONE", "stalls", "STATUS", "reserved")) == ["s-1"]
    for words in (("SEATS.BOOKINGS", "ann", "AFTER", "nothing"), ("SEATS.HISTORY", EVENT, "AFTER", "a b"),
                  ("SEATS.BOOKINGS", "ann", "EVENT", "other", "AFTER", f"{EVENT} b-1")):
        answer = server.call(*words)
        assert (answer.code if isinstance(answer, Error) else answer[1]) == "INVALID_ARGUMENT", words

    page = http(server.http_port, "GET", "/v1/users/ann/bookings?event=gala&status=confirmed")
    assert page.status == 200 and [item["booking_id"] for item in page.json["items"]] == ["b-3"]
    page = http(server.http_port, "GET", f"/v1/events/{EVENT}/history?user=bob&count=1")
    assert [item["booking_id"] for item in page.json["items"]] == ["b-5"] and page.json["cursor"]


def test_a_summary(redis_shop):
    server = redis_shop.serve()
    server.call("SEATS.OPEN", EVENT, ZONE, 100, "MAX", 5, "LIFETIME")
    server.call("SEATS.OPEN", EVENT, "stalls", 100)
    reserve(server, "b-1", "ann", 2)
    reserve(server, "b-2", "ann", 1)
    server.call("SEATS.CONFIRM", EVENT, "b-1")

    def summary(*words):
        answer = server.call("SEATS.SUMMARY", EVENT, *words)
        return dict(zip(answer[::2], answer[1::2]))
    assert summary("ann", "ZONE", ZONE) == {"held": 1, "confirmed": 2, "limited": "yes", "limit": 5,
                                            "left": 2}
    assert summary("ann", "ZONE", "stalls") == {"held": 1, "confirmed": 2, "limited": "no"}
    assert summary("ann") == {"held": 1, "confirmed": 2, "limited": "unknown"}
    assert outcome(server.call("SEATS.SUMMARY", EVENT, "ann", "ZONE", "none")) == "ZONE_NOT_FOUND"
    answer = http(server.http_port, "GET", f"/v1/events/{EVENT}/users/ann/summary?zone={ZONE}")
    assert answer.json == {"held": 1, "confirmed": 2, "limited": "yes", "limit": 5, "left": 2}


def test_a_ledger_that_is_away_holds_nobody_up(served_shop):
    shop = served_shop
    server = shop.serve("--reconcile-every", "1h")
    assert server.call("SEATS.OPEN", EVENT, ZONE, 1000) == [1, 1000, 1000]
    shop.database.server.pause()
    try:
        for number in range(300):
            reserve(server, f"b-{number}", f"u-{number}", 1)
        assert server.call("SEATS.RELEASE", EVENT, "b-7")[1] == "SUCCESS"
    finally:
        shop.database.server.resume()
    wait_until(lambda: shop.value("SELECT COUNT(*) FROM bookings") == 300, "all rows are there", timeout=40)
    wait_row(shop, "b-7", status="cancelled")
    wait_until(lambda: metrics(server)["holdfast_holds_waiting"] == 0, "nothing waits")
    assert metrics(server)["holdfast_holds_dropped_total"] == 0


def test_what_waits_is_written_when_the_server_stops(shop):
    server = shop.serve("--reconcile-every", "1h")
    server.call("SEATS.OPEN", EVENT, ZONE, 1000)
    with server.connect(60) as connection:
        for number in range(100):
            connection.call("SEATS.RESERVE", EVENT, ZONE, f"b-{number}", "ann", 1, 1000)
    server.stop()
    assert shop.value("SELECT COUNT(*) FROM bookings") == 100


def test_holds_that_a_killed_server_did_not_write_are_written_by_the_next(shop):
    server = shop.serve("--reconcile-every", "1h")
    server.call("SEATS.OPEN", EVENT, ZONE, 1000)
    expires = [reserve(server, f"b-{number}", f"u-{number}", 1) for number in range(450)]
    reserve(server, "sold", "bob", 1)
    assert server.call("SEATS.CONFIRM", EVENT, "sold")[1] == "CONFIRMED"
    wait_until(lambda: shop.value("SELECT COUNT(*) FROM bookings") == 451, "all rows are there", timeout=40)
    server.kill()
    shop.rows("DELETE FROM bookings WHERE booking_id LIKE 'b-%' AND booking_id <> 'b-7'")
    server.start()
    wait_until(lambda: shop.value("SELECT COUNT(*) FROM bookings WHERE status = 'reserved'") == 450,
               "the rows are back", timeout=40)
    again = row(shop, "b-449")
    assert (again["user_id"], again["quantity"], again["expires_at"]) == ("u-449", 1, expires[449])
    assert row(shop, "sold")["status"] == "confirmed"


HOSTILE = ["';DROP/**/TABLE/**/bookings;--", "x'OR'1'='1", "\\';--", "naïve-ß-漢字-🎟", "a" * 128, "%s?$1"]


def test_hostile_texts(shop, server):
    for text in HOSTILE:
        assert server.call("SEATS.OPEN", text, text, 5)[0] == 1
        assert server.call("SEATS.RESERVE", text, text, text, text, 1, 4, "SHOW", text)[0] == 1
        assert server.call("SEATS.RESERVE", text, text, text[:127] + "z", text, 1, 4)[0] == 1
        assert server.call("SEATS.RELEASE", text, text, "USER", text)[1] == "SUCCESS"
    wait_until(lambda: shop.value("SELECT COUNT(*) FROM bookings WHERE status = 'cancelled'") == len(HOSTILE)
               and shop.value("SELECT COUNT(*) FROM bookings") == 2 * len(HOSTILE), "the rows are there",
               timeout=40)
    for text in HOSTILE:
        other = text[:127] + "z"
        mine = pages(server, "SEATS.BOOKINGS", text, "EVENT", text, "ZONE", text, "COUNT", 1)
        assert by_id(mine) == sorted([text, other], key=str.encode)
        assert by_id(pages(server, "SEATS.HISTORY", text, "USER", text, "STATUS", "cancelled")) == [text]
        assert pages(server, "SEATS.HISTORY", text, "ZONE", "x' OR '1'='1".replace(" ", "/**/")) == []


def test_a_rush_leaves_one_row_each(redis_shop):
    """Holds, ends and sales of the same bookings by two servers at once, whose rows are written in any
    order: what each booking comes to in the engine, it comes to in the ledger."""
    shop = redis_shop
    servers = [shop.serve("--reconcile-every", "100ms", "--ledger-timeout", "10s") for _ in range(2)]
    servers[0].call("SEATS.OPEN", EVENT, ZONE, 10_000)
    ends = {"cancelled": ("SEATS.RELEASE", "SUCCESS"), "confirmed": ("SEATS.CONFIRM", "CONFIRMED")}
    for number in range(120):
        one, other = servers[number % 2], servers[1 - number % 2]
        reserve(one, f"b-{number}", "ann", 1)
        command, said = list(ends.values())[number % 3 % 2]
        assert other.call(command, EVENT, f"b-{number}")[1] == said
    wait_until(lambda: shop.value("SELECT COUNT(*) FROM bookings WHERE status = 'cancelled'") == 80,
               "every row is at its end", timeout=40)
    assert shop.value("SELECT COUNT(*) FROM bookings WHERE status = 'confirmed'") == 40
    assert shop.value("SELECT COUNT(*) FROM bookings") == 120
    assert shop.value("SELECT sold FROM zones") == 40
