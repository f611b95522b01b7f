# SPDX-License-Identifier: Apache-2.0
"""The command table as the clients need it."""

import json
import re
import subprocess
import textwrap

# Families by the first word of a command, with what their files say they are for.
FAMILIES = {
    "SEATS": "Seats: holds with a deadline, in zones of an event.",
    "QUOTA": "Quota: usage under a limit, reserved before it is known.",
    "SEM": "Semaphores: N slots at a time, first come first served.",
    "LOCK": "Locks: one holder, unlocked only with its own id.",
    "STOCK": "Stock: a flash sale, and purchases that the ledger guards.",
    "SAGA": "Checkouts that are in flight or have ended.",
    "WEBHOOKS": "Webhooks that were sent or given up.",
    "ROOM": "Waiting rooms: places in line, passes, admission.",
    "IDEM": "Idempotency: doing a request once.",
    "": "Commands that belong to no family.",
}

# What a row says of an argument that makes its command safe to repeat.
RETRY_ID = "the same again for a retry"

# Writes that answer again what they answered, or say so if there is nothing more to do: repeated by
# the clients, too, when it is not known whether they arrived. A write that is neither here nor has an
# argument of RETRY_ID is sent once.
ANSWERS_AGAIN = {
    "SEATS.CONFIRM", "SEATS.RELEASE", "SEATS.REFUND", "SEATS.EXTEND", "SEATS.CLOSE",
    "QUOTA.COMMIT", "QUOTA.CANCEL", "QUOTA.EXTEND", "QUOTA.CLOSE",
    "SEM.CONFIRM", "SEM.RELEASE", "SEM.PING", "LOCK.UNLOCK", "LOCK.EXTEND",
    "STOCK.SETTLE", "STOCK.GIVE", "STOCK.EXTEND", "STOCK.RETURN", "STOCK.CLOSE",
    "SAGA.RESUME", "SAGA.REFUND", "ROOM.LEAVE", "ROOM.DONE", "IDEM.COMPLETE",
}

# Errors after which nothing has changed and the same may well succeed soon: any command is repeated.
NOTHING_CHANGED = {"BUSY", "LOADING", "RATE_LIMITED"}


class Argument:
    def __init__(self, spec):
        self.keyword = spec["keyword"]  # None: positional and required
        self.name = spec["keyword"].lower() if spec["keyword"] else spec["name"]
        # id, count, amount, ms, choice, text, blob or flag
        self.type = spec["type"]
        self.choices = (spec["choices"] or "").split("|") if spec["choices"] else []
        self.meaning = spec["meaning"]
        self.zero_counts = spec["zero_counts"]
        self.is_wait = self.keyword == "WAIT"
        self.is_retry_id = RETRY_ID in self.meaning

    @property
    def is_number(self):
        return self.type in ("count", "amount")


class Command:
    def __init__(self, spec):
        self.name = spec["name"]
        self.family, _, self.verb = self.name.rpartition(".")
        self.help, self.note = spec["help"], spec["note"]
        self.arguments = [Argument(one) for one in spec["args"]]
        self.shape = spec["shape"]  # lead, list, number, fields, pairs or page
        self.fields = [(name, "bytes" if name in spec["blobs"] else "text" if is_text else "number")
                       for name, is_text in spec["fields"] + spec["late_fields"]]
        self.certain = len(spec["fields"])  # one behind them is not always there
        self.nil, self.figures = spec["nil"], spec["figures"]
        self.refusals = spec["refusals"]
        self.writes = spec["writes"]

    @property
    def words(self):
        """["seats", "reserve"]; ["list"]."""
        return self.name.lower().split(".")

    @property
    def required(self):
        return [argument for argument in self.arguments if argument.keyword is None]

    @property
    def optional(self):
        return [argument for argument in self.arguments if argument.keyword is not None]

    @property
    def wait(self):
        return next((argument for argument in self.arguments if argument.is_wait), None)

    @property
    def names_only(self):
        """Does a page of it have plain names as items?"""
        return self.shape == "page" and len(self.fields) == 1

    @property
    def repeats(self):
        """True, False, or the optional argument with which it may be repeated."""
        if not self.writes or self.name in ANSWERS_AGAIN:
            return True
        if any(argument.is_retry_id for argument in self.required):
            return True
        return next((argument for argument in self.optional if argument.is_retry_id), False)


class Error:
    def __init__(self, spec):
        self.code, self.text, self.status = spec["code"], spec["text"], spec["status"]
        self.is_refusal, self.retry_s = spec["refusal"], spec["retry_s"]
        self.nothing_changed = self.code in NOTHING_CHANGED

    @property
    def class_name(self):
        return camel(self.code.lower())


class Table:
    def __init__(self, build):
        program = build.resolve() / "tests/conformance/conformance_rows"
        self.commands = [Command(row) for row in rows_of(program)]
        self.errors = [Error(row) for row in rows_of(program, "errors")]
        unknown = {command.family for command in self.commands} - set(FAMILIES)
        assert not unknown, f"say in tools/clients/table.py what {unknown} is for"
        names = {command.name for command in self.commands}
        assert ANSWERS_AGAIN <= names, f"no longer commands: {ANSWERS_AGAIN - names}"

    def families(self):
        """Each family with its commands, in the order of FAMILIES; the last is that of no family."""
        for family in FAMILIES:
            members = [command for command in self.commands if command.family == family]
            if members:
                yield family, members


def rows_of(program, *words):
    done = subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def camel(words):
    """max_per_user -> MaxPerUser"""
    return "".join(word.capitalize() for word in re.split(r"[_.]", words))


def lower_camel(words):
    """max_per_user -> maxPerUser"""
    made = camel(words)
    return made[:1].lower() + made[1:]


def sentence(text):
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def wrapped(text, indent, width=100):
    """The lines of a text, each behind `indent`."""
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)
