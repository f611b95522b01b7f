# SPDX-License-Identifier: Apache-2.0
"""What the tests in a browser share: a Chromium without a window, and pages served from a folder."""

import functools
import http.server
import sys
import threading
from pathlib import Path

import pytest

for folder in ("e2e", "redis", "ledger"):
    sys.path.append(str(Path(__file__).resolve().parent.parent / folder))

from dashboard import DESK, Page  # noqa: E402
from harness import ROOT  # noqa: E402

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402

PATIENCE_S = 60


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def pages():
    """The origin at which the folder of examples is served."""
    handler = functools.partial(Quiet, directory=str(ROOT / "examples"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A Chromium whose page is as large as a small phone's."""
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--disable-background-networking", "--no-first-run",
                 f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    try:
        driver.set_page_load_timeout(PATIENCE_S)
        driver.set_script_timeout(PATIENCE_S)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True})
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def page(browser, server):
    """The dashboard of the server that the module has, in a window as on a desk."""
    page = Page(browser, server)
    page.size(*DESK)
    return page
