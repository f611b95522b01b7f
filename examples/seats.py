#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two seats, from Python: libholdfast by ctypes, with the generic call.

The library is taken from $HOLDFAST_LIBRARY, from build/, or from where the system finds it.
"""

import ctypes
import os
from pathlib import Path

NIL, INTEGER, TEXT = range(3)


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

    @classmethod
    def of(cls, word):
        encoded = str(word).encode()
        return cls(encoded, len(encoded))


class Refused(Exception):
    """The command changed nothing. `code` is such as INSUFFICIENT_STOCK."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


def load():
    built = Path(__file__).resolve().parent.parent / "build" / "libholdfast.so"
    path = os.environ.get("HOLDFAST_LIBRARY") or (built if built.exists() else "libholdfast.so.0")
    library = ctypes.CDLL(str(path))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    for name, result, arguments in (
            ("hf_open", ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(pointer)]),
            ("hf_close", None, [pointer]),
            ("hf_call", ctypes.c_int,
             [pointer, size, ctypes.POINTER(Bytes), ctypes.POINTER(pointer)]),
            ("hf_error_name", ctypes.c_char_p, [ctypes.c_int]),
            ("hf_last_message", ctypes.c_char_p, []),
            ("hf_reply_count", size, [pointer]),
            ("hf_reply_kind", ctypes.c_int, [pointer, size]),
            ("hf_reply_integer", ctypes.c_int64, [pointer, size]),
            ("hf_reply_text", Bytes, [pointer, size]),
            ("hf_reply_free", None, [pointer])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Holdfast:
    """An engine, to be used in a `with` statement."""

    def __init__(self, url):
        self.library = load()
        self.handle = ctypes.c_void_p()
        self.check(self.library.hf_open(url.encode(), ctypes.byref(self.handle)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.hf_close(self.handle)

    def check(self, code):
        if code != 0:
            raise Refused(self.library.hf_error_name(code).decode(),
                          self.library.hf_last_message().decode())

    def call(self, *words):
        """Runs one command and gives its reply as a list; raises Refused."""
        argv = (Bytes * len(words))(*map(Bytes.of, words))
        reply = ctypes.c_void_p()
        try:
            self.check(self.library.hf_call(self.handle, len(words), argv, ctypes.byref(reply)))
            return [self.element(reply, i) for i in range(self.library.hf_reply_count(reply))]
        finally:
            self.library.hf_reply_free(reply)

    def element(self, reply, i):
        kind = self.library.hf_reply_kind(reply, i)
        if kind == INTEGER:
            return self.library.hf_reply_integer(reply, i)
        if kind == TEXT:
            text = self.library.hf_reply_text(reply, i)
            return ctypes.string_at(ctypes.c_void_p.from_buffer(text).value, text.size).decode()
        return None


def main():
    with Holdfast("embedded:") as holdfast:
        holdfast.call("SEATS.OPEN", "gala", "floor", 2)
        _, remaining, _, _ = holdfast.call("SEATS.RESERVE", "gala", "floor", "b-1", "ann", 2, 4)
        print(f"ann holds two seats, {remaining} left")
        try:
            holdfast.call("SEATS.RESERVE", "gala", "floor", "b-2", "bob", 1, 4)
        except Refused as refused:
            print(f"bob is refused: {refused}")
        _, status, code = holdfast.call("SEATS.CONFIRM", "gala", "b-1", "PAYMENT", "p-77")
        print(f"ann has paid: {status}, code {code}")
        zone = holdfast.call("SEATS.ZONE", "gala", "floor")
        print(dict(zip(zone[::2], zone[1::2])))


if __name__ == "__main__":
    main()
