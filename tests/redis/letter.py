# SPDX-License-Identifier: Apache-2.0
"""The scripts of the build, called as a program calls that had those of the field: by EVALSHA, with
its keys and its arguments and nothing more. Each name is tried plain and with the scope as the hash
tag, with and without a namespace in front."""

import pytest
import redis

from harness import Build

LAYOUTS = {"plain": "{}", "tagged": "{{{}}}"}
NAMESPACES = ["", "shop:"]
EVERY_NAME = pytest.mark.parametrize(
    "named", [(space, form) for space in NAMESPACES for form in LAYOUTS.values()],
    ids=[f"{space}{layout}" for space in NAMESPACES for layout in LAYOUTS])


class Scripts:
    """name(keys, arguments), as the script of that name answers."""

    def __init__(self, client):
        self.client = client
        self.shas = {}

    def __getattr__(self, name):
        if name not in self.shas:
            self.shas[name] = self.client.script_load(
                (Build().path / "lua" / f"{name}.lua").read_text())
        return lambda keys, arguments=(): self.client.evalsha(
            self.shas[name], len(keys), *keys, *arguments)


def dump(client):
    """All that is stored, each key as Redis itself would write it to its file."""
    return {key: client.dump(key) for key in client.keys()}


def refused(client, call, *words):
    """Asserts that a call is an error that has each of the words, and has changed nothing."""
    before = dump(client)
    with pytest.raises(redis.ResponseError) as error:
        call()
    assert all(word in str(error.value) for word in words), error.value
    assert dump(client) == before
