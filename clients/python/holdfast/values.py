# SPDX-License-Identifier: Apache-2.0
"""Between Python's values and the words of the protocol: arguments, and replies by their shape."""

from __future__ import annotations

from datetime import timedelta
from typing import (Any, Callable, Dict, Generic, Iterator, List, NamedTuple, Optional, Sequence,
                    Tuple, Type, TypeVar, Union, get_type_hints)

from .errors import BY_CODE, HoldfastError, ServerError

R = TypeVar("R")
T = TypeVar("T")

# Seconds, or a timedelta, or a text with a unit as the server takes it: "1500ms", "30s", "10m".
Duration = Union[int, float, str, timedelta]
Words = List[object]
UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(value: Duration) -> float:
    """How long a duration is. A text with no unit that is known is the server's to refuse."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        number = value.rstrip("mshMSH")
        unit = value[len(number):] or "s"
        if not number.isdigit() or unit not in UNITS_S:
            raise ValueError(f"{value!r} is no duration: seconds, or 1500ms, 30s, 10m, 2h")
        return int(number) * UNITS_S[unit]
    return float(value)


def duration(value: Optional[Duration]) -> Optional[str]:
    """A duration as the server takes it; milliseconds are the least that it counts."""
    if value is None or isinstance(value, str):
        return value
    return f"{round(seconds(value) * 1000)}ms"


def option(keyword: str, value: object) -> Words:
    return [] if value is None else [keyword, value]


def flag(keyword: str, value: bool) -> Words:
    return [keyword] if value else []


class Page(NamedTuple, Generic[T]):
    """A page of a list. Only an empty cursor says that it was the last."""

    cursor: str
    items: Tuple[T, ...]


def every(call: Callable[..., Page[T]], *arguments: object, **options: object) -> Iterator[T]:
    """All items of a list, page by page: every(client.seats.list, "gala", zone="floor")."""
    cursor: Optional[str] = None
    while cursor != "":
        page = call(*arguments, after=cursor, **options)
        yield from page.items
        cursor = page.cursor


class Family:
    """A family of commands; they are carried out by the client it belongs to."""

    def __init__(self, client: Family) -> None:
        self._client = client

    def _execute(self, command: Command[R], words: Words, again: bool,
                 wait: Optional[Duration] = None) -> R:
        return self._client._execute(command, words, again, wait)


class Command(Generic[R]):
    """One command: its name, and how its reply is read."""

    def __init__(self, name: str, shape: str, reply: Type[Any], nil: str = "",
                 figures: str = "") -> None:
        self.name, self.shape, self.reply = name, shape, reply
        # The codes that a reply of nil, and one with figures behind a 0 or less, stand for.
        self.nil, self.figures = nil, figures
        self._kinds: Dict[str, type] = {}

    @property
    def kinds(self) -> Dict[str, type]:
        """The types of the reply's fields."""
        self._kinds = self._kinds or get_type_hints(self.reply)
        return self._kinds

    def read(self, answer: Any) -> R:
        """The typed reply to an answer on the wire, or the error that it stands for."""
        if answer is None and self.nil:
            raise error_of(self.nil, f"{self.name}: {self.nil}")
        raise_refusal(answer)
        reply: R = getattr(self, f"_{self.shape}")(answer)
        return reply

    def _number(self, answer: Any) -> int:
        return int(answer)

    def _lead(self, answer: Sequence[Any]) -> Any:
        values = self._values(answer[1:])
        if answer[0] <= 0:
            raise error_of(self.figures or "INTERNAL", f"{self.name}: {self.figures}", values)
        return self.reply(**values)

    def _list(self, answer: Sequence[Any]) -> Any:
        return self.reply(**self._values(answer))

    def _fields(self, answer: Sequence[Any]) -> Any:
        names = [f"{text(name)}_" if f"{text(name)}_" in self.reply._fields else text(name)
                 for name in answer[::2]]
        found = dict(zip(names, answer[1::2]))
        kinds = self.kinds
        return self.reply(**{name: convert(value, kinds[name]) for name, value in found.items()
                             if name in kinds})  # a newer server may tell more

    def _pairs(self, answer: Sequence[Any]) -> Any:
        return tuple(self._list(answer[i:i + 2]) for i in range(0, len(answer), 2))

    def _page(self, answer: Sequence[Any]) -> Any:
        read = text if self.reply is str else self._fields
        return Page(text(answer[0]), tuple(read(item) for item in answer[1:]))

    def _values(self, answer: Sequence[Any]) -> Dict[str, Any]:
        kinds = self.kinds
        return {name: convert(value, kinds[name])
                for name, value in zip(self.reply._fields, answer)}


def text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def convert(value: Any, kind: type) -> Any:
    if kind is int:
        return int(value)
    return text(value) if kind is str else value


def raise_refusal(answer: Any) -> None:
    """[0, CODE, message] is a refusal, whatever the shape of the answer would have been."""
    if (isinstance(answer, list) and len(answer) == 3 and answer[0] == 0
            and isinstance(answer[1], bytes) and text(answer[1]) in BY_CODE):
        raise error_of(text(answer[1]), text(answer[2]))


def error_of(code: str, message: str, figures: Optional[Dict[str, Any]] = None) -> HoldfastError:
    """The error of a code. One of a newer server that is not known here is a plain ServerError."""
    kind = BY_CODE.get(code)
    if kind is None:
        made: HoldfastError = ServerError(message)
        made.code = code
        return made
    return kind(message, **(figures or {}))
