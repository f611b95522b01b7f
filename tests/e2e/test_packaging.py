# SPDX-License-Identifier: Apache-2.0
"""The manual page, the completions and the unit of systemd say what the program says."""

import re
import shutil

import pytest

from harness import COMMANDS, ROOT, Build, run

BASH = ROOT / "contrib" / "completion" / "holdfast.bash"
ZSH = ROOT / "contrib" / "completion" / "_holdfast"
MANUAL = ROOT / "docs" / "man" / "holdfast.1"
UNIT = ROOT / "contrib" / "holdfast.service.in"


@pytest.fixture(scope="module")
def subcommands(holdfast):
    """All that `holdfast help` names."""
    return set(re.findall(r"(?m)^    holdfast ([\w-]+)", holdfast("help").out))


def shell_list(path, name):
    """The words of NAME='…' or NAME=(…), without the descriptions."""
    body = re.search(rf"(?ms)^{name}=['(]\n(.*?)^[')]", path.read_text()).group(1)
    return [word.split(":")[0] for word in re.findall(r"(?m)^    '([^']*)'|(\S+)", body)
            for word in word if word]


def complete(*words):
    """What bash offers for the last of the words."""
    script = (f". {BASH}; COMP_WORDS=({Build().program} \"$@\"); COMP_CWORD=$#; _holdfast; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    ended = run("bash", "-c", script, "bash", *words)
    assert ended.code == 0 and ended.err == "", ended
    return ended.lines


def test_bash_offers_the_commands_of_the_program():
    assert [word for word in complete("help", "") if not word.startswith("-")] == COMMANDS
    assert complete("call", "QUOTA.G") == ["QUOTA.GET"]


def test_zsh_offers_the_commands_of_the_program():
    line = re.search(r"(?m)^command_names=\(.*$", ZSH.read_text()).group()
    ended = run("zsh", "-fc", f"words=({Build().program}); {line}; print -l $command_names")
    assert (ended.code, ended.lines) == (0, COMMANDS)


def test_the_manual_page_has_every_family():
    section = re.search(r"(?ms)^\.SH COMMANDS$(.*?)^\.SH ", MANUAL.read_text()).group(1)
    families = dict.fromkeys(command.partition(".")[0] for command in COMMANDS)
    assert re.findall(r"(?m)^\.B ([A-Z]+)$", section) == list(families)


@pytest.mark.parametrize("path, name", [(BASH, "_holdfast_subcommands"), (ZSH, "subcommands")])
def test_completions_have_the_subcommands_of_the_help(path, name, subcommands):
    assert subcommands and subcommands <= set(shell_list(path, name))


def test_bash_offers_subcommands_commands_flags_and_values():
    assert complete("au") == ["audit", "auth"]
    assert complete("call", "SEATS.RE") == ["SEATS.RESERVE", "SEATS.RELEASE", "SEATS.REFUND"]
    assert complete("help", "seats.re") == ["seats.reserve", "seats.release", "seats.refund"]
    assert complete("serve", "--resp") == ["--resp-port"]
    assert complete("serve", "--memory", "--fsync", "") == ["always", "everysec", "no"]
    assert complete("serve", "--resp-port", "") == [""]
    assert complete("auth", "ann", "w") == ["write"]
    assert complete("journal", "v") == ["verify"]


def test_bash_completion_passes_its_linter():
    if shutil.which("shellcheck") is None:
        pytest.skip("no shellcheck")
    ended = run("shellcheck", BASH)
    assert ended.code == 0, ended


def test_the_manual_page_has_every_subcommand(subcommands):
    page = MANUAL.read_text()
    for name in subcommands:
        name = name.replace("-", "\\-")
        assert f"\n.B {name}" in page, name
        assert f"\\fBholdfast {name}" in page


def test_the_manual_page_can_be_set_without_a_complaint():
    if shutil.which("groff") is None:
        pytest.skip("no groff")
    ended = run("groff", "-man", "-Tutf8", "-ww", MANUAL)
    assert ended.code == 0 and ended.err == ""
    assert "HOLDFAST(1)" in ended.out


def test_the_unit_names_the_program_under_its_prefix(build):
    made = (build.path / "contrib/holdfast.service").read_text()
    assert f"\nExecStart={build.options['prefix']}/bin/holdfast serve\n" in made
    assert re.sub(r"(?m)^ExecStart=.*/holdfast ", "ExecStart=@bindir@/holdfast ", made) == UNIT.read_text()


def test_systemd_understands_the_unit_under_any_prefix(build, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    unit = tmp_path / "holdfast.service"
    place = tmp_path / "opt/holdfast/bin"
    place.mkdir(parents=True)
    (place / "holdfast").symlink_to(build.program)
    text = UNIT.read_text().replace("@bindir@", str(place))
    # The manual page is not installed.
    unit.write_text(re.sub("(?m)^Documentation=.*\n", "", text))
    ended = run("systemd-analyze", "verify", unit)
    assert ended.code == 0 and ended.err == "", ended
    ended = run("systemd-analyze", "security", "--offline=true", "--threshold=12", unit)
    assert ended.code == 0, ended


def test_auth_prints_a_line_and_tells_the_token_once(holdfast):
    ended = holdfast("auth", "ann", "write")
    assert ended.code == 0
    assert re.fullmatch(r"ann write sha256:[0-9a-f]{64}\n", ended.out)
    assert re.fullmatch(r"token: hf_[A-Za-z0-9_-]{43}\n", ended.err)


def test_auth_takes_a_password_from_standard_input(holdfast):
    ended = holdfast("auth", "--password", "ann", "admin", stdin="sesame\nmore\n")
    assert ended.code == 0 and ended.err == ""
    assert re.fullmatch(r"ann admin scrypt:16384:8:1:[0-9a-f]{32}:[0-9a-f]{64}\n", ended.out)
    assert "sesame" not in ended.out


@pytest.mark.parametrize("words, stdin, about", [
    ([], "", "NAME read|write|admin"),
    (["ann"], "", "NAME read|write|admin"),
    (["ann", "read", "more"], "", "NAME read|write|admin"),
    (["ann", "owner"], "", "'owner' is no role"),
    (["a:b", "read"], "", "is no name"),
    (["ann", "read", "--secret"], "", "--secret"),
    (["ann", "read", "--password"], "", "no password"),
    (["ann", "read", "--password"], "\n", "no password"),
    (["ann", "read", "--password"], "x" * 513 + "\n", "no password"),
    (["ann", "read", "--password"], "a\0b\n", "no password"),
])
def test_auth_says_what_it_does_not_understand(holdfast, words, stdin, about):
    ended = holdfast("auth", *words, stdin=stdin)
    assert ended.code == 2 and ended.out == ""
    assert about in ended.err and len(ended.err.splitlines()) == 1
