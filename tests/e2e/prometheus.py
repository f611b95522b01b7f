# SPDX-License-Identifier: Apache-2.0
"""Reads the text format of Prometheus as strictly as its documentation allows."""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL},?)*)\}})? (\S+)")
TYPES = ("counter", "gauge", "histogram")
UNITS = ("_seconds", "_bytes", "_total", "_info", "_ratio")


class Family:
    def __init__(self, name, help_text):
        self.name, self.help, self.type, self.samples = name, help_text, None, {}


def parse(text):
    """Families by name. Each has HELP, then TYPE, then its samples, all together and each once."""
    assert text.endswith("\n")
    families, current = {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            assert name not in families, f"{name} twice"
            assert help_text and not (current and current.type is None), line
            current = families[name] = Family(name, help_text)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert current and current.name == name and current.type is None, line
            assert kind in TYPES, line
            current.type = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, f"not a sample: {line!r}"
            name, labels, value = match[1], tuple(re.findall(LABEL, match[2] or "")), float(match[3])
            assert len({label.split("=")[0] for label in labels}) == len(labels), line
            assert belongs(current, name), f"{name} stands under {current.name}"
            assert (name, labels) not in current.samples, f"{line} twice"
            signed = name.endswith("_offset_seconds")  # how far apart two clocks are
            assert (signed or value >= 0) and not math.isnan(value), line
            current.samples[name, labels] = value
    for family in families.values():
        check(family)
    return families


def belongs(family, name):
    if family.type == "histogram":
        return name in (family.name + suffix for suffix in ("_bucket", "_sum", "_count"))
    return name == family.name


def check(family):
    assert re.fullmatch(r"holdfast_[a-z0-9_]+", family.name), family.name
    assert not re.search(r"_(ms|millis|milliseconds|us|ns|kb|mb)(_|$)", family.name), family.name
    assert (family.type == "counter") == family.name.endswith("_total"), family.name
    if family.type == "histogram":
        assert family.name.endswith(("_seconds", "_bytes")), family.name
        check_histogram(family)


def check_histogram(family):
    series = {}
    for (name, labels), value in family.samples.items():
        rest = tuple(label for label in labels if not label.startswith("le="))
        part = series.setdefault(rest, {"buckets": []})
        if name.endswith("_bucket"):
            bound = [label[4:-1] for label in labels if label.startswith("le=")]
            part["buckets"].append((float(bound[0]), value))
        else:
            part[name[len(family.name) + 1:]] = value
    for labels, part in series.items():
        bounds = [bound for bound, _ in part["buckets"]]
        counts = [count for _, count in part["buckets"]]
        assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf, labels
        assert counts == sorted(counts), f"{family.name}{labels} is not cumulative"
        assert counts[-1] == part["count"], labels
        assert part["sum"] >= 0 and (part["count"] > 0 or part["sum"] == 0), labels
        # The sum lies between what the buckets allow.
        low = sum((counts[i] - (counts[i - 1] if i else 0)) * (bounds[i - 1] if i else 0)
                  for i in range(len(bounds)))
        assert part["sum"] >= low * 0.999, labels
