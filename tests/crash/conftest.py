# SPDX-License-Identifier: Apache-2.0
"""What the crash tests share, and the line that says how many crashes there were."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from crash import Worker, remove

ROOT = Path(__file__).resolve().parent.parent.parent
crashes = []  # as counted by the tests


@pytest.fixture(scope="session")
def worker():
    """crash_worker of the build directory named by HOLDFAST_BUILD, build/ by default."""
    build = Path(os.environ.get("HOLDFAST_BUILD", ROOT / "build")).resolve()
    options = json.loads((build / "meson-info" / "intro-buildoptions.json").read_text())
    sanitized = any(option["name"] == "b_sanitize" and option["value"] != "none"
                    for option in options)
    memory = Path("/dev/shm")
    base = tempfile.mkdtemp(prefix="holdfast-crash-",
                            dir=memory if os.access(memory, os.W_OK) else None)
    yield Worker(build / "tests" / "crash_worker", base, sanitized)
    remove(base)


@pytest.fixture(scope="session")
def strace():
    """strace is there and allowed to do its work."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], stderr=subprocess.PIPE, text=True)
    if tried.returncode != 0:
        pytest.skip(f"strace may not trace here: {tried.stderr.strip()}")


@pytest.fixture
def count_crashes(record_property):
    """count_crashes(n): of this test, for the report and the last line."""
    def count(number):
        assert number > 0, "nothing crashed"
        print(f"{number} crash points")
        record_property("crash_points", number)
        crashes.append(number)
    return count


def pytest_terminal_summary(terminalreporter):
    if crashes:
        terminalreporter.write_line(f"{sum(crashes)} crash points")
