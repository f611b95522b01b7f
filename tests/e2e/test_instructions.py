# SPDX-License-Identifier: Apache-2.0
"""No command takes more instructions than bench/instructions.txt says, without that file saying so."""

import sys

import pytest

from harness import ROOT, run

sys.path.append(str(ROOT / "bench"))

import instructions  # noqa: E402

CONDITIONS = {"machine": "x86_64", "compiler": "GCC: (Debian 12.2.0-14) 12.2.0",
              "options": instructions.OPTIONS}


def test_no_command_takes_more_instructions_than_recorded(build):
    ended = run(ROOT / "bench" / "instructions.py", "--build", build.path, "--check")
    if ended.code == instructions.SKIPPED:
        pytest.skip(ended.out.strip())
    assert ended.code == 0, f"{ended.out}\n{ended.err}"


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """recorded(figure): all commands take so many instructions, under the same conditions as now."""
    def write(figure, names=tuple(load.name for load in instructions.LOADS)):
        instructions.record(None, {name: figure for name in names})

    monkeypatch.setattr(instructions, "RECORDED", tmp_path / "instructions.txt")
    monkeypatch.setattr(instructions, "conditions", lambda build: dict(CONDITIONS))
    return write


@pytest.fixture
def counted(monkeypatch):
    """counted(figure): so many instructions are counted now."""
    def set_figure(figure):
        monkeypatch.setattr(instructions, "count", lambda build, loads: {
            load.name: figure for load in loads})
    return set_figure


@pytest.mark.parametrize("figure, code, said", [
    (1000, 0, ""),
    (1029, 0, ""),
    (1031, 1, "SEATS.ZONE takes 1,031 instructions, 1,000 are recorded"),
    (899, 0, "SEATS.ZONE takes 89.9% of what is recorded"),
])
def test_three_percent_more_is_too_much(recorded, counted, capsys, figure, code, said):
    recorded(1000)
    counted(figure)
    assert instructions.check(None) == code
    printed = capsys.readouterr().out
    assert said in printed
    assert ("takes" in printed) == bool(said)


def test_a_command_that_is_not_recorded(recorded, counted, capsys):
    recorded(1000, ["SEATS.ZONE"])
    counted(1000)
    assert instructions.check(None) == 1
    assert "SEATS.CONFIRM is not recorded" in capsys.readouterr().out


def test_under_other_conditions_nothing_is_compared(recorded, counted, monkeypatch, capsys):
    recorded(1000)
    counted(2000)
    monkeypatch.setattr(instructions, "conditions", lambda build: {
        **CONDITIONS, "compiler": "GCC: 13.2.0"})
    assert instructions.check(None) == instructions.SKIPPED
    assert ("not compared: compiler is 'GCC: 13.2.0', recorded 'GCC: (Debian 12.2.0-14) 12.2.0'"
            in capsys.readouterr().out)


def test_a_build_that_the_tests_do_not_have_is_not_recorded(recorded, monkeypatch):
    monkeypatch.setattr(instructions, "conditions", lambda build: {
        **CONDITIONS, "options": "buildtype=debug"})
    with pytest.raises(SystemExit, match="not recorded: built with buildtype=debug"):
        recorded(1000)
    assert not instructions.RECORDED.exists()
