# SPDX-License-Identifier: Apache-2.0
"""holdfast demo: what it claims must add up."""

import re


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


def test_what_is_not_a_terminal_sees_no_live_line(holdfast):
    ended = holdfast("bench", "--seconds", "1", "--load", "refuse")
    assert "\r" not in ended.out and "\x1b" not in ended.out
