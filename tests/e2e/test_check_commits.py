# SPDX-License-Identifier: Apache-2.0
"""tools/check-commits finds messages that CONTRIBUTING does not want, and lets the others be."""

import subprocess

import pytest

from harness import ROOT

BODY = "\n\nIt was wrong.\n"


@pytest.fixture
def check(tmp_path):
    """Commits a message on top of an empty history, and checks that commit."""
    def git(*words, **more):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path,
                       check=True, stdout=subprocess.DEVNULL, **more)

    def checked(message):
        git("init", "-q")
        git("commit", "-q", "--allow-empty", "-m", "Begin" + BODY)
        git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", input=message,
            text=True)
        return subprocess.run([ROOT / "tools/check-commits", "HEAD^.."], cwd=tmp_path,
                              stdout=subprocess.PIPE, text=True)
    return checked


@pytest.mark.parametrize("message", [
    "Keep the line in order" + BODY,
    "Bring the figures up to date" + BODY,
    "x".upper() * 72 + BODY,
])
def test_a_message_as_it_should_be(check, message):
    ended = check(message)
    assert (ended.returncode, ended.stdout) == (0, "1 commits checked\n")


@pytest.mark.parametrize("message, fault", [
    ("X" * 73 + BODY, "has 73 columns"),
    ("keep the line in order" + BODY, "capital letter"),
    ("Keep the line in order." + BODY, "full stop"),
    ("Added a line" + BODY, "not in the imperative"),
    ("Adding a line" + BODY, "not in the imperative"),
    ("Keep the line in order\n", "no body"),
    ("Keep the line in order\nIt was wrong.\n", "no blank line"),
    ("Keep the line in order\n\n" + "y" * 101 + "\n", "a line of the body"),
])
def test_a_message_that_is_not(check, message, fault):
    ended = check(message)
    assert ended.returncode == 1 and fault in ended.stdout
