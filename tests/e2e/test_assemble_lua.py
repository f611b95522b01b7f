# SPDX-License-Identifier: Apache-2.0
"""tools/assemble-lua, of which the build is to be able to trust that it ends with a script that
Redis can load and that agrees with C, or not at all."""

import pytest

from harness import ROOT, run

HEADER = '''
#define SECOND ((int64_t)1000)
#define WINDOW_MS (300 * SECOND) /* five minutes */
#define SIZE (UINT32_C(1) << 4)
#define NAME "text"
#define HF_ERROR_MAP(X)   \\
    X(GONE, 404, "it's gone") \\
    X(LATE, 408, "late")
'''
SCRIPT = "-- SPDX-License-Identifier: Apache-2.0\n-- What it does.\n-- uses: {uses}\n\n{body}\n"


@pytest.fixture
def sources(tmp_path):
    """A folder to put scripts in; a header and two parts are there."""
    (tmp_path / "limits.h").write_text(HEADER)
    folder = tmp_path / "lua"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "clock.lua").write_text("local function now() return limits.SECOND end\n")
    (folder / "family" / "internal").mkdir(parents=True)
    return folder


def put(folder, name, body, uses=""):
    (folder / name).write_text(SCRIPT.format(uses=uses, body=body))


def assemble(folder, *more):
    out = folder.parent / "out"
    return run(ROOT / "tools/assemble-lua", "--header", folder.parent / "limits.h",
               "--parts", folder / "parts", "--to", out, "--c", folder.parent / "scripts.c",
               folder, *more)


def assembled(folder, name):
    return (folder.parent / "out" / f"{name}.lua").read_text()


def test_numbers_come_from_the_header(sources):
    put(sources, "family/wait.lua", "-- at most limits.SIZE\nreturn limits.WINDOW_MS", "clock")
    ended = assemble(sources)
    assert ended.code == 0, ended
    text = assembled(sources, "wait")
    assert "return 300000" in text and "-- at most 16" in text and "return 1000 end" in text
    table = (sources.parent / "scripts.c").read_text()
    assert '_Static_assert(WINDOW_MS == 300000, ' in table and "NAME" not in table


def test_texts_of_errors_come_from_the_header(sources):
    put(sources, "family/find.lua", "return {0, 'GONE', errors.GONE}")
    assert assemble(sources).code == 0
    assert r"return {0, 'GONE', 'it\'s gone'}" in assembled(sources, "find")


@pytest.mark.parametrize("name", ["limits.WINDOW", "limits.NAME", "limits.HF_ERROR_MAP",
                                  "errors.WINDOW_MS", "errors.EARLY"])
def test_a_name_that_no_header_has_ends_the_build(sources, name):
    put(sources, "family/wait.lua", f"return {name}")
    ended = assemble(sources)
    assert ended.code == 1 and f"family/wait.lua: {name}: " in ended.err
    assert not (sources.parent / "scripts.c").exists()


def test_internal_scripts_are_found(sources):
    put(sources, "family/take.lua", "return 1")
    put(sources, "family/internal/sweep.lua", "return 2")
    listed = run(ROOT / "tools/assemble-lua", "--list", sources)
    assert (listed.code, listed.out.split()) == (0, ["sweep", "take"])


def test_a_build_that_is_configured_for_other_scripts_ends(sources):
    put(sources, "family/take.lua", "return 1")
    put(sources, "family/give.lua", "return 1")
    assert assemble(sources, "--expect", "give", "take").code == 0
    ended = assemble(sources, "--expect", "take", "gone")
    assert ended.code == 1
    assert "assemble-lua: give, gone: added or removed since" in ended.err


def test_two_scripts_of_one_name_are_refused(sources):
    put(sources, "family/take.lua", "return 1")
    put(sources, "family/internal/take.lua", "return 2")
    ended = assemble(sources)
    assert ended.code == 1 and "have the same name" in ended.err


def test_a_part_that_is_not_there_is_refused(sources):
    put(sources, "family/take.lua", "return 1", "clock seats")
    ended = assemble(sources)
    assert ended.code == 1 and "no part 'seats'" in ended.err
