# SPDX-License-Identifier: Apache-2.0
"""Zones are compared with the ledger as products are: what an engine that was put back has too much of is
taken away before it is held, and nothing in flight is corrected, refunds included."""

import threading

from server import wait_until
from shop import outcome

EVENT, ZONE = "gala", "floor"


def reserve(server, booking, quantity=1):
    return server.call("SEATS.RESERVE", EVENT, ZONE, booking, f"u-{booking}", quantity, 100)


def sell(server, first, last, quantity=5):
    for number in range(first, last):
        assert reserve(server, f"b-{number}", quantity)[0] == 1
        assert server.call("SEATS.CONFIRM", EVENT, f"b-{number}")[:2] == [1, "CONFIRMED"]


def zone_of(server, zone=ZONE):
    words = server.call("SEATS.ZONE", EVENT, zone)
    return dict(zip(words[::2], words[1::2]))


def left(shop):
    return shop.value("SELECT capacity - sold FROM zones WHERE zone_id = ?", ZONE)


def wait_agreed(shop, server):
    def agree():
        zone = zone_of(server)
        return zone["available"] + zone["reserved"] == left(shop)
    try:
        wait_until(agree, "engine and ledger agree", timeout=60)
    except AssertionError as error:
        raise AssertionError(f"{error}: {zone_of(server)}, ledger {left(shop)}, drift {drift(shop)}\n"
                             f"{server.said()[-2000:]}")


def drift(shop):
    return shop.rows("SELECT scope, zone, before_value, after_value FROM drift ORDER BY drift_id")


def test_an_engine_put_back_has_no_more_than_the_ledger(shop):
    server = shop.serve("--ledger-timeout", "10s")
    assert server.call("SEATS.OPEN", EVENT, ZONE, 100, "MAX", 30) == [1, 100, 100]
    assert server.call("SEATS.OPEN", EVENT, "stalls", 10) == [1, 10, 10]
    sell(server, 0, 6)
    server.stop()
    shop.engine.remember()
    server.start()
    sell(server, 6, 12)
    server.kill()
    shop.engine.roll_back()
    server.start()
    shop.bury_the_dead()
    wait_agreed(shop, server)
    assert zone_of(server)["available"] == 40 and zone_of(server, "stalls")["capacity"] == 10
    # In one step, or in two: what the dead server may have had in flight is not certain at first.
    wait_until(lambda: drift(shop) and drift(shop)[-1][3] == 40, "it is written down", timeout=40)
    corrections = drift(shop)
    assert corrections[0][:3] == (EVENT, ZONE, 70) and len(corrections) <= 2
    # The rest is sold, the zone's limit still holds, and not one more is even held.
    assert outcome(reserve(server, "much", 31)) == "USER_LIMIT_EXCEEDED"
    sell(server, 12, 20)
    assert outcome(reserve(server, "more")) == "INSUFFICIENT_STOCK"
    assert shop.rows("SELECT capacity, sold FROM zones WHERE zone_id = ?", ZONE) == [(100, 100)]
    report = server.call("RECONCILE")
    assert report[0] == 1 and report[2:] == [0, 0], report
    # Capacity and refunds go on from there.
    assert server.call("SEATS.OPEN", EVENT, ZONE, 110)[:2] == [1, 10]
    assert server.call("SEATS.REFUND", EVENT, "b-1")[:2] == [1, "REFUNDED"]
    wait_agreed(shop, server)
    assert left(shop) == 15 and drift(shop) == corrections


def test_seats_that_are_held_are_not_taken_away(shop):
    server = shop.serve_uncompared()
    server.call("SEATS.OPEN", EVENT, ZONE, 20)
    assert reserve(server, "b-1", 15)[0] == 1
    shop.rows("UPDATE zones SET sold = 12")
    assert server.call("RECONCILE", "DRY")[2:] == [1, 12] and drift(shop) == []
    assert server.call("RECONCILE")[2] == 1
    zone = zone_of(server)
    assert (zone["capacity"], zone["available"], zone["reserved"]) == (15, 0, 15)
    assert outcome(server.call("SEATS.CONFIRM", EVENT, "b-1")) == "INSUFFICIENT_STOCK"
    assert server.call("SEATS.RELEASE", EVENT, "b-1")[0] == 1
    assert server.call("RECONCILE")[2:] == [1, 7]
    assert zone_of(server)["available"] == 8 == left(shop)
    shop.rows("UPDATE zones SET capacity = 30")
    assert server.call("RECONCILE")[2:] == [1, 10]
    assert zone_of(server)["available"] == 18 == left(shop)


EACH = 25


def test_a_rush_with_refunds_is_not_corrected(redis_shop):
    shop = redis_shop
    servers = [shop.serve("--reconcile-every", "20ms", "--ledger-timeout", "10s") for _ in range(2)]
    servers[0].call("SEATS.OPEN", EVENT, ZONE, 1000)
    wrong = []

    def client(number):
        with servers[number % 2].connect(60) as connection:
            for i in range(EACH):
                booking = f"c-{number}-{i}"
                said = [connection.call("SEATS.RESERVE", EVENT, ZONE, booking, booking, 1, 10)[0],
                        connection.call("SEATS.CONFIRM", EVENT, booking)[0]]
                if i % 2:
                    said.append(connection.call("SEATS.REFUND", EVENT, booking)[0])
                wrong.extend(word for word in said if word != 1)
    threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    reports = []
    while any(thread.is_alive() for thread in threads):
        reports.append(servers[len(reports) % 2].call("RECONCILE"))
    for thread in threads:
        thread.join()
    assert wrong == [] and drift(shop) == []
    assert all(report[0] == 1 and report[2] == 0 for report in reports), reports
    wait_agreed(shop, servers[0])
    assert left(shop) == 1000 - 6 * (EACH - EACH // 2)
