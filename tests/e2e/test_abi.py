# SPDX-License-Identifier: Apache-2.0
"""A program that was linked with the library of this soname still runs with it: what it depends on
is in abi.txt, and none of it changes. docs/platforms.md has the policy."""

import re

import pytest

from harness import HEADER, ROOT, Build, run

RECORD = ROOT / "tests/e2e/abi.txt"


@pytest.fixture(scope="module")
def facts():
    ended = run(ROOT / "tools/abi", Build().path)
    assert ended.code == 0, ended
    return ended.out.splitlines()


def test_nothing_a_program_depends_on_has_changed(facts):
    gone = sorted(set(RECORD.read_text().splitlines()) - set(facts))
    assert gone == [], "docs/platforms.md says what that means, and what to do"


def test_exactly_what_the_header_declares_is_exported(facts):
    declared = re.findall(r"(?m)^HF_API [^;(]*?(\w+)\(", HEADER)
    exported = [fact.split()[1] for fact in facts if fact.startswith("symbol ")]
    assert exported == sorted(declared)


def test_the_facts_are_of_every_struct(facts):
    defined = re.findall(r"(?m)^struct (\w+) \{", HEADER)
    assert [fact.split()[1] for fact in facts if fact.startswith("struct ")] == defined
