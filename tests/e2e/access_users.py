# SPDX-License-Identifier: Apache-2.0
"""A file of users who are kept to something, and what the tests of that share."""

import hashlib
import secrets
import signal

from raw_client import Client, Error
from server import wait_until

READ_AGAIN = "users and certificate were read again"


class Users:
    """The file. add("ann", "write", "scopes=shop:*"): another line of it."""

    def __init__(self, directory):
        self.path, self.tokens, self.lines = directory / "users", {}, {}

    def add(self, name, role, *words):
        """A user, or what it is from now on; its token stays."""
        token = self.tokens.setdefault(name, secrets.token_hex(16))
        hashed = hashlib.sha256(token.encode()).hexdigest()
        self.lines[name] = " ".join([name, role, f"sha256:{hashed}", *words])
        return self.write()

    def remove(self, name):
        del self.lines[name]
        return self.write()

    def write(self):
        self.path.write_text("".join(f"{line}\n" for line in self.lines.values()))
        self.path.chmod(0o600)
        return self

    def headers(self, name):
        return [f"Authorization: Bearer {self.tokens[name]}"]

    def connect(self, server, name):
        client = Client(server.resp_port)
        assert client.call("AUTH", self.tokens[name]) == "OK"
        return client


def reload(server):
    """Has the server read its users, and waits until it has."""
    before = server.said().count(READ_AGAIN)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.said().count(READ_AGAIN) > before)


def is_forbidden(answer):
    """Of RESP."""
    return isinstance(answer, Error) and answer.code == "NOPERM"
