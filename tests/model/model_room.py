# SPDX-License-Identifier: Apache-2.0
"""Waiting room: a line of users per event, and passes for those let in.

Who comes first when an order is drawn by lot, the model cannot know: with ORDER random it is right
as long as at most one is in line at the start.
"""

from fractions import Fraction

from model_arguments import COUNT, FLAG, ID, ORDER, POSITIVE_COUNT, RATE, TTL, Command
from model_values import known

DEFAULT_TTL_MS = 1_800_000
DEFAULT_PASS_MS = 600_000
MAX_ADMITTED = 4_000
MAX_DRAWN_AT_ONCE = 200
RETRY_WINDOW_MS = 300_000
DEFAULTS = {
    "rate": 0, "inside": 0, "start": 0, "order": "fifo", "pass": DEFAULT_PASS_MS,
    "paused": False, "gate": False,
}


class Pass:
    def __init__(self, secret, token, ttl, now):
        self.secret = secret
        self.token = token  # of the entry
        self.ttl = ttl
        self.expires_at = now + ttl


class Admission:
    """What a ROOM.ADMIT with an id did."""

    def __init__(self, count, pass_ms, passes, now):
        self.terms = count, pass_ms
        self.passes = passes  # (user, Pass), oldest first
        self.forgotten_at = now + RETRY_WINDOW_MS


