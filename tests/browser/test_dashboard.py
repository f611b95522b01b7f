# SPDX-License-Identifier: Apache-2.0
"""The dashboard in a real browser, on both engines: it loads from the server alone, shows what happens as it
happens, finds things by their ids, and does what it offers."""

import itertools

import pytest

from dashboard import DESK, PATIENCE_S, PHONE, Page
from server import Server, wait_until
from servers import RedisServer

numbers = itertools.count(1)
VIEWS = {
    "overview": "Overview", "events": "Events", "zones": "Zones", "rooms": "Waiting rooms",
    "semaphores": "Semaphores", "locks": "Locks", "quotas": "Quotas", "products": "Products",
    "sales": "Orders and checkouts", "event/fair": "Event fair", "room/fair": "Waiting room fair",
    "semaphore/fair": "Semaphore fair", "quota/fair": "Tenant fair", "product/fair": "Product fair",
}


def fill(server):
    """Something of each kind, by the name of fair."""
    for line in ("SEATS.OPEN fair floor 50", "SEATS.RESERVE fair floor b-fair ann 2 4", "ROOM.OPEN fair RATE 5 PAUSED",
                 "ROOM.JOIN fair zoe", "SEM.ACQUIRE fair holder 1", "SEM.QUEUE fair waiter 10m 1h",
                 "LOCK.TRY fair 10m", "QUOTA.LIMIT fair 1000", "QUOTA.RESERVE fair 250 HOLD h-1",
                 "STOCK.LOAD fair 100", "STOCK.TAKE fair o-1 bob 3"):
        server.call(*line.split())


@pytest.fixture(scope="module", params=["embedded", "redis"])
def server(request, tmp_path_factory):
    ledger = f"sqlite:{tmp_path_factory.mktemp('ledger')}/ledger.db"
    flags = ("--ledger", ledger, "--payment-url", "test:")
    if request.param == "embedded":
        with Server(*flags) as one:
            fill(one)
            yield one
    else:
        with RedisServer() as store, Server("--engine", store.url, *flags, memory=True) as one:
            fill(one)
            yield one


@pytest.fixture
def embedded(server):
    """What has nothing to do with the engine is tried on one of them."""
    if server.engine != "embedded":
        pytest.skip("once is enough")


@pytest.fixture
def event(server):
    name = f"gala-{next(numbers)}"
    server.call("SEATS.OPEN", name, "floor", 500)
    return name


def zone(page, event):
    return page.get(f"/v1/events/{event}/zones/floor")


# ---- loading

