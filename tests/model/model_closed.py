# SPDX-License-Identifier: Apache-2.0
"""The memory of closed holds that makes a retry of the closing command safe."""

RETRY_WINDOW_MS = 300_000


class ClosedHolds:
    """The closed holds of one family, the oldest first."""

    def __init__(self):
        self.holds = {}  # (scope, id) -> (closed at, hold)

    def remember(self, now, scope, hold_id, hold):
        self.holds.pop((scope, hold_id), None)
        self.holds[scope, hold_id] = (now, hold)

    def find(self, now, scope, hold_id):
        """The hold if it was closed less than the retry window ago, else None."""
        entry = self.holds.get((scope, hold_id))
        if entry is None:
            return None
        closed_at, hold = entry
        if now >= closed_at + RETRY_WINDOW_MS:
            del self.holds[scope, hold_id]
            return None
        return hold

    def forget(self, scope, hold_id):
        """The id is in use again: what it once was is of no interest any more."""
        self.holds.pop((scope, hold_id), None)

    def forget_scope(self, scope):
        """The scope is closed: nothing of it is remembered."""
        for key in [key for key in self.holds if key[0] == scope]:
            del self.holds[key]

    def deadlines(self, now, scope):
        """When the holds of one scope fall out of the window."""
        due = []
        for (hold_scope, hold_id), (closed_at, _) in reversed(self.holds.items()):
            if now >= closed_at + RETRY_WINDOW_MS or len(due) == 8:
                break
            if hold_scope == scope:
                due.append((closed_at + RETRY_WINDOW_MS, hold_id))
        return due
