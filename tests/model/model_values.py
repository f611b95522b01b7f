# SPDX-License-Identifier: Apache-2.0
"""Values only the engine can know (random codes, tokens, …) and how replies are compared.

A model reply may hold an Unknown. When the engine's reply is compared with it, its shape is checked
and the value is adopted; from then on it has to be that very value.
"""

import bisect
import re

CODE_SHAPE = re.compile(r"[0-9A-HJKMNP-TV-Z]{10}")  # Crockford's base32: no I, L, O, U
UUID_SHAPE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
SECRET_SHAPE = re.compile(r"[!-z|~]{16,128}")  # long enough that nobody guesses it, and an id


class Open:
    """In place of a value the model cannot tell: accept(got) says whether it may be that."""


class Unknown(Open):
    """One value that has not been seen yet, or has been adopted."""

    def __init__(self, name, shape, seen):
        self.name = name
        self.shape = shape
        self.seen = seen  # all values of this sort so far; None if they may repeat
        self.value = None

    def accept(self, got):
        if self.value is not None:
            return got == self.value
        if not isinstance(got, str) or not self.shape.fullmatch(got):
            return False
        if self.seen is not None:
            if got in self.seen:
                return False
            self.seen.add(got)
        self.value = got
        return True

    def __repr__(self):
        return f"<{self.name}>" if self.value is None else repr(self.value)


class UnknownFence(Open):
    """A fence of several semaphores that got slots in the same millisecond.

    Which of them comes first is the engine's choice. But together they use up the numbers of the
    batch, each once, and inside one semaphore they grow in the order of the grants.
    """

    def __init__(self, batch, semaphore, numbers):
        self.batch = batch  # all fences of that millisecond
        self.semaphore = semaphore
        self.numbers = numbers  # the range they share
        self.value = None

    def accept(self, got):
        if self.value is not None:
            return got == self.value
        if not isinstance(got, int) or got not in self.numbers:
            return False
        earlier = True
        for other in self.batch:
            if other is self:
                earlier = False
            elif other.value is not None:
                if other.value == got:
                    return False
                in_order = other.value < got if earlier else got < other.value
                if other.semaphore == self.semaphore and not in_order:
                    return False
        self.value = got
        return True

    def __repr__(self):
        if self.value is not None:
            return repr(self.value)
        return f"<fence {self.numbers.start}..{self.numbers.stop - 1}>"


class Fences:
    """One counter for the whole engine: each grant, of a slot or a lock, takes the next number.
    `last` is where it stands when the engine has started."""

    one_counter = True

    def __init__(self, last=0):
        self.last = last

    def take(self, scope):
        self.last += 1
        return self.last


class OrderedFence(Open):
    """A fence of which only its place among the others of the same scope is known."""

    def __init__(self, adopted, place):
        self.adopted = adopted  # (place, value) of the scope's fences seen so far, in order
        self.place = place
        self.value = None

    def accept(self, got):
        if self.value is not None:
            return got == self.value
        if type(got) is not int or got <= 0:
            return False
        at = bisect.bisect(self.adopted, (self.place,))
        if at > 0 and self.adopted[at - 1][1] >= got:
            return False
        if at < len(self.adopted) and self.adopted[at][1] <= got:
            return False
        self.adopted.insert(at, (self.place, got))
        self.value = got
        return True

    def __repr__(self):
        return f"<fence {self.place} of its scope>" if self.value is None else repr(self.value)


class OrderedFences:
    """Fences that grow from grant to grant of one scope, by what numbers does not matter."""

    one_counter = False
    last = 0

    def __init__(self):
        self.scopes = {}  # scope -> (fences seen, how many were taken)

    def take(self, scope):
        adopted, taken = self.scopes.get(scope, ([], 0))
        self.scopes[scope] = (adopted, taken + 1)
        return OrderedFence(adopted, taken)


class Secrets:
    """Makes the unknowns of the other sorts, each with the memory of what was seen."""

    def __init__(self):
        self.lock_ids = set()
        self.room_secrets = set()

    def confirmation_code(self):
        return Unknown("confirmation code", CODE_SHAPE, None)

    def lock_id(self):
        return Unknown("lock id", UUID_SHAPE, self.lock_ids)

    def room_token(self):
        return Unknown("room token", SECRET_SHAPE, self.room_secrets)

    def room_pass(self):
        return Unknown("room pass", SECRET_SHAPE, self.room_secrets)


def known(value):
    """The value itself; None for an unknown that has not been adopted: it equals nothing yet."""
    return value.value if isinstance(value, Unknown) else value


def matches(expected, got):
    """Whether a reply is what the model expects. Adopts what the model could not know."""
    if isinstance(expected, Open):
        return expected.accept(got)
    if isinstance(expected, list):
        if not isinstance(got, list) or len(expected) != len(got):
            return False
        return all(map(matches, expected, got))
    if isinstance(expected, dict) and "items" in expected:
        return (isinstance(got, dict) and expected.keys() == got.keys()
                and matches(expected["items"], got["items"]))
    return type(expected) is type(got) and expected == got


def listed(items):
    """The answer to a list, walked to its end. An item is a name, or its fields and their values;
    the first is the one that no other has, and the order is by that."""
    return {"items": sorted(items, key=item_name)}


def item_name(item):
    return item if isinstance(item, str) else item[1]