class Room:
    def __init__(self):
        self.line = []  # (user, expires at, token), oldest first
        self.passes = {}  # user -> Pass
        self.admissions = {}  # id -> Admission
        self.settings = dict(DEFAULTS)
        self.drawn = False  # the whole line is in an order drawn by lot
        self.allowed = Fraction(0)  # users that RATE allowed at that time
        self.allowed_at = 0
        self.admitted = 0

    @property
    def is_open(self):
        return self.settings != DEFAULTS

    def expire(self, now):
        self.line = [entry for entry in self.line if now < entry[1]]
        for user in [u for u, own in self.passes.items() if own.expires_at <= now]:
            del self.passes[user]
        for own in [i for i, known_ in self.admissions.items() if known_.forgotten_at <= now]:
            del self.admissions[own]

    def undrawn(self, now):
        return self.settings["order"] == "random" and now < self.settings["start"]

    def position(self, user):
        """Counted from 1; 0 when the user is not in line."""
        users = [entry[0] for entry in self.line]
        return users.index(user) + 1 if user in users else 0

    def allowance(self, now):
        rate = self.settings["rate"]
        return min(Fraction(rate), self.allowed + Fraction(rate * (now - self.allowed_at), 1000))

    def set(self, now, settings):
        before, rate = self.settings["rate"], settings["rate"]
        self.allowed = min(Fraction(rate), self.allowance(now)) if before else Fraction(rate)
        self.allowed_at = now
        self.settings = settings
        if not self.is_open:
            self.admitted, self.drawn = 0, False

    def admit(self, now, most, ttl, secrets):
        reply, inside = [], self.settings["inside"]
        while len(reply) < 2 * most and self.line and now >= self.settings["start"]:
            if inside and len(self.passes) >= inside:
                break
            user, _, token = self.line.pop(0)
            self.passes[user] = Pass(secrets.room_pass(), token, ttl, now)
            reply += [user, self.passes[user].secret]
            self.admitted += self.is_open
        return reply

    def wait(self, now, place):
        """Seconds until the one at a place is admitted; -1 if the settings do not tell."""
        rate, start = self.settings["rate"], self.settings["start"]
        if not rate or self.settings["paused"]:
            return -1
        return -(-max(0, start - now) // 1000) + -(-place // rate)


class Rooms:
    def __init__(self, secrets):
        self.secrets = secrets
        self.rooms = {}

    def commands(self):
        settings = dict(rate=RATE, inside=COUNT, start=COUNT, order=ORDER, paused=FLAG, gate=FLAG)
        return {
            b"ROOM.OPEN": Command(self.open, (ID,), **settings, **{"pass": TTL}),
            b"ROOM.JOIN": Command(self.join, (ID, ID), max=POSITIVE_COUNT, ttl=TTL),
            b"ROOM.POSITION": Command(self.position, (ID, ID), token=ID),
            b"ROOM.LEAVE": Command(self.leave, (ID, ID)),
            b"ROOM.ADMIT": Command(self.admit, (ID, POSITIVE_COUNT), id=ID, **{"pass": TTL}),
            b"ROOM.TICK": Command(self.tick, (ID,), limited=FLAG),
            b"ROOM.CHECK": Command(self.check, (ID, ID, ID), renew=FLAG),
            b"ROOM.DONE": Command(self.done, (ID, ID)),
            b"ROOM.STATS": Command(self.stats, (ID,)),
        }

    def room(self, event, now):
        room = self.rooms.get(event)
        if room is None:
            room = self.rooms[event] = Room()
        room.expire(now)
        return room

    def open(self, now, event, **options):
        room = self.room(event, now)
        settings = {**DEFAULTS, **options}
        if settings["order"] == "random" and now < settings["start"] and not room.drawn:
            if len(room.line) > MAX_DRAWN_AT_ONCE:
                return [0, "INVALID_STATE"]
            room.drawn = True
        room.set(now, settings)
        return [1, len(room.line), len(room.passes)]

    def join(self, now, event, user, max=None, ttl=DEFAULT_TTL_MS):
        room = self.room(event, now)
        if room.position(user):
            return [0, "ALREADY_IN_QUEUE"]
        if max is not None and len(room.line) >= max:
            return [0, "QUEUE_FULL"]
        token = self.secrets.room_token()
        room.line.append((user, now + ttl, token))
        room.drawn = room.undrawn(now)
        return [1, 0 if room.drawn else len(room.line), len(room.line), token]

    def position(self, now, event, user, token=None):
        room = self.room(event, now)
        position = room.position(user)
        if position:
            return [0 if room.undrawn(now) else position, len(room.line)]
        admitted = room.passes.get(user)
        if admitted and token is not None and known(admitted.token) == token:
            return [0, len(room.line), admitted.secret]
        return [0, "NOT_IN_QUEUE"]

    def leave(self, now, event, user):
        room = self.room(event, now)
        position = room.position(user)
        if not position:
            return 0
        del room.line[position - 1]
        return 1

    def admit(self, now, event, count, id=None, **options):
        room = self.room(event, now)
        count = min(count, MAX_ADMITTED)
        given = options.get("pass")  # no argument of Python can be named so
        if id in room.admissions:
            before = room.admissions[id]
            if before.terms != (count, given):
                return [0, "INVALID_STATE"]
            return [word for user, own in before.passes if room.passes.get(user) is own
                    for word in (user, own.secret)]
        ttl = room.settings["pass"] if given is None else given
        reply = room.admit(now, count, ttl, self.secrets)
        if id is not None:
            passes = [(user, room.passes[user]) for user in reply[::2]]
            room.admissions[id] = Admission(count, given, passes, now)
        return reply

    def tick(self, now, event, limited=False):
        room = self.room(event, now)
        bounded = room.settings["rate"] or room.settings["inside"]
        if room.settings["paused"] or (limited and not bounded):
            return []
        rated = room.settings["rate"] > 0
        most = min(MAX_ADMITTED, int(room.allowance(now))) if rated else MAX_ADMITTED
        reply = room.admit(now, most, room.settings["pass"], self.secrets)
        if rated and reply:
            room.allowed, room.allowed_at = room.allowance(now) - len(reply) // 2, now
        return reply

    def check(self, now, event, user, user_pass, renew=False):
        admitted = self.room(event, now).passes.get(user)
        if not admitted or known(admitted.secret) != user_pass:
            return 0
        if renew:
            admitted.expires_at = now + admitted.ttl
        return 1

    def done(self, now, event, user):
        return 1 if self.room(event, now).passes.pop(user, None) else 0

    def stats(self, now, event):
        room = self.room(event, now)
        settings = room.settings
        return [
            "waiting", len(room.line), "inside", len(room.passes), "admitted", room.admitted,
            "rate", settings["rate"], "inside_max", settings["inside"],
            "started", int(now >= settings["start"]), "paused", int(settings["paused"]),
            "estimated_wait_s", room.wait(now, len(room.line)),
            "start_ms", settings["start"], "random", int(settings["order"] == "random"),
            "pass_ms", settings["pass"], "gate", int(settings["gate"]),
        ]

    # What the other families ask

    def lets_reserve(self, now, event, user, user_pass):
        room = self.room(event, now)
        if not room.settings["gate"]:
            return True
        admitted = room.passes.get(user)
        return None not in (admitted, user_pass) and known(admitted.secret) == user_pass

    def confirmed(self, now, event, user):
        room = self.room(event, now)
        if room.is_open:
            room.passes.pop(user, None)

    def deadlines(self, now, event):
        room = self.room(event, now)
        due = [(expires_at, user) for user, expires_at, _ in room.line]
        due += [(own.expires_at, user) for user, own in room.passes.items()]
        return due + [(own.forgotten_at, id) for id, own in room.admissions.items()]
