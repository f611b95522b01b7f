# SPDX-License-Identifier: Apache-2.0
"""The clients have every command and every error of the table, with its arguments and its reply."""

import json
import re
import shutil
import subprocess

import pytest

from harness import COMMANDS, HEADER, ROOT, run

CLIENTS = ROOT / "clients"


def test_what_is_made_from_the_table_is_what_the_table_says(build):
    ended = run(ROOT / "tools/make-clients", "--check", build.path)
    assert ended.code == 0, ended.out


def named_in(folder, pattern):
    """The names of commands in the sources of a client."""
    text = "".join(path.read_text() for path in sorted((CLIENTS / folder).glob(pattern)))
    return set(re.findall(r'"([A-Z]+(?:\.[A-Z]+)?)", "(?:lead|list|number|fields|pairs|page)"', text))


@pytest.mark.parametrize("folder, pattern", [
    ("python/holdfast/commands", "*.py"), ("typescript/src/commands", "*.ts"), ("go", "*.go")])
def test_a_client_has_every_command(folder, pattern):
    assert named_in(folder, pattern) == set(COMMANDS)


@pytest.mark.parametrize("path", [
    "python/holdfast/errors.py", "typescript/src/errors.ts", "go/errors.go"])
def test_a_client_has_every_error(build, path):
    rows = subprocess.run([build.path / "tests/conformance/conformance_rows", "errors"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()
    text = (CLIENTS / path).read_text()
    missing = [code for code in (json.loads(row)["code"] for row in rows) if f'"{code}"' not in text]
    assert rows and missing == []


def test_the_versions_of_the_clients_are_the_servers(header_version):
    assert f'"{header_version}"' in (CLIENTS / "python/holdfast/_version.py").read_text()
    assert json.loads((CLIENTS / "typescript/package.json").read_text())["version"] == header_version


@pytest.fixture
def header_version():
    return re.search(r'#define HF_VERSION "(.*)"', HEADER).group(1)


def test_go_sources_are_laid_out_as_gofmt_wants_them():
    if not shutil.which("gofmt"):
        pytest.skip("there is no gofmt")
    ended = run("gofmt", "-l", CLIENTS / "go")
    assert (ended.code, ended.out) == (0, ""), ended
