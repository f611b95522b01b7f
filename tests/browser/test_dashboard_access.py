# SPDX-License-Identifier: Apache-2.0
"""The dashboard for everybody: judged by axe-core in light and dark, used by the keyboard alone, and its pictures
in docs/, which HOLDFAST_SCREENSHOTS=1 has made anew.

axe-core comes from npm, by the lock file in tests/browser/axe; without a registry those tests are skipped."""

import fcntl
import os
import shutil
import time

import pytest
from selenium.webdriver.common.keys import Keys

from dashboard import DESK, PATIENCE_S, PHONE
from harness import ROOT, Build, run
from languages import registry_answers
from server import Server, wait_until
from test_dashboard import VIEWS, fill

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
PICTURE, PICTURE_MOST_BYTES = (1120, 720), 150_000


@pytest.fixture(scope="module")
def server():
    with Server("--payment-url", "test:") as one:
        fill(one)
        yield one


@pytest.fixture(scope="module")
def axe():
    """The text of axe-core, installed once in a build directory."""
    place = Build().path / "axe"
    place.mkdir(exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = place / "node_modules/axe-core/axe.min.js"
        if not found.exists():
            if not shutil.which("npm"):
                pytest.skip("there is no npm")
            for name in ("package.json", "package-lock.json"):
                shutil.copy(ROOT / "tests/browser/axe" / name, place)
            ended = run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", cwd=place)
            if ended.code != 0 and not registry_answers():
                pytest.skip("npm cannot reach its registry")
            assert ended.code == 0, ended
        return found.read_text()


def violations(page):
    return page.browser.execute_async_script("""
        const done = arguments[arguments.length - 1];
        axe.run({runOnly: arguments[0]}).then((result) => done(result.violations.map((one) => [
            one.id, one.nodes.map((node) => node.html.slice(0, 200))])))""", RULES)


@pytest.mark.parametrize("scheme, size, views", [
    ("light", DESK, ["overview", "zones", "room/fair", "event/fair", "sales", "product/fair"]),
    ("dark", PHONE, ["overview", "event/fair", "product/fair"])], ids=["light", "dark"])
def test_axe_finds_nothing(page, axe, scheme, size, views):
    page.scheme(scheme)
    page.size(*size)
    page.visit("overview", "Overview")
    page.script(axe)
    for view in views:
        page.script("location.hash = `#/${arguments[0]}`", view)
        page.shows("h1", VIEWS[view])
        assert violations(page) == [], view
    page.press("Adjust")
    assert violations(page) == [], "a dialog"
    page.press("Cancel", "dialog")


def test_by_the_keyboard_alone(page, server):
    """From the top of the page to a view, and through an action: with Tab, Enter and Escape."""
    page.visit("product/fair", "Product fair")

    def focused():
        return page.script("return document.activeElement.textContent")

    def keys(*what):
        page.browser.switch_to.active_element.send_keys(*what)

    def tab_to(name):
        for _ in range(60):
            keys(Keys.TAB)
            if focused() == name:
                outline = page.script("return getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", f"{name} is seen to be focused"
                return
        raise AssertionError(f"no way to {name}")
    tab_to("Skip to the content")
    keys(Keys.ENTER)
    assert focused() == "Product fair"
    wait_until(lambda: page.button("Adjust"), "the button", PATIENCE_S)
    tab_to("Adjust")
    keys(Keys.ENTER)
    wait_until(lambda: page.script("return document.activeElement.name") == "delta", "a field", PATIENCE_S)
    keys(Keys.ESCAPE)
    wait_until(lambda: page.text("dialog") is None, "the dialog is gone", PATIENCE_S)
    assert focused() == "Adjust", "and the focus is where it was"


def test_landmarks_and_news(page):
    page.visit("overview", "Overview")
    there = page.script("""return ["header", "nav[aria-label]", "main", "form[role=search]",
        ".status[role=status]", "html[lang]"].filter((one) => document.querySelectorAll(one).length !== 1)""")
    assert there == []


def test_light_and_dark(page):
    page.visit("overview", "Overview")
    shades = []
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        shades.append(page.script("return getComputedStyle(document.body).backgroundColor"))
    assert shades[0] != shades[1]


@pytest.mark.skipif(not os.environ.get("HOLDFAST_SCREENSHOTS"), reason="only when asked for")
def test_pictures_for_the_documentation(page, server):
    """A minute of a sale: quiet, a rush that ebbs away, and what is refused once blocks are full."""
    for i in range(6):
        server.call("SEATS.OPEN", "gala", f"block-{chr(ord('a') + i)}", 4000 if i else 400)
    page.size(*PICTURE)
    page.visit("overview", "Overview")
    with server.connect() as connection:
        for tenth in range(600):
            for i in range(int(5 + 60 * max(0, 1 - abs(tenth - 300) / 200))):
                name = f"{tenth}-{i}"
                zone = f"block-{'aabcdef'[(tenth + i * i) % 7]}"
                connection.call("SEATS.RESERVE", "gala", zone, f"b-{name}", f"u-{name}", 1 + i % 2, 2)
                if i % 3 == 0:
                    connection.call("SEATS.CONFIRM", "gala", f"b-{name}")
            time.sleep(0.1)
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        picture = ROOT / f"docs/dashboard-{scheme}.png"
        page.browser.save_screenshot(str(picture))
        assert picture.stat().st_size < PICTURE_MOST_BYTES
