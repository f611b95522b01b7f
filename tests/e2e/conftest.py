# SPDX-License-Identifier: Apache-2.0
"""What the tests of the program share."""

import json

import pytest

from certificates import certificate_in
from harness import HEADER, Build, run
from server import Server


@pytest.fixture(scope="session")
def build():
    return Build()


@pytest.fixture(scope="session")
def holdfast(build):
    """holdfast(word, …, stdin=…): runs the program."""
    def call(*words, stdin=b""):
        return run(build.program, *words, stdin=stdin)
    return call


@pytest.fixture(scope="session")
def call(holdfast):
    """call(word, …): one command on an engine of its own."""
    def one(*words):
        return holdfast("call", "--engine", "embedded:", *words)
    return one


@pytest.fixture(scope="session")
def script(holdfast):
    """script(lines): commands from standard input, all on one engine; replies as JSON, in order."""
    def several(text):
        ended = holdfast("call", "--engine", "embedded:", "--json", stdin=text)
        return ended, [json.loads(line) for line in ended.lines]
    return several


@pytest.fixture(scope="session")
def header():
    return HEADER


@pytest.fixture(scope="session")
def prefix(build, tmp_path_factory):
    """Installs the build as it is under a directory of its own, and says where."""
    destination = tmp_path_factory.mktemp("install")
    ended = run("/usr/bin/meson", "install", "-C", build.path, "--destdir", destination,
                "--no-rebuild")
    assert ended.code == 0, ended
    return destination / build.options["prefix"].lstrip("/")


@pytest.fixture
def certificate(tmp_path):
    return certificate_in(tmp_path)


@pytest.fixture
def secure(certificate):
    """A server that speaks TLS on both ports."""
    cert, key = certificate
    with Server("--tls-cert", cert, "--tls-key", key, memory=True) as one:
        yield one
