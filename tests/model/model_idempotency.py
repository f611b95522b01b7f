# SPDX-License-Identifier: Apache-2.0
"""Idempotency keys: one request at a time, then its stored response."""

from model_arguments import ID, RESPONSE, TTL, Command

PROCESSING_MS = 60_000
COMPLETED_MS = 24 * 3600 * 1000


class Entry:
    def __init__(self, fingerprint, expires_at):
        self.fingerprint = fingerprint
        self.response = None  # until completed
        self.expires_at = expires_at


class Idempotency:
    def __init__(self):
        self.keys = {}

    def commands(self):
        return {
            b"IDEM.BEGIN": Command(self.begin, (ID, ID), ttl=TTL),
            b"IDEM.COMPLETE": Command(self.complete, (ID, RESPONSE), ttl=TTL),
            b"IDEM.ABORT": Command(self.abort, (ID,)),
        }

    def entry(self, key, now):
        entry = self.keys.get(key)
        if entry and entry.expires_at <= now:
            del self.keys[key]
            return None
        return entry

    def begin(self, now, key, fingerprint, ttl=PROCESSING_MS):
        entry = self.entry(key, now)
        if entry is None:
            self.keys[key] = Entry(fingerprint, now + ttl)
            return [1, "NEW"]
        if entry.fingerprint != fingerprint:
            return [0, "KEY_REUSED"]
        if entry.response is None:
            return [0, "PROCESSING"]
        return [2, "COMPLETED", entry.response]

    def complete(self, now, key, response, ttl=COMPLETED_MS):
        entry = self.entry(key, now)
        if entry is None:
            return 0
        if entry.response is not None:
            return 1 if entry.response == response else 0
        entry.response = response
        entry.expires_at = now + ttl
        return 1

    def abort(self, now, key):
        entry = self.entry(key, now)
        if entry is None or entry.response is not None:
            return 0
        del self.keys[key]
        return 1

    def deadlines(self, now, key):
        entry = self.entry(key, now)
        return [(entry.expires_at, key)] if entry else []
