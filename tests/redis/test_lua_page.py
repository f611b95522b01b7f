# SPDX-License-Identifier: Apache-2.0
"""docs/lua.md keeps its word: its lines, pasted from the top to the bottom on an empty Redis, get
the replies it shows, and no script is missing."""

import re

import pytest

from harness import ROOT, Build
from pasted_lines import Shell, pattern, steps
from servers import RedisServer

PAGE = (ROOT / "docs/lua.md").read_text()
STEPS = steps(PAGE)
SCRIPTS = sorted(path.name for path in (ROOT / "lua").glob("**/*.lua")
                 if path.parent.name != "parts")


@pytest.fixture
def server():
    with RedisServer() as server:
        yield server


@pytest.fixture
def shell(server):
    return Shell(server)


def test_every_line_gets_the_reply_it_shows(shell):
    for lines, reply in STEPS:
        shown = shell.paste(lines)
        assert re.fullmatch(pattern(reply), shown), f"{lines}\n{shown}\nnot\n{reply}"


def test_the_example_in_python_works(server, shell, monkeypatch):
    [example] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    shell.paste(STEPS[0][0])  # the zone it reserves in
    monkeypatch.chdir(shell.folder)
    names = {"client": server.client()}
    exec(example, names)
    assert names["reply"][:3] == [1, 38, 2] and names["reply"][4] == b"reserved"


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_on_the_page_with_a_line(name):
    assert re.search(rf"(?m)^(###|\|) .*\b{re.escape(name)}\b", PAGE), "no place of its own"
    assert any(f"build/lua/{name} " in lines for lines, _ in STEPS), "no line to paste"


def test_every_script_on_the_page_exists():
    assert set(re.findall(r"\b(\w+\.lua)\b", PAGE)) - {"shard.lua"} == set(SCRIPTS)
    assert sorted(path.name for path in (Build().path / "lua").glob("*.lua")) == SCRIPTS
