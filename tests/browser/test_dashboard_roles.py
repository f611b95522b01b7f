# SPDX-License-Identifier: Apache-2.0
"""Who may do what in the dashboard: signing in for the tab, users who only look, and what an admin does about a
checkout that needs attention."""

import pytest

from box_office import SECRETS
from dashboard import DESK, PATIENCE_S, Page
from harness import Build, run
from payment_peer import PaymentPeer
from server import Server, wait_until

PASSWORD = "correct horse: battery"
ACTIONS = [  # what a page could send, whether or not it shows a button
    ("PUT", "/v1/events/gala/zones/floor", {"capacity": 5}),
    ("POST", "/v1/events/gala/bookings/b-1/cancel", {}),
    ("POST", "/v1/events/gala/queue/admit", {"count": 1}),
    ("PUT", "/v1/events/gala/room", {"paused": True}),
    ("POST", "/v1/products/sneaker/adjust", {"delta": 1, "reason": "none"}),
    ("POST", "/v1/reconcile", {}),
    ("POST", "/v1/sagas/s-1/resume", {}),
    ("POST", "/v1/sagas/s-1/refund", {}),
]
QUICK = ["--payment-timeout", "500ms", "--payment-retries", "2", "--saga-lease", "1s"]


@pytest.fixture(scope="module")
def peer():
    with PaymentPeer(lambda payment, verb, times: "500" if verb != "refund" else "ok") as one:
        yield one


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    """The secrets of reader and chief, and the file of users; ann has a password."""
    program = Build().program
    path, tokens, lines = tmp_path_factory.mktemp("users") / "users", {}, []
    for who, role in (("reader", "read"), ("chief", "admin")):
        ended = run(program, "auth", who, role)
        lines.append(ended.out)
        tokens[who] = ended.err.split()[-1]
    lines.append(run(program, "auth", "ann", "admin", "--password", stdin=PASSWORD + "\n").out)
    path.write_text("".join(lines))
    path.chmod(0o600)
    return {**tokens, "file": path}


@pytest.fixture(scope="module")
def server(peer, tokens):
    with Server("--auth-file", tokens["file"], "--payment-url", peer.url, *QUICK, env=SECRETS) as one:
        with one.connect() as connection:
            connection.call("AUTH", tokens["chief"])
            for line in ("SEATS.OPEN gala floor 50", "SEATS.RESERVE gala floor b-1 ann 2 4",
                         "STOCK.LOAD sneaker 10", "ROOM.OPEN gala RATE 1 PAUSED", "ROOM.JOIN gala zoe"):
                connection.call(*line.split())
        yield one


@pytest.fixture
def call(server, tokens):
    """Carries out commands as the chief."""
    with server.connect() as connection:
        connection.call("AUTH", tokens["chief"])
        yield connection.call


@pytest.fixture
def page(browser, server):
    page = Page(browser, server)
    page.size(*DESK)
    page.browser.get(page.origin)
    page.script("sessionStorage.clear()")
    page.visit()
    page.shows("h1", "Sign in to Holdfast")
    return page


def sign_in(page, secret, user=""):
    for field, value in (("user", user), ("secret", secret)):
        element = page.script("return document.getElementById(arguments[0])", field)
        element.clear()
        element.send_keys(value)
    page.press("Sign in")


def send(page, method, path, body):
    """As a script in the page would: the status of the answer."""
    return page.browser.execute_async_script("""
        const [method, path, body, done] = arguments;
        fetch(path, {method, body: JSON.stringify(body), headers: {"Content-Type": "application/json",
            Authorization: sessionStorage.getItem("holdfast.authorization")}}).then((got) => done(got.status))""",
                                             method, path, body)


def test_a_wrong_secret_is_told(page):
    sign_in(page, "wrong")
    wait_until(lambda: page.text("[role=alert]") == "this is nobody's token or password", "refused", PATIENCE_S)
    assert page.script("return sessionStorage.length") == 0


def test_a_token_is_kept_for_the_tab_and_forgotten_at_the_end(page, tokens):
    sign_in(page, tokens["chief"])
    page.shows("h1", "Overview")
    wait_until(lambda: (page.text(".who") or "").startswith("chief, admin"), "who it is", PATIENCE_S)
    page.browser.refresh()
    page.shows("h1", "Overview")
    page.press("Sign out", "header")
    page.shows("h1", "Sign in to Holdfast")
    assert page.script("return sessionStorage.length + localStorage.length + document.cookie.length") == 0
    page.browser.refresh()
    page.shows("h1", "Sign in to Holdfast")


def test_a_password(page):
    sign_in(page, PASSWORD, "ann")
    page.shows("h1", "Overview")
    page.shows(".status", "Live")


def test_who_only_looks_sees_no_action_and_may_do_none(page, server, tokens, call):
    sign_in(page, tokens["reader"])
    for view, heading, there in (("zones", "Zones", "gala"), ("event/gala", "Event gala", "b-1"),
                                 ("room/gala", "Waiting room gala", "In line"),
                                 ("product/sneaker", "Product sneaker", "Available"),
                                 ("sales", "Orders and checkouts", "Sold out")):
        page.visit(view, heading)
        wait_until(lambda: there in page.text("main"), f"{there} in {view}", PATIENCE_S)
        buttons = set(page.script("return [...document.querySelectorAll('main button')].map("
                                  "(one) => one.textContent)"))
        assert buttons <= {"First", "Previous", "Next", "Show"}, view
    for method, path, body in ACTIONS:
        assert send(page, method, path, body) == 403, path
    assert call("SEATS.ZONE", "gala", "floor")[:6] == ["capacity", 50, "available", 48, "reserved", 2]


def test_a_checkout_that_needs_attention(page, peer, tokens, call):
    peer.faults = lambda payment, verb, times: "500" if verb != "refund" else "ok"
    made = call("SEATS.CHECKOUT", "gala", "floor", "bob", 2, 4, "BOOKING", "b-2", "SAGA", "s-1", "PRICE", 4500,
                "WAIT", "60s")
    assert made[3] == "NEEDS_ATTENTION"
    sign_in(page, tokens["chief"])
    page.shows("h1", "Overview")
    page.visit("sales", "Orders and checkouts")
    wait_until(lambda: page.fact("NEEDS_ATTENTION") == "1", "it is counted", PATIENCE_S)
    page.choose("state", "NEEDS_ATTENTION")
    row = wait_until(lambda: page.row("s-1", "Checkouts"), "it is in the list", PATIENCE_S)
    assert row[1] == "NEEDS_ATTENTION" and row[6] != "nothing"
    peer.faults = lambda *_: "ok"
    page.act("Resume s-1", "Resume", "It is PAYING.")
    wait_until(lambda: page.row("s-1", "Checkouts") is None, "it goes on", PATIENCE_S)
    field = page.script("return document.getElementById('saga')")
    field.send_keys("s-1")
    field.submit()
    page.shows("h1", "Checkout s-1")
    wait_until(lambda: page.fact("Status") == "COMPLETED", "it has come to its end", PATIENCE_S)
    page.act("Refund", "Refund", "It is COMPENSATING.")
    wait_until(lambda: page.fact("Status") == "COMPENSATED", "it is taken back", PATIENCE_S)
    assert call("SEATS.ZONE", "gala", "floor")[3] == 48
