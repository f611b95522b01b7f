# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts in place can be built against, and shows nothing but its own names."""

import os
import re

import pytest

from harness import HEADER, INCLUDE, ROOT, run

PROGRAM = r"""
#include <holdfast.h>
#include <stdio.h>

int main(void)
{
    hf_handle *hf;
    struct hf_seats_open_args open = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = 500};
    struct hf_seats_open_reply got;

    if (hf_open("embedded:", &hf) != HF_OK || hf_seats_open(hf, &open, &got) != HF_OK) {
        return fprintf(stderr, "%s\n", hf_last_message()), 1;
    }
    printf("%s %lld\n", hf_version(), (long long)got.available);
    hf_close(hf);
    return 0;
}
"""


@pytest.fixture
def compile_with(build, prefix, tmp_path):
    """Compiles PROGRAM as pkg-config says; gives the path of the program."""
    if build.sanitized:
        pytest.skip("a program compiled elsewhere cannot use a library built with AddressSanitizer")

    def compiled(static=False):
        destination = str(prefix)[:-len(build.options["prefix"])]
        wanted = ["--cflags", "--libs", *(["--static"] if static else [])]
        said = run("pkg-config", *wanted, "holdfast",
                   env={"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
                        "PKG_CONFIG_SYSROOT_DIR": destination,
                        "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"})
        assert said.code == 0, said
        words = [("-l:libholdfast.a" if static and word == "-lholdfast" else word)
                 for word in said.out.split()]
        source, program = tmp_path / "program.c", tmp_path / "program"
        source.write_text(PROGRAM)
        ended = run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source,
                    *words, "-o", program)
        assert ended.code == 0, ended
        return program
    return compiled


def version(header):
    return re.search(r'#define HF_VERSION "(.*)"', header).group(1)


def test_everything_is_in_its_place(prefix, header):
    installed = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    assert installed == {
        "bin/holdfast", *[f"include/{path.relative_to(INCLUDE)}" for path in INCLUDE.rglob("*.h")],
        "lib/pkgconfig/holdfast.pc", "lib/libholdfast.a",
        "lib/libholdfast.so", "lib/libholdfast.so.0", f"lib/libholdfast.so.{version(header)}",
        "lib/systemd/system/holdfast.service", "share/man/man1/holdfast.1",
        "share/bash-completion/completions/holdfast", "share/zsh/site-functions/_holdfast",
        "share/holdfast/holdfast.json", "share/holdfast/holdfast.rules.yml",
        "share/doc/holdfast/README.md", "share/doc/holdfast/CHANGELOG.md",
        *[f"share/doc/holdfast/{page.relative_to(ROOT)}" for page in (ROOT / "docs").rglob("*")
          if page.is_file() and not {"man", "decisions"} & set(page.parts)],
        *[f"share/holdfast/lua/{script.name}" for script in (ROOT / "lua").glob("**/*.lua")
          if script.parent.name != "parts"]}


def test_an_installed_script_is_complete(prefix):
    text = (prefix / "share/holdfast/lua/reserve_seats.lua").read_text()
    assert text.startswith("-- SPDX") and "-- uses:" not in text
    assert "local told_ms" in text and "('TIME')" in text


def test_the_installed_program_runs(prefix, header):
    ended = run(prefix / "bin" / "holdfast", "version")
    assert (ended.code, ended.out) == (0, f"holdfast {version(header)}\n")


def test_pkg_config_knows_the_version(prefix, header):
    ended = run("pkg-config", "--modversion", prefix / "lib/pkgconfig/holdfast.pc")
    assert (ended.code, ended.out.strip()) == (0, version(header))


@pytest.mark.parametrize("compiler", [["cc", "-x", "c", "-std=c11"],
                                      ["clang-14", "-x", "c++", "-std=c++11"]])
def test_every_header_stands_alone(prefix, compiler):
    """In C and in C++; and holdfast.h has them all."""
    headers = sorted((prefix / "include").rglob("*.h"))
    ended = run(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-function",
                "-fsyntax-only", f"-I{prefix / 'include'}", *headers)
    assert (ended.code, ended.err) == (0, "")
    assert all(path.read_text() in HEADER for path in headers if path.parent.name == "holdfast")


def test_a_program_with_the_shared_library(compile_with, prefix, header):
    program = compile_with()
    ended = run(program, env={"LD_LIBRARY_PATH": str(prefix / "lib")})
    assert (ended.code, ended.out, ended.err) == (0, f"{version(header)} 500\n", "")
    assert "libholdfast.so.0" in run("readelf", "-d", program).out


def test_a_program_with_the_static_library(compile_with, header):
    """The clients of the databases stay shared: there is no static libpq that could be linked."""
    program = compile_with(static=True)
    ended = run(program)
    assert (ended.code, ended.out, ended.err) == (0, f"{version(header)} 500\n", "")
    assert "libholdfast" not in run("readelf", "-d", program).out


@pytest.mark.parametrize("library, dynamic", [("libholdfast.so", ["-D"]), ("libholdfast.a", [])])
def test_the_library_shows_what_the_header_declares_and_no_more(prefix, header, library, dynamic):
    path = os.path.realpath(prefix / "lib" / library)
    ended = run("nm", *dynamic, "-g", "--defined-only", path)
    assert ended.code == 0
    symbols = [line.split() for line in ended.lines if len(line.split()) == 3]
    exported = {name.split("@")[0] for _, _, name in symbols}
    declared = set(re.findall(r"(?m)^HF_API [^;]*?\b(hf_\w+)\(", header))
    assert exported == declared
    assert all(name.startswith("hf_") for name in exported)
