# SPDX-License-Identifier: Apache-2.0
"""The scripted sequence, and behind it the example of every row with each of its arguments out of
bounds in turn: together they reach every refusal that the rows name."""

from scripted import Scripted

SECOND_MS = 1000


def broken_values(argument):
    """What this argument cannot be."""
    if argument.type == "id":
        return [b"{x}", b"x" * 129]
    if argument.type in ("count", "amount"):
        return [b"%d" % (argument.max + 1)]
    if argument.type == "ms":
        return [b"%dms" % (argument.max + 1)]
    if argument.type == "choice":
        return [b"neither"]
    if argument.type == "text":
        return [b"x" * (argument.max + 1), b"" if argument.keyword is None else b"!"]
    if argument.type == "blob":
        return [b"x" * (argument.max + 1)]
    return []


def broken_examples(row):
    """The row's example with one argument that is wrong; the others stay as they are."""
    words = row.example.encode().split(b" ")
    for place, argument in enumerate(row.positional, 1):
        for value in broken_values(argument):
            yield [*words[:place], value, *words[place + 1:]]
    plain = words[:1 + len(row.positional)]
    for argument in row.arguments.values():
        needed = []
        if argument.needs:
            needed = given(words, row.arguments[argument.needs])
            yield [*plain, argument.keyword.encode(), b"60"]
        for value in broken_values(argument) if argument.keyword else []:
            yield [*plain, *needed, argument.keyword.encode(), value]


def given(words, argument):
    """The keyword of an argument and its value in these words; a flag has none."""
    at = words.index(argument.keyword.encode())
    return words[at:at + (1 if argument.type == "flag" else 2)]


class Refusals(Scripted):
    def __init__(self, model, rows):
        super().__init__(model)
        now = self.commands[-1][0] + SECOND_MS
        for row in rows.values():
            self.commands += [(now, argv) for argv in broken_examples(row)]
        self.count = len(self.commands)
