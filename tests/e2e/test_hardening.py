# SPDX-License-Identifier: Apache-2.0
"""What is installed was built with every defence that compiler and linker offer: a fault that a
stranger finds should end the program, not hand it over."""

import os
import platform
import re

import pytest

from harness import run


@pytest.fixture(scope="module", params=["bin/holdfast", "lib/libholdfast.so"])
def installed(request, build, prefix):
    if build.sanitized:
        pytest.skip("the sanitizers have their own")
    return os.path.realpath(prefix / request.param)


def shown(path, *flags):
    ended = run("readelf", "-W", *flags, path)
    assert ended.code == 0, ended
    return ended.out


def imported(path):
    """The names of the functions that it takes from others, as of libc."""
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", "-u", path).lines}


def segment(path, kind):
    return re.search(rf"(?m)^ +{kind} .*? (R?W?E?|[RWE ]+) +0x[0-9a-f]+$", shown(path, "-l"))


def test_it_can_be_loaded_anywhere(installed):
    assert "DYN (" in shown(installed, "-h")


def test_the_program_says_that_it_is_position_independent(installed):
    assert ("Flags: NOW PIE" in shown(installed, "-d")) == installed.endswith("holdfast")


def test_everything_is_bound_at_the_start_and_read_only_from_then_on(installed):
    assert "BIND_NOW" in shown(installed, "-d") or "Flags: NOW" in shown(installed, "-d")
    assert "GNU_RELRO" in shown(installed, "-l")


def test_no_page_is_writable_and_executable(installed):
    stack = segment(installed, "GNU_STACK")
    assert stack is not None and "E" not in stack[1]
    rights = re.findall(r"(?m)^ +LOAD .* ([R ][W ][E ]) +0x[0-9a-f]+$", shown(installed, "-l"))
    assert len(rights) >= 4, "code has pages of its own"
    assert not [right for right in rights if "E" in right and "W" in right]


def test_a_stack_that_overflows_is_noticed(installed):
    assert "__stack_chk_fail" in imported(installed)


def test_calls_that_could_write_too_far_are_checked(installed):
    checked = {name for name in imported(installed) if name.endswith("_chk")}
    assert {"__snprintf_chk", "__memcpy_chk"} <= checked, checked


GUARDS = {"x86_64": "endbr64", "aarch64": r"(bti|paciasp)"}


@pytest.mark.skipif(platform.machine() not in GUARDS, reason="this processor has no such guard")
def test_jumps_land_where_a_function_begins(installed):
    """The file is marked as a whole only where the C library is, so the code itself is looked at."""
    function = "hf_version" if ".so" in installed else "main"
    ended = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", installed)
    first = re.search(rf"<{function}>:\n[^\t]*\t(\S+)", ended.out)
    assert first and re.match(GUARDS[platform.machine()], first[1]), ended


def test_libraries_are_found_where_the_system_has_them_alone(installed):
    assert not re.search(r"\((RPATH|RUNPATH)\)", shown(installed, "-d"))


def test_large_frames_touch_every_page(installed, build):
    """Of -fstack-clash-protection nothing is left to be read in the file: the compiler was asked for it."""
    if "gcc" not in (build.path / "meson-logs" / "meson-log.txt").read_text():
        pytest.skip("clang before 11 has none")
    assert "-fstack-clash-protection" in (build.path / "compile_commands.json").read_text()
