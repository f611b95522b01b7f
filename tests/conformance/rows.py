# SPDX-License-Identifier: Apache-2.0
"""The command table, as the program itself prints it: scripts, keys, arguments, replies."""

import json
import re
import subprocess

STANDALONE, CLUSTER = 0, 1


class Argument:
    def __init__(self, spec):
        self.name = spec["keyword"].lower() if spec["keyword"] else spec["name"]
        self.field = spec["field"]
        self.keyword = spec["keyword"]
        self.needs = spec["needs"] and spec["needs"].lower()
        self.type = spec["type"]
        self.min, self.max = spec["min"], spec["max"]
        self.default = spec["default"]
        if self.type == "choice":
            self.default = spec["choices"].split("|")[0]
        elif self.type in ("id", "text", "blob") or spec["zero_counts"]:
            self.default = ""

    def encode(self, value):
        """As scripts take it: durations in seconds, flags as 1 and 0, text as its bytes."""
        if self.type == "ms":
            return seconds(value)
        if self.type == "flag":
            return b"1" if value else b"0"
        return value.encode("latin-1") if isinstance(value, str) else b"%d" % value


class Row:
    """What the table says of one command."""

    def __init__(self, spec):
        self.name = spec["name"]
        self.script = spec["script"]
        self.words = spec["script_args"].split()
        self.arguments = {argument.name: argument for argument in map(Argument, spec["args"])}
        self.positional = [a for a in self.arguments.values() if a.keyword is None]
        self.key_specs = spec["keys"]
        self.fields = spec["fields"]  # [name, is it text] of those shown
        self.late_fields = spec["late_fields"]  # one that a list may have behind them
        self.shape = spec["shape"]
        self.nil = spec["nil"]
        self.figures = spec["figures"]
        self.example = spec["example"]
        self.refusals = spec["refusals"]  # all codes that it can refuse with
        self.own_refusals = self.refusals[:spec["own_refusals"]]  # not by the types of arguments
        self.method, self.route = spec["method"], spec["route"]

    def values(self, positional, options):
        """The value of every argument, by its name in scripts."""
        values = {argument.name: argument.default for argument in self.arguments.values()}
        values.update(zip([argument.name for argument in self.positional], positional))
        values.update(options)
        return values

    def keys(self, values, style=STANDALONE):
        names = "|".join(sorted(self.arguments, key=len, reverse=True))
        return [re.sub(rf"\$({names})", lambda found: str(values[found[1]]), pair[style])
                .encode("latin-1") for pair in self.key_specs]

    def script_arguments(self, values, made):
        """ARGV of the row; `made` has what the table marks with @."""
        return [made[word[1:]](values) if word.startswith("@")
                else self.arguments[word].encode(values[word]) for word in self.words]


def seconds(ms):
    """"600", "1.5": seconds with as many decimals as it takes."""
    return f"{ms / 1000:.3f}".rstrip("0").rstrip(".").encode()


def load_rows(program):
    """Name in bytes -> Row, from conformance_rows of the build: those that an engine carries out."""
    listed = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    specs = [json.loads(line) for line in listed.splitlines()]
    rows = [Row(spec) for spec in specs if not spec["service"]]
    return {row.name.encode(): row for row in rows}
