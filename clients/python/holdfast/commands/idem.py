# SPDX-License-Identifier: Apache-2.0
"""Idempotency: doing a request once.

Made from the command table by `make clients`; do not edit.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..values import Command, Duration, Family, Words, duration, option


class IdemBeginReply(NamedTuple):
    """The answer to IDEM.BEGIN. [1, "NEW"]: carry it out. [0, "PROCESSING"]: somebody is at it;
    HTTP answers 409. [2, "COMPLETED", response]: the stored answer.
    """

    state: str
    response: bytes = b""


_BEGIN: Command[IdemBeginReply] = Command(
    "IDEM.BEGIN", "lead", IdemBeginReply, figures="IN_PROGRESS")
_COMPLETE: Command[int] = Command("IDEM.COMPLETE", "number", int)
_ABORT: Command[int] = Command("IDEM.ABORT", "number", int)


class Idem(Family):
    """Idempotency: doing a request once."""

    def begin(
            self, key: str, fingerprint: str, *, ttl: Optional[Duration] = None) -> IdemBeginReply:
        """May this request be carried out, or was it before?.

        key: the key of the request, of the client's choice
        fingerprint: what tells this request from another, such as a hash of it
        ttl: how long it may be processed before somebody else may begin it
        Raises: InProgress, KeyReused, InvalidTtl, InvalidId
        """
        words: Words = [key, fingerprint]
        words += option("TTL", duration(ttl))
        return self._execute(_BEGIN, words, again=False)

    def complete(self, key: str, response: bytes, *, ttl: Optional[Duration] = None) -> int:
        """The answer to a request, for whoever asks again.

        key: the key of the request
        response: the answer to keep
        ttl: how long it is kept
        Raises: InvalidTtl, InvalidId, PayloadTooLarge
        """
        words: Words = [key, response]
        words += option("TTL", duration(ttl))
        return self._execute(_COMPLETE, words, again=True)

    def abort(self, key: str) -> int:
        """A request was not carried out after all; the next BEGIN is new.

        key: the key of the request
        Raises: InvalidId
        """
        words: Words = [key]
        return self._execute(_ABORT, words, again=False)
