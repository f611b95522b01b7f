# SPDX-License-Identifier: Apache-2.0
"""Ids of all shapes, good and bad, and other awkward arguments.

An engine may store ids in several ways: short ones in place, UUIDs as 16 bytes, the rest elsewhere.
So the shapes meet at the borders (15 to 17 bytes, 128 bytes), and there are twins: ids that differ
as bytes but that a careless packing would take for the same.
"""

import uuid

LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-"
PUNCTUATION = b"!\"#$%&'()*+,/;<=>?@[\\]^`|~"
WIDE = "äßçéøñžшжλπ日本語席票🎫🪑\u200b\ufeff\u200d\ue000\uffff\U0010ffff"

BAD_IDS = [
    b"", b"a" * 129, b" ", b"a b", b"a\tb", b"a\nb", b"a\rb", b"\x00", b"a\x1fb", b"\x7f", b"{",
    b"a}b", b"{a}", "a\u00a0b".encode(), "\u1680".encode(), "\u2003x".encode(), "\u200a".encode(),
    "\u2028".encode(), "\u2029".encode(), "x\u202f".encode(), "\u205f".encode(),
    "\u3000".encode(), "\u0085".encode(), "\u0080".encode(), "\u009f".encode(),
    b"\xff", b"a\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\x80", b"ok\xf0\x9f\x8e", "é".encode() * 64 + b"x",
    b"%" * 129, b"\xc2", b"550e8400-e29b-41d4-a716-44665544000 ",
    b"0123456789abcde\x00",
]

BAD_NUMBERS = [
    b"", b"-", b"+1", b" 1", b"1 ", b"1.5", b"1e3", b"0x10", b"ten", b"--1", b"1-", b"\xc2\xb2",
    "٣".encode(), b"1_000", b"1\x00", b"NaN", b"inf",
]
OUT_OF_BOUNDS = [
    b"-1", b"-2", b"-9007199254740992", b"9007199254740992", b"9007199254740993",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"18446744073709551616", b"18446744073709551617", b"9" * 40, b"-" + b"9" * 40,
    b"1" + b"0" * 300,
]
SMALLEST = [b"0", b"-0", b"00", b"1", b"01", b"-00"]
LARGEST = [b"9007199254740991", b"009007199254740991", b"9007199254740990"]

BAD_DURATIONS = [
    b"", b"-1", b"-1s", b"1.5s", b"5d", b"5S", b"5MS", b"ms", b"s", b"5 s", b"5s ", b"s5", b"1m30s",
    b"+5", b"5us", b"1e3", b"\xb5s", b"5mss", b"0x5", b"5\x00",
]
OUT_OF_RANGE_DURATIONS = [
    b"0", b"0ms", b"0h", b"1ms", b"9ms", b"09ms", b"2592001", b"2592000001ms", b"2592001s",
    b"43201m", b"721h", b"4294967296", b"18446744073709551616ms", b"18446744073709552",
    b"5124095576030432h", b"9" * 30 + b"s", b"9" * 30,
]

SHORT_DURATIONS = [
    b"10ms", b"10ms", b"11ms", b"0012ms", b"25ms", b"60ms", b"100ms", b"250ms", b"1500ms", b"1",
    b"1s", b"2",
]
MIDDLE_DURATIONS = [
    b"5", b"10s", b"30", b"30s", b"45000ms", b"60", b"1m", b"90s", b"2m", b"5m", b"10m", b"600",
    b"15m", b"900s",
]
LONG_DURATIONS = [
    b"1800", b"1h", b"2h", b"120m", b"24h", b"86400", b"720h", b"43200m", b"2592000", b"2592000s",
    b"2592000000ms", b"0720h",
]


class Ids:
    """Makes ids that have not been used, most of them plain."""

    def __init__(self, random):
        self.random = random
        self.made = 0
        self.twins = []

    def fresh(self):
        self.made += 1
        if self.twins:
            return self.twins.pop()
        chance = self.random.random()
        if chance < 0.35:
            return str(uuid.UUID(int=self.random.getrandbits(128))).encode()
        if chance < 0.65:
            return self.plain(self.random.randint(4, 17))
        if chance < 0.72:
            return self.plain(self.random.randint(18, 128))
        if chance < 0.80:
            return self.wide()
        if chance < 0.85:
            return self.plain(128)
        if chance < 0.90:
            return self.random.choice([b"%", b"\\", b'"', b"'", b"*"]) + self.plain(3)
        self.make_twins()
        return self.twins.pop()

    def plain(self, length):
        """Letters and the number of the id, so that no two are the same."""
        number = b"%x-" % self.made
        text = number + bytes(self.random.choices(LETTERS, k=length))
        return text[: max(length, len(number))]

    def wide(self):
        text = "%x" % self.made + "".join(self.random.choices(WIDE, k=self.random.randint(1, 40)))
        raw = text.encode()[:128]
        return raw.decode("utf-8", "ignore").encode()

    def make_twins(self):
        packed = bytes(self.random.choices(LETTERS, k=16))
        canonical = str(uuid.UUID(bytes=packed)).encode()
        plain_hex = canonical.replace(b"-", b"")
        self.twins = [
            packed, canonical, canonical.upper(), canonical[:-1], canonical + b"0", plain_hex,
            canonical[:-1] + b"G", canonical.replace(b"-", b"_"), packed[:15], packed + b"a",
            plain_hex[:8] + b"-" + plain_hex[8:], b"-" + canonical[:35],
            str(uuid.UUID(bytes=packed[:15] + b"_")).encode(),
        ]
        self.random.shuffle(self.twins)


EDGE_IDS = [
    b"a", b"A", b"0", b"-", b"-1", b"TTL", b"ttl", b"WAIT", b"a" * 127, b"a" * 128, b"a" * 15,
    b"a" * 16, b"a" * 17, "é".encode() * 64, "票".encode() * 42, "🎫".encode() * 32, b"%20",
    b"\\u0041", b'"', b"\\",
    "\u200b".encode(), "\ufeff".encode(), "\u180e".encode(), "\uffff".encode(),
    "\U0010ffff".encode(), "\u00ad".encode(), PUNCTUATION,
    b"00000000-0000-0000-0000-000000000000", b"ffffffff-ffff-ffff-ffff-ffffffffffff",
    b"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
]
