# SPDX-License-Identifier: Apache-2.0
"""docs/metrics.md has every metric of the server, the alerts and the board name no other, and the alerts are as
promtool wants them."""

import json
import re
import shutil
import urllib.request

import pytest

from harness import ROOT, run
from server import Server, wait_until
from servers import RedisServer

PAGE = ROOT / "docs/metrics.md"
RULES = ROOT / "contrib/prometheus/holdfast.rules.yml"
BOARD = ROOT / "contrib/grafana/holdfast.json"
# Shown only once a sync of quotas has ended, which takes a database with files.
SELDOM = {"holdfast_quota_synced_seconds": "How long ago the last sync ended."}


def metrics_of(server):
    """What the server says of each of its metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics", timeout=60) as answer:
        return dict(re.findall(r"(?m)^# HELP (\S+) (.*)$", answer.read().decode()))


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """Every metric of a server that has all: a directory and a ledger, webhooks, payments, an
    audit log; and Redis."""
    where = tmp_path_factory.mktemp("metrics")
    secret = {"HOLDFAST_WEBHOOK_SECRET": "whsec_" + "c2VjcmV0" * 4}
    with Server("--ledger", f"sqlite:{where}/ledger.db", "--payment-url", "test:", "--webhook-url",
                "http://127.0.0.1:9/", "--audit-log", where / "audit.log", env=secret) as server:
        server.call("SEATS.OPEN", "gala", "floor", 5)
        server.call("SNAPSHOT")
        wanted = {"holdfast_snapshot_bytes", "holdfast_webhooks_oldest_seconds",
                  "holdfast_reconciled_seconds"}
        wait_until(lambda: wanted <= set(metrics_of(server)), "all metrics are there")
        found = metrics_of(server)
    with RedisServer() as redis, Server("--engine", redis.url) as server:
        found.update(metrics_of(server))
    return {**found, **SELDOM}


def test_the_page_has_every_metric_and_no_other(families):
    page = dict(re.findall(r"(?m)^\| `(holdfast_\w+)` \| \w+ \| (.*) \|$", PAGE.read_text()))
    lines = [f"| `{name}` | … | {text} |" for name, text in families.items() if page.get(name) != text]
    assert lines == [], "lines that docs/metrics.md lacks or has otherwise"
    assert set(page) - set(families) == set()


def named_in(text):
    """Metrics by the names of their families."""
    names = set(re.findall(r"\bholdfast_[a-z_]+", text))
    return {re.sub(r"(_seconds)_(?:bucket|sum|count)$", r"\1", name) for name in names}


def test_alerts_and_board_name_metrics_that_exist(families):
    board = json.loads(BOARD.read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert len(asked) > 30 and named_in("".join(asked)) - set(families) == set()
    named = named_in(RULES.read_text())
    assert len(named) > 15 and named - set(families) == set()


def test_the_panels_of_the_board_lie_beside_each_other():
    panels = json.loads(BOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells


def test_every_alert_has_a_place_in_the_runbook():
    headings = re.findall(r"(?m)^## (.*)$", (ROOT / "docs/runbook.md").read_text())
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    alerts = re.findall(r"(?m)^ +- alert: (\w+)$", RULES.read_text())
    named = re.findall(r"runbook: docs/runbook\.md#([\w-]+)", RULES.read_text())
    assert len(alerts) == len(named) and set(named) == anchors


def test_promtool_is_content():
    if not shutil.which("promtool"):
        pytest.skip("there is no promtool")
    ended = run("promtool", "check", "rules", RULES)
    assert ended.code == 0, ended
    ended = run("promtool", "test", "rules", RULES.with_suffix("").with_suffix(".rules.test.yml"))
    assert ended.code == 0, ended
