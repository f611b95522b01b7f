# SPDX-License-Identifier: Apache-2.0
"""A program of the field that calls our seats scripts with its own keys and arguments, to the
letter, on one layout of keys."""

import time

from harness import Build

LAYOUTS = {"plain": ("", False), "tagged": ("", True), "plain in a namespace": ("shop:", False),
           "tagged in a namespace": ("shop:", True)}


class Field:
    """A program of the field with our files, on one layout of keys."""

    def __init__(self, store, namespace, tagged):
        self.store, self.namespace, self.tagged = store, namespace, tagged

    def key(self, kind, name=None, event="gala"):
        tag = f"{{{event}}}" if self.tagged else event
        if name is None:
            words = (kind, tag)
        elif self.tagged:
            words = (kind, tag, name)
        else:
            words = (kind, name, event) if kind.startswith("user:") else (kind, name)
        return self.namespace + ":".join(words)

    def run(self, script, keys, *arguments):
        text = (Build().path / "lua" / f"{script}.lua").read_text()
        return self.store.register_script(text)(keys, arguments)

    def reserve(self, booking, user="ann", quantity=2, most=4, ttl=600, zone="floor", event="gala",
                more=()):
        times = () if ttl is None else (ttl, *more)
        keys = self.keys(booking, user, zone, event)
        return self.run("reserve_seats", keys, quantity, most, user, booking, zone, event, "s-1",
                        500, *times)

    def keys(self, booking, user="ann", zone="floor", event="gala"):
        return [self.key("zone:availability", zone, event),
                self.key("user:reservations", user, event), self.key("reservation", booking, event)]

    def release(self, booking, *arguments, user="ann"):
        return self.run("release_seats", self.keys(booking, user), *arguments)

    def confirm(self, booking, *arguments):
        return self.run("confirm_booking", [self.key("reservation", booking)], *arguments)

    def free(self, zone="floor"):
        return int(self.store.get(self.key("zone:availability", zone)))

    def count(self, user="ann"):
        return int(self.store.get(self.key("user:reservations", user)) or 0)

    def wait_past(self, deadline_ms):
        """Until Redis' own clock is past a time."""
        while True:
            seconds, micros = self.store.time()
            left_ms = deadline_ms - (seconds * 1000 + micros // 1000)
            if left_ms < 0:
                return
            time.sleep((left_ms + 1) / 1000)

    def state(self):
        """All keys and what they hold."""
        return {key: self.store.dump(key) for key in self.store.keys("*")}
