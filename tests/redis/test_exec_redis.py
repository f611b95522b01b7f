# SPDX-License-Identifier: Apache-2.0
"""holdfast exec straight on Redis: a hold that is lost stops the command at once, whoever took it."""

import subprocess

import pytest

from harness import TIMEOUT_S, Build
from other_client import OtherClient
from servers import RedisServer, wait_until

LOST = 76
MAIN = "adv-sem:semaphore_main:gpu"


@pytest.fixture(scope="module")
def redis():
    with RedisServer() as server:
        yield server


@pytest.fixture
def held(redis):
    """held(words): exec with a command that would run for long, once it runs; ended in the end."""
    redis.client().flushall()
    processes = []

    def begin(*words):
        process = subprocess.Popen(
            [Build().program, "exec", "--url", redis.url, "--id", "me", *words, "--", "sh", "-c",
             "trap 'exit 7' TERM; echo ready; read line"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return process
    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


SLOT = ["--semaphore", "gpu", "--limit", "2", "--heartbeat", "20m"]
LOCK = ["--lock", "seat", "--ttl", "20m"]
LOSSES = {
    "another program takes the slot out": (
        SLOT, lambda redis: OtherClient(redis, "gpu", "me", 2).release()),
    "all keys are gone": (SLOT, lambda redis: redis.flushall()),
    "another program unlocks": (LOCK, lambda redis: redis.delete("seat:locked:seat")),
}


@pytest.mark.parametrize("what", LOSSES)
def test_a_lost_hold_stops_the_command_at_once(redis, held, what):
    """A fifth of the heartbeat would be 4 minutes."""
    words, lose = LOSSES[what]
    process = held(*words)
    lose(redis.client())
    assert process.wait(TIMEOUT_S) == LOST
    err = process.stderr.read()
    assert "the hold was lost" in err and "not held" in err


def test_a_short_ttl_of_another_program_stops_nothing(redis, held):
    process = held(*SLOT)
    theirs = OtherClient(redis.client(), "gpu", "theirs", 2, heartbeat_s=1, ttl_s=1, slack_s=0)
    assert theirs.acquire()
    own = redis.client().hget("adv-sem:semaphore_own:gpu", "me")
    redis.client().delete(MAIN, "adv-sem:semaphore_ttl:gpu")
    # Two signs of life later it is in its slot again, and the command still runs.
    wait_until(lambda: redis.client().zscore(MAIN, "me"), "it is put back")
    wait_until(lambda: redis.client().hget("adv-sem:semaphore_own:gpu", "me") != own, "it pings")
    assert process.poll() is None
    process.stdin.write("\n")
    process.stdin.close()
    process.stdin = None
    assert process.wait(TIMEOUT_S) == 0
    assert redis.client().zscore(MAIN, "me") is None
