# SPDX-License-Identifier: Apache-2.0
"""Commands for one waiting room.

ORDER random comes with a START only if that is over, or the line is empty and stays so: who comes
first by lot, the model cannot know.
"""

from generate_commands import Workload
from generate_ids import LARGEST
from model_arguments import MAX_INTEGER
from model_values import known


class RoomWorkload(Workload):
    ADD = "join"
    MIX = {
        "open": 7, "join": 34, "position": 16, "leave": 9, "admit": 8, "tick": 14, "check": 19,
        "done": 5, "stats": 6,
    }

    def __init__(self, *scope):
        super().__init__(*scope)
        self.users = self.pool(8 * self.scale)
        self.old_passes = []  # (user, pass) of the past
        self.admissions = []  # commands with an id, of the past

    def room(self):
        return self.model.rooms.room(self.key, self.model.now)

    def next(self, target):
        if target in self.room().admissions and self.dice.chance(0.8):
            return self.admission(target)
        if target in self.room().passes and self.dice.chance(0.6):
            return self.check(target)
        if self.room().undrawn(self.model.now) and self.dice.chance(0.5):
            return self.open(target)
        return super().next(target)

    def open(self, target):
        dice, room = self.dice, self.room()
        if dice.chance(0.15):
            return [b"ROOM.OPEN", self.name]
        random, start = dice.chance(0.2), None
        if dice.chance(0.3):
            start = self.model.now + dice.pick((-1000, 0, 1, 500, 2000, 60_000))
            random = random and (start <= self.model.now or not room.line)
        rate = b"%d" % dice.pick((1, 2, 3, 1000, 1_000_000, 1_000_001))
        inside = b"%d" % dice.pick((1, 2, 5, max(1, len(room.passes)))) if dice.chance(0.95) else (
            dice.pick(LARGEST)
        )
        return [
            b"ROOM.OPEN", self.name,
            *self.options(
                [b"RATE", rate] if dice.chance(0.5) else None,
                [b"INSIDE", inside] if dice.chance(0.4) else None,
                [b"START", b"%d" % start] if start is not None else None,
                [b"ORDER", b"random" if random else b"fifo"] if random or dice.chance(0.1) else None,
                self.maybe_duration(b"PASS", 0.4),
                [b"PAUSED"] if dice.chance(0.07) else None,
                [b"GATE"] if dice.chance(0.1) else None,
            ),
        ]

    def join(self, target):
        dice, room = self.dice, self.room()
        if room.line and room.undrawn(self.model.now):
            return self.position(target)
        user = target.encode("latin-1") if target else dice.pick(self.users)
        limit = None
        if dice.chance(0.4):
            limit = [b"MAX", b"%d" % (dice.between(1, 9) * self.scale)]
            if dice.chance(0.3):
                limit = [b"MAX", b"%d" % max(1, len(room.line) + dice.pick((0, 1)))]
        options = self.options(limit, self.maybe_duration(b"TTL", 0.6))
        return [b"ROOM.JOIN", self.name, user, *options]

    def member(self, target):
        line = self.room().line
        return self.aim(target, [entry[0] for entry in line], self.users, 0.7)

    def position(self, target):
        dice, passes = self.dice, self.room().passes
        if passes and dice.chance(0.3):
            user = dice.pick(list(passes))
            token = known(passes[user].token)
            token = token.encode("latin-1") if token and dice.chance(0.8) else self.ids.fresh()
            return [b"ROOM.POSITION", self.name, user.encode("latin-1"), b"TOKEN", token]
        return [b"ROOM.POSITION", self.name, self.member(target)]

    def leave(self, target):
        return [b"ROOM.LEAVE", self.name, self.member(target)]

    def admit(self, target):
        if self.admissions and self.dice.chance(0.3):
            return self.dice.pick(self.admissions)
        count = b"%d" % (self.dice.between(1, 4) if self.dice.chance(0.97) else MAX_INTEGER)
        lifetime = self.maybe_duration(b"PASS", 0.3)
        if lifetime is None and self.dice.chance(0.5):
            lifetime = [b"PASS", self.dice.pick((b"30", b"60s", b"90", b"2m", b"150s"))]
        if not self.dice.chance(0.3):
            return [b"ROOM.ADMIT", self.name, count, *self.options(lifetime)]
        known_ids = [command[command.index(b"ID") + 1] for command in self.admissions]
        reuse = known_ids and self.dice.chance(0.2)
        identity = [b"ID", self.dice.pick(known_ids) if reuse else self.ids.fresh()]
        command = [b"ROOM.ADMIT", self.name, count, *self.options(lifetime, identity)]
        self.admissions = self.admissions[-5:] + [command]
        return command

    def admission(self, target):
        """The command with this id again."""
        identity = target.encode("latin-1")
        found = [command for command in self.admissions if identity in command]
        return self.dice.pick(found) if found else self.tick(target)

    def tick(self, target):
        return [b"ROOM.TICK", self.name, *([b"LIMITED"] if self.dice.chance(0.3) else [])]

    def check(self, target):
        dice, room = self.dice, self.room()
        renew = [b"RENEW"] if dice.chance(0.3) else []
        if self.old_passes and dice.chance(0.15):
            user, user_pass = dice.pick(self.old_passes)
            return [b"ROOM.CHECK", self.name, user, user_pass, *renew]
        passes = room.passes
        users = [user for user, own in passes.items() if known(own.secret) is not None]
        if not users and dice.chance(0.6):
            return self.position(target)
        if not users or dice.chance(0.03):
            return [b"ROOM.CHECK", self.name, dice.pick(self.users), self.ids.fresh(), *renew]
        user = target if target in users else dice.pick(users)
        user_pass = known(passes[user].secret).encode("latin-1")
        user = user.encode("latin-1")
        if dice.chance(0.1):
            self.old_passes = self.old_passes[-7:] + [(user, user_pass)]
        if dice.chance(0.05):
            user = dice.pick(self.users)
        return [b"ROOM.CHECK", self.name, user, user_pass, *renew]

    def done(self, target):
        return [b"ROOM.DONE", self.name, self.aim(target, self.room().passes, self.users, 0.7)]

    def stats(self, target):
        return [b"ROOM.STATS", self.name]
