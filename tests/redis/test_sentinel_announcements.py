# SPDX-License-Identifier: Apache-2.0
"""Failovers that real Sentinels announce. What a user may do there is taken away, so that only one
of the two ways is left: the announcement to subscribers, or the answer to a poll."""

import pytest

from faults import until_known
from sentinels import Sentinels
from server import Server
from servers import wait_until

PASSWORD = "s3cr3t-of-sentinels"
USER = f"holdfast on >{PASSWORD} resetchannels -@all +ping"
SUBSCRIBER, POLLER = "+subscribe &+switch-master", "+sentinel|get-master-addr-by-name"


@pytest.fixture
def group():
    with Sentinels(replicas=1, sentinel_lines=[f"user {USER} {SUBSCRIBER} {POLLER}"]) as servers:
        yield servers


@pytest.fixture
def server(group):
    url = f"{group.url}?sentinel_user=holdfast&sentinel_password={PASSWORD}&timeout=1000"
    with Server("--engine", url) as one:
        yield one


def set_user(group, *rules):
    """The rules of the user from now on; it stays connected unless it loses a channel."""
    for sentinel in group.sentinels:
        sentinel.client().execute_command("ACL", "SETUSER", "holdfast", *" ".join(rules).split())


def subscribers(sentinel):
    return [client for client in sentinel.client().client_list()
            if client["user"] == "holdfast" and int(client["sub"]) > 0]


def wait_subscribed(group):
    for sentinel in group.sentinels:
        wait_until(lambda: len(subscribers(sentinel)) == 1, f"a subscription at {sentinel}")


def open_zone(server, event):
    answer, _ = until_known(lambda: server.call("SEATS.OPEN", event, "floor", 5), event)
    assert answer[0] == 1


def test_a_failover_is_followed_by_its_announcement_alone(group, server):
    open_zone(server, "before")
    wait_subscribed(group)
    set_user(group, "-@all", "+ping", "+subscribe")  # polls are refused from now on
    old = group.master
    old.kill()
    group.wait_failover(old)
    open_zone(server, "after")
    wait_until(lambda: "is now redis" in server.said(), "it is logged")
    assert PASSWORD not in server.said()


def test_a_failover_is_followed_by_polling_alone(group, server):
    wait_subscribed(group)
    set_user(group, "resetchannels", "-subscribe")  # which ends the connections that have one
    for sentinel in group.sentinels:
        wait_until(lambda: not subscribers(sentinel), f"no subscription at {sentinel}")
    wait_until(lambda: "the subscription to +switch-master at sentinel" in server.said(), "logged")
    old = group.master
    old.kill()
    group.wait_failover(old)
    open_zone(server, "after")


def test_subscriptions_that_break_are_made_again(group, server):
    wait_subscribed(group)
    for sentinel in group.sentinels:
        (before,) = subscribers(sentinel)
        sentinel.client().client_kill_filter(_id=before["id"])
        wait_until(lambda: [c for c in subscribers(sentinel) if c["id"] != before["id"]],
                   f"another subscription at {sentinel}")
    old = group.master
    old.kill()
    group.wait_failover(old)
    open_zone(server, "after")


def test_a_master_that_was_replaced_while_it_is_alive_is_left(group, server):
    """It takes itself for the master for seconds more, until a Sentinel tells it otherwise."""
    wait_subscribed(group)
    (new,) = group.replicas
    group.sentinels[0].client().execute_command("SENTINEL", "FAILOVER", group.name)
    wait_until(lambda: f"is now redis {new.address}" in server.said(), "the new master")
    for number in range(20):
        open_zone(server, f"after{number}")
    assert len(new.client().keys("zone:totals:{after*")) == 20
