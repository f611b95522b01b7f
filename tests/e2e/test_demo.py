# SPDX-License-Identifier: Apache-2.0
"""holdfast demo: what it claims must add up."""

import re
import socket

import pytest

from harness import run


def numbers(pattern, text):
    found = re.search(pattern, text)
    assert found, text
    return [int(number) for number in found.groups()]


def test_the_proof_adds_up(holdfast):
    ended = holdfast("demo")
    assert (ended.code, ended.err) == (0, "")
    text = ended.out
    buyers, seats = numbers(r"^(\d+) buyers rush (\d+) seats", text)
    attempts, = numbers(r"(\d+) attempts in", text)
    granted, refused, paid, cancelled, lapsed = (
        numbers(rf"(?m)^    {what} +(\d+)\b", text)[0]
        for what in ("granted", "refused", "paid", "cancelled", "lapsed"))
    assert (buyers, seats) == (20000, 500)
    assert attempts == granted + refused
    assert granted == paid + cancelled + lapsed
    assert 0 < granted <= buyers

    capacity, available, reserved, confirmed = numbers(
        r"capacity (\d+) = available (\d+) \+ reserved (\d+) \+ confirmed (\d+)", text)
    counted, hands = numbers(r"the buyers themselves count (\d+) seats in (\d+) hands", text)
    assert capacity == seats == available + reserved + confirmed
    assert (counted, hands) == (confirmed, paid)
    assert numbers(r"audit: (\d+) findings", text) == [0]
    assert ended.lines[-1].strip() == "Nothing oversold, nothing lost."


@pytest.fixture(scope="module")
def served(build):
    """The play is the same whatever it was built with, and long."""
    if build.sanitized:
        pytest.skip("in the plain build only")
    return run(build.program, "demo", "--serve", "--resp-port", 0, "--http-port", 0)


def test_a_server_survives_the_rush(served):
    assert (served.code, served.err) == (0, "")
    assert re.match(r"The page: http://127\.0\.0\.1:\d+/\n", served.out)
    acts = ["a waiting room fills", "a flash sale begins", "the payment peer stops answering",
            "the breaker is open", "kill -9", "it is back", "the last customer has gone"]
    places = [served.out.find(act) for act in acts]
    assert -1 not in places and places == sorted(places), served.out
    assert served.lines[-1].strip() == "Nothing oversold, nothing lost, nobody charged for nothing."


def test_the_proof_of_the_server_adds_up(served):
    seats, available, reserved, confirmed, theirs = numbers(
        r"(\d+) seats = available (\d+) \+ reserved (\d+) \+ confirmed (\d+); the customers have (\d+)",
        served.out)
    assert seats == available + reserved + confirmed and confirmed == theirs > 0
    pieces, left, sold, theirs = numbers(
        r"(\d+) pieces = available (\d+) \+ sold (\d+); the customers have (\d+)", served.out)
    assert (pieces, left, sold) == (300, 0, theirs)
    assert numbers(r"audit: (\d+) findings; engine and ledger differ by (\d+)", served.out) == [0, 0]
    assert numbers(r"(?m)^    held off +(\d+)", served.out)[0] > 0


def test_nothing_of_the_server_is_left_behind(served):
    port = numbers(r"http://127\.0\.0\.1:(\d+)/", served.out)[0]
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 5).close()


@pytest.mark.parametrize("words", [["--stay"], ["--serve", "--http-port", "x"], ["--bogus"], ["a"]])
def test_what_demo_does_not_take(holdfast, words):
    ended = holdfast("demo", *words)
    assert ended.code == 2 and ended.out == "" and ended.err.startswith("holdfast: ")


def test_what_is_not_a_terminal_sees_no_live_line(holdfast):
    ended = holdfast("bench", "--seconds", "1", "--load", "refuse")
    assert "\r" not in ended.out and "\x1b" not in ended.out
