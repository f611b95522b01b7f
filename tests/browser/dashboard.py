# SPDX-License-Identifier: Apache-2.0
"""The dashboard as its tests use it: a browser that visits views, reads what they show and presses buttons."""

import json
import urllib.request

from server import wait_until

PATIENCE_S = 60
DESK, PHONE = (1280, 900), (360, 740)


class Page:
    """The dashboard of a server in a browser."""

    def __init__(self, browser, server):
        self.browser = browser
        self.port = server.http_port
        self.origin = f"http://127.0.0.1:{server.http_port}"

    def size(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})

    def scheme(self, name):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": name}]})

    def visit(self, view="overview", heading=None):
        """Loads the page anew, at a view; with a heading, waits for it and for figures."""
        self.browser.get("about:blank")
        self.browser.get(f"{self.origin}/#/{view}")
        if heading is not None:
            self.shows("h1", heading)
            self.shows(".status", "Live")
        return self

    def script(self, text, *args):
        return self.browser.execute_script(text, *args)

    def text(self, selector):
        """What is shown there; None if there is nothing."""
        return self.script("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def shows(self, selector, text):
        wait_until(lambda: self.text(selector) == text,
                   f"{selector} shows {text!r}", PATIENCE_S)

    def row(self, first, caption):
        """The texts of the row that begins so, in the table of that caption; None if there is none."""
        return self.script("""
            const table = [...document.querySelectorAll("table")].find(
                (one) => one.caption.textContent === arguments[1]);
            const row = [...(table?.tBodies[0].rows ?? [])].find(
                (one) => one.cells[0].innerText === arguments[0]);
            return row ? [...row.cells].map((cell) => cell.innerText) : null""", first, caption)

    def fact(self, name):
        """The value of the first fact or tile of that name; None if there is none."""
        return self.script("""
            const term = [...document.querySelectorAll("dt")].find(
                (one) => one.textContent === arguments[0]);
            return term?.nextElementSibling?.innerText ?? null""", name)

    def button(self, name, within="main"):
        """The button of that text or label, if it can be pressed; None if not."""
        return self.script("""
            return [...document.querySelectorAll(`${arguments[1]} button`)].find((one) =>
                (one.getAttribute("aria-label") ?? one.textContent) === arguments[0]
                && one.checkVisibility() && !one.disabled) ?? null""", name, within)

    def choose(self, name, option):
        """An option of the list with that id, as somebody chooses it."""
        self.script("""
            const list = document.getElementById(arguments[0]);
            list.value = arguments[1];
            list.dispatchEvent(new Event("change"));""", name, option)

    def press(self, name, within="main"):
        wait_until(lambda: self.button(name, within), f"a button {name!r}", PATIENCE_S).click()

    def act(self, button, verb, result, **given):
        """An action from its button to its result: fields are filled in, the dialog is confirmed and closed."""
        self.press(button)
        for name, value in given.items():
            field = self.script(
                "return document.querySelector(`dialog [name=${arguments[0]}]`)", name)
            if value is True:
                field.click()
            else:
                field.clear()
                field.send_keys(str(value))
        self.press(verb, "dialog")
        self.shows("dialog .result p", result)
        self.press("Close", "dialog")
        wait_until(lambda: self.text("dialog") is None, "the dialog is gone", PATIENCE_S)

    def errors(self):
        """What the browser complained of since this was last asked."""
        return [entry["message"] for entry in self.browser.get_log("browser")
                if entry["level"] == "SEVERE"]

    def logged(self):
        """What happened on the network and elsewhere since this was last asked."""
        return [json.loads(entry["message"])["message"]
                for entry in self.browser.get_log("performance")]

    def requested(self):
        """The URLs that the browser asked for since then, at whatever server."""
        return [event["params"]["request"]["url"] for event in self.logged()
                if event["method"] == "Network.requestWillBeSent"]

    def get(self, path):
        """What the server says of it, without the browser."""
        with urllib.request.urlopen(self.origin + path, timeout=PATIENCE_S) as answer:
            return json.load(answer)
