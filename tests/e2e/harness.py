# SPDX-License-Identifier: Apache-2.0
"""Where the build under test is, and how a program is run to its end."""

import json
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
# holdfast.h with the families' headers in the place of its includes: what a program sees.
HEADER = re.sub(r"(?m)^#include <(holdfast/.*)>$", lambda found: (INCLUDE / found[1]).read_text(),
                (INCLUDE / "holdfast.h").read_text())
# As the public header documents them, one typed call each: "/* SEATS.OPEN: make a zone …".
COMMANDS = re.findall(r"(?m)^/\* ([A-Z]+\.[A-Z]+|LIST|RECONCILE): ", HEADER)
TIMEOUT_S = 120  # nothing here takes that long; a program that does hangs


class Build:
    """The build directory named by HOLDFAST_BUILD, build/ by default."""

    def __init__(self):
        self.path = Path(os.environ.get("HOLDFAST_BUILD", ROOT / "build")).resolve()
        self.program = self.path / "src" / "holdfast"
        self.library = self.path / "src" / "libholdfast.so"
        options = json.loads((self.path / "meson-info" / "intro-buildoptions.json").read_text())
        self.options = {option["name"]: option["value"] for option in options}
        self.sanitized = self.options["b_sanitize"] != "none"


class Ended:
    """What a program left behind."""

    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()

    def __repr__(self):
        return f"exit code {self.code}, stdout {self.out!r}, stderr {self.err!r}"

    @property
    def lines(self):
        return self.out.splitlines()


def run(*command, stdin=b"", env=None, cwd=ROOT):
    """Runs a program to its end. `stdin` is text or bytes; `env` is added to the environment."""
    return Ended(subprocess.run(
        [word if isinstance(word, bytes) else str(word) for word in command],
        input=stdin.encode() if isinstance(stdin, str) else stdin, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, cwd=cwd, env={**os.environ, **(env or {})}, timeout=TIMEOUT_S))