def test_every_view_loads_from_the_server_alone(page):
    page.errors(), page.requested()
    for view, heading in VIEWS.items():
        page.size(*DESK)
        page.visit(view, heading)
        for size in (DESK, PHONE):
            page.size(*size)
            wide = page.script("return [document.scrollingElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1], f"{view} stands out at the side"
        assert "Not known" not in page.text("main"), view
    assert page.errors() == []
    asked = set(page.requested()) - {"about:blank"}
    assert asked and all(url.startswith(page.origin + "/") for url in asked), asked
    assert page.script("return Object.keys(localStorage).length + document.cookie.length") == 0


def test_a_view_that_there_is_not_is_the_overview(page, embedded):
    for view in ("nothing", "event", "zones/x", "event/%E0%A4%A"):
        page.visit(view, "Overview")


# ---- what is shown

def test_a_rush_is_shown_as_it_happens(page, server, event):
    page.visit(f"event/{event}", f"Event {event}")
    wait_until(lambda: page.row("floor", "Zones"), "the zone", PATIENCE_S)
    for i in range(120):
        server.call("SEATS.RESERVE", event, "floor", f"b-{i}", f"u-{i}", 2, 4)
    for i in range(40):
        server.call("SEATS.CONFIRM", event, f"b-{i}")

    def shown():
        row = page.row("floor", "Zones")
        return [int(text.replace(",", "")) for text in row[2:6]]
    now = zone(page, event)
    wanted = [now["capacity"], now["available"], now["reserved"], now["confirmed"]]
    assert wanted == [500, 260, 160, 80]
    wait_until(lambda: shown() == wanted, "the page agrees with the server", PATIENCE_S)
    ages = ("under a minute", "1 to 5 minutes", "5 to 10 minutes")
    wait_until(lambda: sum(int(page.row(name, "Holds by age")[2]) for name in ages) == 80,
               "the ages of all holds", PATIENCE_S)
    width = page.script("return document.querySelector('.segment-1').style.width")
    assert width == "32%", "what is reserved, of all"
    for i in range(40, 120):
        server.call("SEATS.RELEASE", event, f"b-{i}")
    wait_until(lambda: shown() == [500, 420, 0, 80], "it drains", PATIENCE_S)


def test_rates_and_figures_are_those_of_the_server(page, server, event):
    page.visit("overview", "Overview")
    for i in range(50):
        server.call("SEATS.RESERVE", event, "floor", f"b-{i}", f"u-{i}", 2, 1)  # refused each time
    wanted = f"{page.get('/v1/info')['engine']}"
    wait_until(lambda: page.fact("Engine") == wanted, "the engine", PATIENCE_S)
    row = wait_until(lambda: page.row("USER_LIMIT_EXCEEDED", "Refusals"), "refusals", PATIENCE_S)
    wait_until(lambda: int(page.row("USER_LIMIT_EXCEEDED", "Refusals")[1]) >= 50, row, PATIENCE_S)
    line = wait_until(lambda: page.script(
        "return document.querySelector('.line-0').getAttribute('d')"), "a line", PATIENCE_S)
    assert line.startswith("M")
    assert page.fact("Breaker") == "closed"


def test_what_is_not_known_is_never_0(page, server):
    page.visit("overview", "Overview")
    wait_until(lambda: page.fact("Version"), "figures", PATIENCE_S)
    info = page.get("/v1/info")
    if info["holds"] is None:
        assert page.fact("Live holds") == page.fact("State memory") == "–"
        title = page.script("return [...document.querySelectorAll('.tile dt')].find((one) =>"
                            "one.textContent === 'Live holds').nextElementSibling.title")
        assert title == info["unknown_because"]
        assert page.fact("Requests in flight") is not None
    else:
        wait_until(lambda: page.fact("Live holds") == f"{page.get('/v1/info')['holds']:,}",
                   "holds", PATIENCE_S)
        assert page.fact("Journal").endswith("MB")


def test_redis_nodes_one_by_one(page, server):
    page.visit("overview", "Overview")
    wait_until(lambda: page.fact("Version"), "figures", PATIENCE_S)
    titles = page.script("return [...document.querySelectorAll('main h2')].filter((one) => one.checkVisibility())"
                         ".map((one) => one.textContent)")
    if server.engine == "embedded":
        assert "Redis nodes" not in titles and "Journal and disk" in titles
        return
    name = server.engine.partition("//")[2].partition("/")[0]
    row = wait_until(lambda: page.row(name, "Redis nodes"), "the node", PATIENCE_S)
    assert row[1:3] == ["master", "up"]

    def busy():
        server.call("SEATS.ZONE", "fair", "floor")
        _, _, _, rate, in_flight, reply, up = page.row(name, "Redis nodes")
        return rate not in ("–", "0/s") and reply.endswith(("s", "ms", "µs")) and in_flight.isdigit() and up != "–"
    wait_until(busy, "its figures", PATIENCE_S)


def test_checkouts_by_state(page, server, event):
    for number, price in enumerate((4500, 4513)):  # the second one is declined
        server.call("SEATS.CHECKOUT", event, "floor", "bob", 1, 9, "BOOKING", f"c-{event}-{number}", "SAGA",
                    f"c-{event}-{number}", "PRICE", price, "WAIT", "30s")
    page.visit("sales", "Orders and checkouts")
    row = wait_until(lambda: page.row(f"c-{event}-0", "Checkouts"), "the checkout", PATIENCE_S)
    assert row[1:7] == ["COMPLETED", event, "bob", "1", "4,500 minor units of USD", "nothing"]
    assert page.row(f"c-{event}-1", "Checkouts")[1] == "COMPENSATED"
    page.choose("state", "COMPENSATED")
    wait_until(lambda: page.row(f"c-{event}-0", "Checkouts") is None, "the others are gone", PATIENCE_S)
    assert "PAYMENT_DECLINED" in page.row(f"c-{event}-1", "Checkouts")[6]
    page.choose("state", "NEEDS_ATTENTION")
    wait_until(lambda: page.row(f"c-{event}-1", "Checkouts") is None, "there are none", PATIENCE_S)
    page.choose("state", "any")
    page.act(f"Refund c-{event}-0", "Refund", "It is COMPENSATING.")
    wait_until(lambda: page.row(f"c-{event}-0", "Checkouts")[1] == "COMPENSATED", "it is taken back", PATIENCE_S)
    assert page.button(f"Refund c-{event}-0") is None


def test_who_holds_and_who_waits(page):
    page.visit("semaphore/fair", "Semaphore fair")
    row = wait_until(lambda: page.row("waiter", "Holders and line"), "the line", PATIENCE_S)
    assert row[1] == "number 1 in line"
    assert page.row("holder", "Holders and line")[1] == "holding"
    page.visit("quota/fair", "Tenant fair")
    wait_until(lambda: page.fact("Held of it") == "250", "the quota", PATIENCE_S)
    page.visit("product/fair", "Product fair")
    wait_until(lambda: page.row("o-1", "Orders that are taken"), "the order", PATIENCE_S)
    assert page.fact("Shards") == str(page.get("/v1/products/fair")["shards"])
    page.visit("locks", "Locks")
    lock = page.get("/v1/locks/fair")
    row = wait_until(lambda: page.row("fair", "Locks"), "the lock", PATIENCE_S)
    assert row[1:3] == [lock["lock_id"], str(lock["fence"])]


def test_what_clients_chose_is_text_and_nothing_else(page, server, embedded):
    name = "<img/src=x/onerror=alert(1)>%41&#;"
    server.call("SEATS.OPEN", name, name, 10)
    server.call("SEATS.RESERVE", name, name, name, name, 2, 4)
    page.errors()
    page.visit("zones", "Zones")
    wait_until(lambda: page.row(name, "Zones"), "the zone", PATIENCE_S)
    page.script("[...document.querySelectorAll('td a')].find((one) => one.textContent === arguments[0])"
                ".click()", name)
    page.shows("h1", f"Event {name}")
    wait_until(lambda: page.row(name, "Bookings"), "the booking", PATIENCE_S)
    page.act(f"Release {name}", "Release", "The seats are free again.")
    assert page.script("return document.images.length") == 0 and page.errors() == []


def test_a_list_is_paged(page, server, embedded):
    for i in range(60):
        server.call("QUOTA.LIMIT", f"paged-{i}", 10)
    page.visit("quotas", "Quotas")
    page.script("document.getElementById('match').focus()")
    page.browser.switch_to.active_element.send_keys("paged-")

    def names():
        return set(page.script("return [...document.querySelectorAll('tbody tr')].map("
                               "(row) => row.cells[0].innerText)"))
    wait_until(lambda: len(names()) == 50 and all(name.startswith("paged-") for name in names()),
               "the first page", PATIENCE_S)
    first = names()
    page.press("Next")
    wait_until(lambda: page.text(".pages .note") == "Page 2, the last", "the last page", PATIENCE_S)
    assert first | names() == {f"paged-{i}" for i in range(60)} and not first & names()
    page.press("Previous")
    wait_until(lambda: names() == first, "the first page again", PATIENCE_S)


# ---- search

def test_search_finds_what_an_id_is_of(page, server, event):
    made = server.call("SEATS.CHECKOUT", event, "floor", f"buyer-{event}", 2, 4, "BOOKING", f"b-{event}", "SAGA",
                       f"s-{event}", "PRICE", 4500, "WAIT", "30s")
    assert made[3] == "COMPLETED"
    server.call("STOCK.LOAD", f"p-{event}", 5)
    server.call("STOCK.BUY", f"p-{event}", f"o-{event}", f"buyer-{event}", 1)
    for wanted, found in ((f"b-{event}", f"Booking b-{event}"), (f"s-{event}", f"Checkout s-{event}"),
                          (f"o-{event}", f"Order o-{event}"), (f"buyer-{event}", f"Booking b-{event}"),
                          (f"{event}/b-{event}", f"Booking b-{event}"), ("zoe", "User zoe in line")):
        page.visit("overview", "Overview")
        field = page.script("return document.getElementById('search')")
        field.send_keys(wanted)
        field.submit()
        page.shows("h1", f"Search for {wanted}")
        wait_until(lambda: found in page.script(
            "return [...document.querySelectorAll('main h2')].map((one) => one.textContent)"),
            f"{found} by {wanted}", PATIENCE_S)
    page.visit("search/nobody-has-this-id")
    wait_until(lambda: (page.text("main .note") or "").startswith("Nothing is known of"),
               "nothing is found", PATIENCE_S)


# ---- actions

def test_actions_on_seats(page, server, event):
    page.visit("zones", "Zones")
    page.act("Open a zone", "Open", "The zone has 70 seats.", event=event, zone="balcony", capacity=70)
    assert page.get(f"/v1/events/{event}/zones/balcony")["capacity"] == 70
    page.visit(f"event/{event}", f"Event {event}")
    page.act("Change balcony", "Change", "The zone has 80 seats.", capacity=80)
    server.call("SEATS.RESERVE", event, "floor", "b-1", "ann", 3, 4)
    page.act("Release b-1", "Release", "The seats are free again.")
    assert zone(page, event)["available"] == 500
    wait_until(lambda: page.row("b-1", "Bookings") is None, "the booking is gone", PATIENCE_S)


def test_a_refusal_is_shown_and_can_be_put_right(page, server, event, embedded):
    server.call("SEATS.RESERVE", event, "floor", "b-1", "ann", 3, 4)
    page.visit(f"event/{event}", f"Event {event}")
    page.press("Change floor")
    field = page.script("return document.querySelector('dialog [name=capacity]')")
    field.clear()
    field.send_keys("2")
    page.press("Change", "dialog")
    wait_until(lambda: "CAPACITY_IN_USE" in (page.text("dialog .result") or ""), "refused", PATIENCE_S)
    assert "Nothing was changed" in page.text("dialog .result")
    field.clear()
    field.send_keys("20")
    page.press("Change", "dialog")
    page.shows("dialog .result p", "The zone has 20 seats.")
    page.press("Close", "dialog")


def test_an_action_that_is_not_confirmed_does_nothing(page, server, event, embedded):
    server.call("SEATS.RESERVE", event, "floor", "b-1", "ann", 3, 4)
    page.visit(f"event/{event}", f"Event {event}")
    page.press("Release b-1")
    page.press("Cancel", "dialog")
    assert zone(page, event)["reserved"] == 3


def test_actions_on_a_room(page, server, event):
    settings = "RATE 7 INSIDE 9 PASS 90 GATE".split()
    server.call("ROOM.OPEN", event, *settings, "PAUSED")
    for i in range(5):
        server.call("ROOM.JOIN", event, f"u-{i}")

    def stats():
        return page.get(f"/v1/events/{event}/room")
    page.visit(f"room/{event}", f"Waiting room {event}")
    page.act("Admit", "Admit", "3 admitted.", count=3)
    assert (stats()["inside"], stats()["waiting"]) == (3, 2)
    page.act("Go on", "Go on", "The room admits.")
    page.act("Pause", "Pause", "The room is paused.")
    kept = {"rate": 7, "inside_max": 9, "pass_ms": 90000, "gate": 1, "paused": 1}
    assert {name: stats()[name] for name in kept} == kept, "all else is as it was"


def test_actions_on_stock(page, server, event):
    name = f"p-{event}"
    server.call("STOCK.LOAD", name, 10)
    page.visit(f"product/{name}", f"Product {name}")
    page.act("Adjust", "Adjust", "7 are available.", delta=-3, reason="damaged")
    assert page.get(f"/v1/products/{name}")["available"] == 7
    wait_until(lambda: page.fact("Available") == "7", "it is shown", PATIENCE_S)
    page.visit("sales", "Orders and checkouts")
    page.press("Reconcile")
    page.press("Reconcile", "dialog")
    wait_until(lambda: (page.text("dialog .result p") or "").endswith(" corrected."), "reconciled", PATIENCE_S)


# ---- streams

def test_the_stream_recovers_after_a_restart(page, server):
    page.visit("overview", "Overview")
    before = page.get("/v1/info")["uptime_seconds"]
    server.stop()
    page.shows(".status", "Reconnecting …")
    server.start()
    page.shows(".status", "Live")
    wait_until(lambda: page.fact("State") == "ready", "figures of the new run", PATIENCE_S)
    assert page.get("/v1/info")["uptime_seconds"] <= before + PATIENCE_S


def test_a_page_in_the_background_asks_nothing(page, embedded):
    page.visit("overview", "Overview")
    page.logged()
    page.browser.minimize_window()
    try:
        wait_until(lambda: page.script("return document.hidden"), "it is hidden", PATIENCE_S)
        page.shows(".status", "Paused")
        wait_until(lambda: any(event["method"] == "Network.loadingFailed" and event["params"]["canceled"]
                               for event in page.logged()), "the stream is given up", PATIENCE_S)
    finally:
        page.browser.set_window_rect(0, 0, *DESK)
    page.shows(".status", "Live")
