# SPDX-License-Identifier: Apache-2.0
"""Arguments: how the bytes of a request become values, or why they do not.

Every kind of argument is a dictionary from the raw bytes to the checked value, filled on demand.
The memory only saves time: a test sends the same few thousand arguments over and over.

Text stays text of one character per byte (latin-1), the way the driver prints byte strings. So
ids are compared byte by byte and replies can be compared as they come.
"""

import re

MAX_INTEGER = 2**53 - 1
MAX_ID_BYTES = 128
MAX_REASON_BYTES = 256
MAX_RESPONSE_BYTES = 1 << 20
MAX_SHARDS = 1024
MAX_CURSOR_BYTES = 191
MAX_PAGE = 1000
MAX_SLOTS = 128
MIN_DURATION_MS = 10
MAX_DURATION_MS = 30 * 24 * 3600 * 1000

# The characters with the property White_Space that are not control characters as well.
WHITE_SPACE = frozenset(
    [0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
)
NUMBER = re.compile(rb"(-?)([0-9]+)")
DURATION = re.compile(rb"(-?)([0-9]+)(ms|s|m|h|)")
UNIT_MS = {b"ms": 1, b"s": 1000, b"m": 60_000, b"h": 3_600_000}

REMEMBERED_VALUES = 50_000
REMEMBERED_BYTES = 256


class Malformed(Exception):
    """The request itself is wrong: the reply is an error, not a refusal."""


class Refused(Exception):
    """The request is well formed, an argument of it is out of bounds."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


class Kind(dict):
    """What one sort of argument may be. Subclasses say how it is parsed."""

    def __missing__(self, raw):
        value = self.parse(raw)
        if len(raw) <= REMEMBERED_BYTES:
            if len(self) >= REMEMBERED_VALUES:
                self.clear()
            self[raw] = value
        return value

    def parse(self, raw):
        raise NotImplementedError


class Id(Kind):
    def parse(self, raw):
        if not 1 <= len(raw) <= MAX_ID_BYTES:
            raise Refused("INVALID_ID")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("INVALID_ID") from None
        for character in text:
            point = ord(character)
            control = point < 0x20 or 0x7F <= point <= 0x9F
            if control or point in WHITE_SPACE or character in "{}":
                raise Refused("INVALID_ID")
        return raw.decode("latin-1")


class Number(Kind):
    def __init__(self, code, lowest, highest=MAX_INTEGER):
        super().__init__()
        self.code = code
        self.lowest = lowest
        self.highest = highest

    def parse(self, raw):
        match = NUMBER.fullmatch(raw)
        if not match:
            raise Malformed
        sign, digits = match.groups()
        number = bounded_integer(digits)
        if sign:
            number = -number
        if not self.lowest <= number <= self.highest:
            raise Refused(self.code)
        return number


class Duration(Kind):
    def __init__(self, bare_unit=b"s", lowest_ms=MIN_DURATION_MS):
        super().__init__()
        self.bare_unit = bare_unit
        self.lowest_ms = lowest_ms

    def parse(self, raw):
        match = DURATION.fullmatch(raw)
        if not match:
            raise Malformed
        sign, digits, unit = match.groups()
        duration_ms = bounded_integer(digits) * UNIT_MS[unit or self.bare_unit]
        if sign:
            duration_ms = -duration_ms
        if not self.lowest_ms <= duration_ms <= MAX_DURATION_MS:
            raise Refused("INVALID_TTL")
        return duration_ms


class Choice(Kind):
    def __init__(self, *words):
        super().__init__()
        self.words = words

    def parse(self, raw):
        if raw not in self.words:
            raise Refused("INVALID_ARGUMENT")
        return raw.decode("latin-1")


class ListKind(Kind):
    def parse(self, raw):
        if raw not in (b"events", b"zones", b"tenants", b"semaphores", b"locks", b"products",
                       b"rooms", b"keys"):
            raise Refused("INVALID_ARGUMENT")
        return raw.decode("latin-1")


class Text(Kind):
    """Up to so many bytes of UTF-8, perhaps none."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def parse(self, raw):
        if len(raw) > self.most:
            raise Refused("PAYLOAD_TOO_LARGE")
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("INVALID_ARGUMENT") from None
        return raw.decode("latin-1")


class Reason(Kind):
    def parse(self, raw):
        if len(raw) > MAX_REASON_BYTES:
            raise Refused("PAYLOAD_TOO_LARGE")
        if not raw:
            raise Refused("INVALID_ARGUMENT")
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("INVALID_ARGUMENT") from None
        return raw.decode("latin-1")


class Cursor(Kind):
    def parse(self, raw):
        if len(raw) > MAX_CURSOR_BYTES:
            raise Refused("PAYLOAD_TOO_LARGE")
        return raw.decode("latin-1")


class Status(Kind):
    def parse(self, raw):
        if raw not in (b"any", b"reserved", b"confirmed"):
            raise Refused("INVALID_ARGUMENT")
        return raw.decode("latin-1")


class Response(Kind):
    def parse(self, raw):
        if len(raw) > MAX_RESPONSE_BYTES:
            raise Refused("PAYLOAD_TOO_LARGE")
        return raw.decode("latin-1")


def bounded_integer(digits):
    """The value of the digits, or something beyond all bounds when there are too many of them."""
    digits = digits.lstrip(b"0")
    return int(digits or b"0") if len(digits) <= 18 else 10**18


CURSOR = Cursor()
PAGE_COUNT = Number("INVALID_QUANTITY", 1, MAX_PAGE)
STATUS = Status()
ID = Id()
COUNT = Number("INVALID_QUANTITY", 0)
POSITIVE_COUNT = Number("INVALID_QUANTITY", 1)
DELTA = Number("INVALID_QUANTITY", -MAX_INTEGER)
RATE = Number("INVALID_QUANTITY", 0, 1_000_000)
SHARDS = Number("INVALID_QUANTITY", 1, MAX_SHARDS)
SLOTS = Number("INVALID_QUANTITY", 1, MAX_SLOTS)
AMOUNT = Number("INVALID_AMOUNT", 0)
POSITIVE_AMOUNT = Number("INVALID_AMOUNT", 1)
TTL = Duration()
WAIT = Duration(bare_unit=b"ms", lowest_ms=0)
POLICY = Choice(b"merge", b"steal")
ORDER = Choice(b"fifo", b"random")
REASON = Reason()
RESPONSE = Response()
LIST_KIND = ListKind()
PREFIX = Text(2 * MAX_ID_BYTES + 1)
CURSOR = Text(MAX_CURSOR_BYTES)
PAGE_COUNT = Number("INVALID_QUANTITY", 1, MAX_PAGE)
FLAG = None  # a keyword that stands alone


class Command:
    """The arguments one command takes, in order, and its optional keywords."""

    def __init__(self, handler, positional, **options):
        self.handler = handler
        self.positional = positional
        self.options = {name.upper().encode(): (name, kind) for name, kind in options.items()}
        self.fewest = 1 + len(positional)
        self.most = self.fewest + sum(1 if kind is FLAG else 2 for kind in options.values())

    def parse(self, argv):
        """The checked values of argv: a list, and a dictionary of the options that were given."""
        if not self.fewest <= len(argv) <= self.most:
            raise Malformed
        values = [kind[raw] for kind, raw in zip(self.positional, argv[1:])]
        if len(argv) == self.fewest:
            return values, {}
        return values, self.parse_options(argv[self.fewest :])

    def parse_options(self, words):
        given = {}
        at = 0
        while at < len(words):
            name, kind = self.options.get(words[at].upper(), (None, None))
            if name is None or name in given:
                raise Malformed
            if kind is FLAG:
                given[name] = True
                at += 1
                continue
            if at + 1 == len(words):
                raise Malformed
            given[name] = kind[words[at + 1]]
            at += 2
        return given
