# SPDX-License-Identifier: Apache-2.0
"""Sentinels that have a user and a password of their own, other than the servers'."""

import pytest

from faults import until_known
from harness import Build, run
from sentinels import Sentinels
from server import Server

AT_SERVERS, AT_SENTINELS = "s3cr3t-of-servers", "s3cr3t-of-sentinels"
LIMITED = "s3cr3t-of-the-limited"
UNAVAILABLE = 69


@pytest.fixture(scope="module")
def group():
    """The default user needs a password, and there is one that may do what docs/redis.md says."""
    lines = [f"requirepass {AT_SENTINELS}", f"sentinel sentinel-pass {AT_SENTINELS}",
             f"sentinel auth-pass mymaster {AT_SERVERS}",
             f"user holdfast on >{LIMITED} resetchannels &+switch-master -@all +ping +subscribe "
             "+sentinel|get-master-addr-by-name"]
    with Sentinels(replicas=1, sentinel_lines=lines, login=("default", AT_SENTINELS),
                   requirepass=AT_SERVERS, masterauth=AT_SERVERS) as servers:
        yield servers


def url_of(group, options):
    return group.url.replace("://", f"://:{AT_SERVERS}@") + options


@pytest.mark.parametrize("options", [
    f"?sentinel_password={AT_SENTINELS}", f"?sentinel_user=holdfast&sentinel_password={LIMITED}"],
    ids=["default", "limited"])
def test_masters_are_found_and_no_password_is_logged(group, options):
    with Server("--engine", url_of(group, options)) as server:
        answer, _ = until_known(lambda: server.call("SEATS.OPEN", "gala", "floor", 5), "opened")
        assert answer[0] == 1
        assert "s3cr3t" not in server.said() and "warning" not in server.said()


@pytest.mark.parametrize("options, why", [
    ("", "WRONGPASS"), ("?sentinel_password=wrong", "WRONGPASS"),
    (f"?sentinel_user=nobody&sentinel_password={AT_SENTINELS}", "WRONGPASS")])
def test_one_that_is_wrong_is_said(group, options, why):
    more = ("&" if options else "?") + "connect_timeout=1500"
    ended = run(Build().program, "call", "--engine", url_of(group, options + more), "SEM.CARD", "a")
    assert ended.code == UNAVAILABLE, ended
    assert "sentinel" in ended.err and why in ended.err and "s3cr3t" not in ended.err
