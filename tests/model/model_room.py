# SPDX-License-Identifier: Apache-2.0
"""Waiting room: a line of users per event, and passes for those let in."""

from model_arguments import ID, POSITIVE_COUNT, TTL, Command
from model_values import known

DEFAULT_TTL_MS = 1_800_000
DEFAULT_PASS_MS = 600_000
MAX_ADMITTED = 4_000


class Room:
    def __init__(self):
        self.line = []  # (user, expires at), oldest first
        self.passes = {}  # user -> (pass, expires at)

    def expire(self, now):
        self.line = [entry for entry in self.line if now < entry[1]]
        for user in [u for u, (_, expires_at) in self.passes.items() if expires_at <= now]:
            del self.passes[user]

    def position(self, user):
        """Counted from 1; 0 when the user is not in line."""
        users = [entry[0] for entry in self.line]
        return users.index(user) + 1 if user in users else 0


class Rooms:
    def __init__(self, secrets):
        self.secrets = secrets
        self.rooms = {}

    def commands(self):
        return {
            b"ROOM.JOIN": Command(self.join, (ID, ID), max=POSITIVE_COUNT, ttl=TTL),
            b"ROOM.POSITION": Command(self.position, (ID, ID)),
            b"ROOM.LEAVE": Command(self.leave, (ID, ID)),
            b"ROOM.ADMIT": Command(self.admit, (ID, POSITIVE_COUNT), **{"pass": TTL}),
            b"ROOM.CHECK": Command(self.check, (ID, ID, ID)),
        }

    def room(self, event, now):
        room = self.rooms.get(event)
        if room is None:
            room = self.rooms[event] = Room()
        room.expire(now)
        return room

    def join(self, now, event, user, max=None, ttl=DEFAULT_TTL_MS):
        room = self.room(event, now)
        if room.position(user):
            return [0, "ALREADY_IN_QUEUE"]
        if max is not None and len(room.line) >= max:
            return [0, "QUEUE_FULL"]
        room.line.append((user, now + ttl))
        return [1, len(room.line), len(room.line), self.secrets.room_token()]

    def position(self, now, event, user):
        room = self.room(event, now)
        position = room.position(user)
        return [position, len(room.line)] if position else [0, "NOT_IN_QUEUE"]

    def leave(self, now, event, user):
        room = self.room(event, now)
        position = room.position(user)
        if not position:
            return 0
        del room.line[position - 1]
        return 1

    def admit(self, now, event, count, **options):
        room = self.room(event, now)
        pass_ttl = options.get("pass", DEFAULT_PASS_MS)  # no argument of Python can be named so
        count = min(count, MAX_ADMITTED)
        admitted, room.line = room.line[:count], room.line[count:]
        reply = []
        for user, _ in admitted:
            user_pass = self.secrets.room_pass()
            room.passes[user] = (user_pass, now + pass_ttl)
            reply += [user, user_pass]
        return reply

    def check(self, now, event, user, user_pass):
        room = self.room(event, now)
        if user not in room.passes:
            return 0
        return 1 if known(room.passes[user][0]) == user_pass else 0

    def deadlines(self, now, event):
        room = self.room(event, now)
        due = [(expires_at, user) for user, expires_at in room.line]
        return due + [(expires_at, user) for user, (_, expires_at) in room.passes.items()]
