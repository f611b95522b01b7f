# SPDX-License-Identifier: Apache-2.0
"""What every comparison does: rounds in which all take their turn, and figures made of them."""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from loads import redis_benchmark

CALIBRATION = 20000  # commands of the run that tells how many a longer one needs


class Rounds:
    """Runs of about so many seconds, each kind so often, in a directory of their own under the
    build."""

    def __init__(self, build, prefix, seconds, repeat):
        self.build = Path(build).resolve()
        self.program = self.build / "src" / "holdfast"
        self.seconds, self.repeat = seconds, repeat
        self.where = tempfile.mkdtemp(prefix=prefix, dir=self.build)
        self.calibration = CALIBRATION
        self.counts = {}  # commands of a run of the wanted length, by name
        self.runs = {}    # lists of Run, by name

    def count(self, name, server, words, pipeline, connections=50):
        """How many commands take about as long as a run should."""
        if name not in self.counts:
            first = min(self.calibration, 400 * pipeline * connections)
            found = redis_benchmark(server, words, first, pipeline, connections).rate
            self.counts[name] = max(first, int(found * self.seconds))
        return self.counts[name]

    def keep(self, name, run):
        self.runs.setdefault(name, []).append(run)
        print(f"  {name:<58} {run.rate:>10,.0f}/s  {run.server_us:6.2f} us of the server each",
              file=sys.stderr)

    def in_turn(self, *runs):
        for _ in range(self.repeat):
            for run in runs:
                run()

    def close(self):
        shutil.rmtree(self.where, ignore_errors=True)


def median(runs, what="rate"):
    return statistics.median(getattr(run, what) for run in runs)


def spread(figures, digits, unit=""):
    """The median, in parentheses the lowest and the highest."""
    return (f"{statistics.median(figures):,.{digits}f}{unit} "
            f"({min(figures):,.{digits}f}-{max(figures):,.{digits}f})")


def rate(runs, digits=0):
    return spread([run.rate / 1000 for run in runs], digits, " k/s")


def busy_side(runs):
    """Which side could do no more: at nine tenths of a core."""
    server, client = median(runs, "server_share"), median(runs, "client_share")
    sides = [name for name, share in (("server", server), ("load generator", client))
             if share >= 0.9]
    return " and ".join(sides) or "neither"


def verdict(ratio, aim, at_most=False):
    if aim is None:
        return ""
    met = ratio <= aim if at_most else ratio >= aim
    return f"{'≤' if at_most else '≥'} {round(aim, 3):g}: {'met' if met else 'missed'}"
