# SPDX-License-Identifier: Apache-2.0
"""The client: connections by redis-py, one attempt at a command, and when it is repeated."""

from __future__ import annotations

import copy
import inspect
import os
import random
import time
from typing import Any, Callable, Dict, Optional, Sequence
from urllib.parse import urlsplit, urlunsplit

import redis
import redis.exceptions

from .commands import AllCommands
from .errors import BY_CODE, HoldfastError, OutcomeUnknown, Refused, Unavailable
from .values import Command, Duration, R, Words, error_of, seconds

DEFAULT_URL = "holdfast://127.0.0.1:4653"
DEFAULT_PORT = 4653
SCHEMES = {"holdfast": "redis", "holdfast+tls": "rediss"}
BACKOFF_FIRST_S, BACKOFF_MOST_S = 0.02, 1.0

# Codes that redis-py turns into exceptions of its own, without the code in their text.
KNOWN_ERRORS = (
    (redis.exceptions.BusyLoadingError, "LOADING"),
    (redis.exceptions.ReadOnlyError, "READONLY"),
    (redis.exceptions.NoPermissionError, "FORBIDDEN"),
    (redis.exceptions.AuthenticationError, "UNAUTHORIZED"),
)


class Client(AllCommands):
    """A client of one server, for any number of threads.

        with Client("holdfast://127.0.0.1:4653") as client:
            client.seats.open("gala", "floor", 500)
            held = client.seats.reserve("gala", "floor", "b-1", "ann", 2, 4, ttl="5m")

    timeout      seconds for an answer, besides what a command itself waits for
    retry_for    seconds for which a command is repeated where that is safe; 0: never
    """

    def __init__(self, url: Optional[str] = None, *, timeout: float = 5.0, retry_for: float = 10.0,
                 **connection: Any) -> None:
        super().__init__()
        self.timeout, self.retry_for = timeout, retry_for
        url = url or os.environ.get("HOLDFAST_URL") or DEFAULT_URL
        settings: Dict[str, Any] = {
            "socket_timeout": timeout, "socket_connect_timeout": timeout, **connection}
        self._pool = redis.ConnectionPool.from_url(redis_url(url), **settings)
        # Older versions of redis-py want a word here that newer ones warn of.
        wanted = inspect.signature(self._pool.get_connection).parameters["command_name"]
        self._hint = ["_"] if wanted.default is inspect.Parameter.empty else []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Leases that are still held are left to their deadlines."""
        self._pool.disconnect()

    def within(self, limit: float) -> Client:
        """The same client on the same connections, with so many seconds for a command in all."""
        made = copy.copy(self)
        AllCommands.__init__(made)
        made.timeout, made.retry_for = limit, 0.0
        return made

    # ---- carrying out a command

    def _execute(self, command: Command[R], words: Words, again: bool,
                 wait: Optional[Duration] = None) -> R:
        """The answer, after repeating the command where that is safe: when nothing has changed, any
        command; when it is not known whether it happened, one that `again` says has an id.
        """
        wait_s = seconds(wait) if wait is not None else 0.0
        start = time.monotonic()
        give_up = start + wait_s + self.retry_for
        pause = BACKOFF_FIRST_S
        while True:
            waiting: Words = []
            left_s = max(0.0, start + wait_s - time.monotonic())
            if wait is not None:
                waiting = ["WAIT", f"{round(left_s * 1000)}ms"]
            try:
                return self.attempt(command, [*words, *waiting], self.timeout + left_s)
            except HoldfastError as error:
                pause = min(pause * 2, BACKOFF_MOST_S)
                pause_s = pause * random.uniform(0.5, 1.0)
                if not may_repeat(error, again) or time.monotonic() + pause_s > give_up:
                    raise
            time.sleep(pause_s)

    def attempt(self, command: Command[R], words: Sequence[object], timeout: float) -> R:
        """Sends a command once, and reads its answer."""
        try:
            connection = self._pool.get_connection(*self._hint)
        except redis.exceptions.RedisError as error:
            raise translated(error, Unavailable) from error
        try:
            answer = self._exchange(connection, [command.name, *words], timeout)
        finally:
            self._pool.release(connection)
        return command.read(answer)

    def _exchange(self, connection: Any, words: Sequence[object], timeout: float) -> Any:
        packed = connection.pack_command(*words)
        try:
            connection.send_packed_command(packed, check_health=False)
        except redis.exceptions.RedisError as error:
            connection.disconnect()
            raise translated(error, OutcomeUnknown) from error
        try:
            if not connection.can_read(timeout=timeout):
                raise redis.exceptions.TimeoutError(f"no answer within {timeout:.1f} s")
            return connection.read_response()
        except redis.exceptions.ResponseError as error:
            raise translated(error, OutcomeUnknown) from error
        except redis.exceptions.RedisError as error:
            connection.disconnect()
            raise translated(error, OutcomeUnknown) from error
        except BaseException:  # an interrupt: the answer that is still to come is nobody's
            connection.disconnect()
            raise


def may_repeat(error: HoldfastError, again: bool) -> bool:
    return error.nothing_changed or (again and error.retryable and not isinstance(error, Refused))


def translated(error: Exception, otherwise: Callable[[str], HoldfastError]) -> HoldfastError:
    """An exception of redis-py as one of ours."""
    for kind, code in KNOWN_ERRORS:
        if isinstance(error, kind):
            return error_of(code, str(error))
    if isinstance(error, redis.exceptions.ResponseError):
        code, _, message = str(error).partition(" ")
        if code == "TIMEOUT":  # of the engine or the ledger: it may have happened
            return OutcomeUnknown(message)
        return error_of(code, message) if code in BY_CODE else error_of("ERR", str(error))
    return otherwise(str(error))


def redis_url(url: str) -> str:
    """holdfast://token@host:port and the like, as redis-py takes it."""
    parts = urlsplit(url)
    scheme = SCHEMES.get(parts.scheme)
    if scheme is None or not parts.hostname:
        raise ValueError("a server's URL is holdfast://[user:password@|token@]host[:port], "
                         "or holdfast+tls://")
    login, at, _ = parts.netloc.rpartition("@")
    if at and ":" not in login:
        login = f":{login}"  # a token has no user
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    where = f"{login}{at}{host}:{parts.port or DEFAULT_PORT}"
    return urlunsplit((scheme, where, "", parts.query, ""))
