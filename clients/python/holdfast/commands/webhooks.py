# SPDX-License-Identifier: Apache-2.0
"""Webhooks that were sent or given up.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Family, Words, option


class WebhooksReplayReply(NamedTuple):
    """The answer to WEBHOOKS.REPLAY. How many are pending again. Without SINCE and KEY only those
    that were given up.
    """

    replayed: int


_REPLAY: Command[WebhooksReplayReply] = Command("WEBHOOKS.REPLAY", "lead", WebhooksReplayReply)


class Webhooks(Family):
    """Webhooks that were sent or given up."""

    def replay(
            self, *, key: Optional[str] = None, type: Optional[str] = None,
            since: Optional[int] = None) -> WebhooksReplayReply:
        """Send webhooks again that were given up, or that were delivered.

        key: of this booking or order; not given: of all
        type: of this type, such as booking.confirmed; not given: of all
        since: written since then, in milliseconds since 1970
        Raises: LedgerDown, Timeout, InvalidQuantity, InvalidId
        """
        words: Words = []
        words += option("KEY", key)
        words += option("TYPE", type)
        words += option("SINCE", since)
        return self._execute(_REPLAY, words, again=False)
