# SPDX-License-Identifier: Apache-2.0
"""docs/commands.md as a reader has it: of each command its reply, its route and its example."""

import re
import shlex

from harness import ROOT

PAGE = (ROOT / "docs/commands.md").read_text()


class Example:
    """One command of the page.

    reply: "[1, used, limit]"; notes: what stands behind it; method, path, status: of its route;
    before, line: the words of the lines to type; curl: the words of the same request over HTTP.
    """

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.reply, self.notes = re.search(r"(?m)^- Reply: `(.*?)`\.(.*)$", text).groups()
        route = re.search(r"(?m)^- HTTP: `(\S+) (\S+)`, (\d+)", text)
        self.method, self.path, status = route.groups() if route else (None, None, 0)
        self.status = int(status)
        self.needs_ledger = "\n- Ledger: " in text
        block = re.search(r"(?ms)^```sh\n(.*?)^```$", text).group(1).splitlines()
        calls = [line.removeprefix("holdfast call ").split() for line in block
                 if line.startswith("holdfast call ")]
        self.before, self.line = calls[:-1], calls[-1]
        self.curl = next((shlex.split(line) for line in block if line.startswith("curl ")), None)

    def __repr__(self):
        return self.name

    @property
    def names(self):
        """The names of the values of its reply."""
        return re.findall(r"[a-z_]+", self.reply.removesuffix(" or nil"))

    @property
    def http_names(self):
        """Those that only HTTP has."""
        told = re.search(r"HTTP has also ([a-z_, ]+)\.", self.notes)
        made = re.search(r"Over HTTP (\w+) may be left out", self.notes)
        return (told.group(1).split(", ") if told else []) + ([made.group(1)] if made else [])


EXAMPLES = [Example(*part) for part in
            re.findall(r"(?ms)^### (\S+)\n(.*?)(?=^###? |\Z)", PAGE)]


def fill_in(words, answer):
    """<field> stands for what the line before answered under that name."""
    last = answer[-1] if isinstance(answer, list) else answer
    return [re.sub(r"<(\w+)>", lambda field: str(last[field[1]]), word) for word in words]
