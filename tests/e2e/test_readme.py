# SPDX-License-Identifier: Apache-2.0
"""What the README shows is there: its examples are lines of the real ones, its links lead on."""

import re
import xml.etree.ElementTree as ET

import pytest

from harness import COMMANDS, ROOT

README = (ROOT / "README.md").read_text()
# A link to an example, then the code shortened from it.
SHOWN = re.findall(r"\[(examples/[\w.]+)\]\([^)]*\)[^\n]*\n\n```\w+\n(.*?)```", README, re.DOTALL)
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_three_languages_are_shown():
    assert [name for name, _ in SHOWN] == ["examples/seats.c", "examples/seats.sh",
                                           "examples/seats.py"]


@pytest.mark.parametrize("name, shown", SHOWN, ids=[name for name, _ in SHOWN])
def test_what_is_shown_are_lines_of_the_example_in_their_order(name, shown):
    real = iter([line.strip() for line in (ROOT / name).read_text().splitlines()])
    for line in shown.splitlines():
        if line.strip():
            assert line.strip() in real, f"not in {name}, or not in this order: {line}"


def test_the_commands_it_names_exist():
    families = "|".join({command.partition(".")[0] for command in COMMANDS})
    named = set(re.findall(rf"\b(?:{families})\.[A-Z]+\b", README))
    assert named and named <= set(COMMANDS)


def test_the_make_targets_it_names_exist():
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text()))
    named = set(re.findall(r"(?:`|^)make ([a-z]+)", README, re.MULTILINE))
    assert named and named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").glob("*.svg")),
                         ids=lambda path: path.name)
def test_the_pictures_can_be_read(picture):
    assert ET.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"
