# SPDX-License-Identifier: Apache-2.0
"""holdfast help, holdfast version, and what is not understood."""

import re

import pytest

from harness import COMMANDS, ROOT

NOT_UNDERSTOOD = 2


def test_no_command_is_documented_twice():
    assert len(COMMANDS) == len(set(COMMANDS)) > 0


def test_help_lists_every_command_with_a_line_about_it(holdfast):
    ended = holdfast("help")
    assert ended.code == 0 and ended.err == ""
    listed = re.findall(r"(?m)^    ([A-Z]+\.[A-Z]+|LIST|RECONCILE) +(\S.*)$", ended.out)
    assert [name for name, _ in listed] == COMMANDS


@pytest.mark.parametrize("subcommand", ["demo", "call", "bench", "exec", "help", "version"])
def test_help_names_every_subcommand(holdfast, subcommand):
    assert f"    holdfast {subcommand}" in holdfast("help").out


SUBCOMMANDS = ["audit", "auth", "backup", "bench", "call", "demo", "exec", "help", "journal",
               "load", "restore", "serve", "sync-quotas", "top", "version"]


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_every_subcommand_has_help(holdfast, subcommand):
    ended = holdfast("help", subcommand)
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines[0].startswith(f"holdfast {subcommand}")
    for flag in ("--help", "-h"):
        assert holdfast(subcommand, flag).out == ended.out


@pytest.mark.parametrize("words", [
    ["journal", "dump", "--help"], ["top", "--once", "--help"], ["-h"], ["serve", "-h"]])
def test_help_is_found_behind_other_words(holdfast, words):
    ended = holdfast(*words)
    assert (ended.code, ended.err) == (0, "") and "holdfast" in ended.lines[0] + ended.lines[2]


@pytest.mark.parametrize("words, hint", [
    (["serv"], "did you mean serve?"),
    (["jurnal", "dump"], "did you mean journal?"),
    (["help", "SEATS.RESRVE"], "did you mean SEATS.RESERVE?"),
    (["help", "tpo"], "did you mean top?"),
    (["call", "--jsn", "SEM.CARD", "a"], "did you mean --json?"),
    (["top", "--intervall", "1s"], "did you mean --interval?"),
    (["exec", "--lokc", "a", "--", "true"], "did you mean --lock?"),
    (["serve", "--resp-prot", "0"], "did you mean --resp-port?"),
    (["call", "--url"], "--url needs a value"),
    (["call", "--json=yes"], "--json=yes takes no value"),
])
def test_a_mistyped_word_gets_a_hint(holdfast, words, hint):
    ended = holdfast(*words)
    assert ended.code == NOT_UNDERSTOOD and hint in ended.err


def test_help_as_a_flag(holdfast):
    assert holdfast("--help").out == holdfast("help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_on_a_command(holdfast, command):
    ended = holdfast("help", command)
    assert ended.code == 0 and ended.err == ""
    usage = ended.lines[0]
    assert usage.split()[0] == command
    arguments = re.search(r"(?s)\nArguments\n(.*?)\n\n", ended.out).group(1).splitlines()
    documented = [line.split()[0] for line in arguments if line[4] != " "]
    assert documented == re.sub(r"\[(\w+)[^]]*\]", r"\1", usage).split()[1:]
    for part in ("Reply", "Refusals", "Example"):
        assert f"\n{part}\n    " in ended.out
    assert f"holdfast call {command}" in ended.out


def test_help_takes_a_command_in_any_case(holdfast):
    assert holdfast("help", "seats.Open").out == holdfast("help", "SEATS.OPEN").out


@pytest.mark.parametrize("flag", ["version", "--version"])
def test_version_is_the_headers(holdfast, header, flag):
    version = re.search(r'#define HF_VERSION "(.*)"', header).group(1)
    ended = holdfast(flag)
    assert (ended.code, ended.out, ended.err) == (0, f"holdfast {version}\n", "")


@pytest.mark.parametrize("words, about", [
    (["serv"], "unknown subcommand 'serv'"),
    (["--verbose"], "'--verbose'"),
    (["SEATS.ZONE", "gala", "floor"], "unknown subcommand 'SEATS.ZONE'"),
    (["help", "SEATS.SHUT"], "unknown command 'SEATS.SHUT'"),
    (["help", "--html"], "'--html'"),
    (["demo", "500"], "'500'"),
    (["call", "--fast", "SEATS.ZONE", "gala", "floor"], "--fast"),
    (["call", "--engine"], "--engine"),
    (["call", "--url"], "--url"),
    (["call", "--url", "holdfast://:0", "SEATS.ZONE", "gala", "floor"], "host or port"),
    (["call", "--engine", "postgres:", "SEATS.ZONE", "gala", "floor"], '"postgres"'),
    (["call", "--engine", "embedded", "SEATS.ZONE", "gala", "floor"], "embedded"),
    (["call", "--engine", "embedded:", *["word"] * 65], "64 words"),
    (["bench", "--fast"], "--fast"),
    (["bench", "now"], "'now'"),
    (["bench", "--engine", "postgres:"], '"postgres"'),
    (["bench", "--load", "all"], "--load all"),
    (["bench", "--seconds", "0"], "--seconds 0"),
    (["bench", "--seconds", "3601"], "--seconds 3601"),
    (["bench", "--seconds", "soon"], "--seconds soon"),
    (["bench", "--threads", "0"], "--threads 0"),
    (["bench", "--threads", "257"], "--threads 257"),
], ids=" ".join)
def test_what_is_not_understood(holdfast, words, about):
    ended = holdfast(*words)
    assert ended.code == NOT_UNDERSTOOD
    assert ended.out == ""
    assert about in ended.err and len(ended.err.splitlines()) == 1


def test_without_a_word_it_says_where_help_is_and_fails(holdfast):
    ended = holdfast()
    assert ended.code == NOT_UNDERSTOOD
    assert ended.out == ""
    assert "holdfast help" in ended.err


def test_the_reference_page_is_what_the_program_says(holdfast):
    ended = holdfast("help", "--markdown")
    assert ended.code == 0
    page = ROOT / "docs" / "commands.md"
    assert page.exists(), "`make docs` writes it"
    assert page.read_text() == ended.out, "`make docs` brings it up to date"
    assert re.findall(r"(?m)^### (\S+)$", ended.out) == COMMANDS
