# SPDX-License-Identifier: Apache-2.0
"""examples/waiting-room.html in a real browser: it joins, shows the place as it changes, keeps it
over a reload, and reserves with the pass once the admission worker has admitted the user."""

import itertools

import pytest
from selenium.webdriver.common.by import By

from server import Server, wait_until

PATIENCE_S = 60
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(pages):
    with Server("--cors-origin", pages, memory=True) as one:
        yield one


@pytest.fixture
def event(server):
    """An event behind a gate with one place inside, which somebody has."""
    name = f"gala-{next(numbers)}"
    server.call("SEATS.OPEN", name, "floor", 10)
    server.call("ROOM.OPEN", name, "INSIDE", 1, "GATE")
    server.call("ROOM.JOIN", name, "early")
    wait_until(lambda: stats(server, name)["inside"] == 1, "early is inside", PATIENCE_S)
    return name


def stats(server, event):
    words = server.call("ROOM.STATS", event)
    return dict(zip(words[::2], words[1::2]))


def visit(browser, pages, server, event, user="ann", more=""):
    browser.get(f"{pages}/waiting-room.html?api=http://127.0.0.1:{server.http_port}&event={event}"
                f"&user={user}&zone=floor&quantity=2{more}")


def shown(browser, part):
    return browser.find_element(By.ID, part).text


def shows(browser, part, text):
    wait_until(lambda: shown(browser, part) == text, f"{part} is {text!r}", PATIENCE_S)


@pytest.mark.parametrize("more", ["", "&poll=1"], ids=["stream", "poll"])
def test_from_the_line_to_the_seats(browser, pages, server, event, more):
    visit(browser, pages, server, event, more=more)
    shows(browser, "status", "You are number 1 of 1.")
    assert shown(browser, "place") == "1"
    server.call("ROOM.JOIN", event, "bob")
    shows(browser, "status", "You are number 1 of 2.")
    browser.refresh()
    shows(browser, "status", "You are number 1 of 2.")
    server.call("ROOM.DONE", event, "early")
    shows(browser, "status", "Your seats are reserved.")
    assert shown(browser, "place") == "✓"
    assert "Booking ann-" in shown(browser, "note")
    assert server.call("SEATS.USER", event, "ann") == [2, 0]
    assert stats(server, event)["waiting"] == 1, "bob still waits"


def test_leaving_the_line(browser, pages, server, event):
    visit(browser, pages, server, event)
    shows(browser, "status", "You are number 1 of 1.")
    browser.find_element(By.ID, "leave").click()
    shows(browser, "status", "You have left the line.")
    assert stats(server, event)["waiting"] == 0
    browser.refresh()
    shows(browser, "status", "You are number 1 of 1.")


def test_one_place_for_a_user(browser, pages, server, event):
    server.call("ROOM.JOIN", event, "ann")
    visit(browser, pages, server, event)
    shows(browser, "status", "You are in line already, in another tab or on another device.")
    assert stats(server, event)["waiting"] == 1


def test_how_it_looks(browser, pages, server, event):
    visit(browser, pages, server, event)
    shows(browser, "status", "You are number 1 of 1.")
    width = browser.execute_script(
        "return [document.scrollingElement.scrollWidth, window.innerWidth]")
    assert width == [360, 360], "nothing stands out at the side"
    status = browser.find_element(By.ID, "status")
    assert status.get_attribute("aria-live") == "polite"

    def background(scheme):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        return browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background("light") != background("dark")

    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)")
    api = f"http://127.0.0.1:{server.http_port}/"
    assert loaded and all(name.startswith(api) or name.endswith("/favicon.ico") for name in loaded)
