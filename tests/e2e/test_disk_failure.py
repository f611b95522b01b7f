# SPDX-License-Identifier: Apache-2.0
"""A disk that fails under the program: it says so once, acknowledges nothing more, and ends with an
exit code of its own; the next start has all that was acknowledged."""

import shutil

import pytest

from harness import Build, run

EXIT_DISK = 3
LIMITS = range(1, 9)

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


def with_failing(call, error, when, directory):
    """The program sets limits 1 to 8, one after the other, and the call fails at last."""
    commands = "".join(f"QUOTA.LIMIT acme {limit}\n" for limit in LIMITS)
    return run(
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
        "-e", f"inject={call}:error={error}:when={when}+", "-E", "ASAN_OPTIONS=detect_leaks=0",
        Build().program, "call", "--json", "--engine", f"embedded:{directory}",
        stdin=commands)


@pytest.mark.parametrize("call, error", [("fdatasync", "EIO"), ("pwrite64", "ENOSPC")])
def test_the_first_failure_is_the_end(call, error, tmp_path):
    directory = tmp_path / "data"
    ended = with_failing(call, error, 4, directory)
    assert ended.code == EXIT_DISK
    assert ended.err.count("nothing more is acknowledged") == 1
    acknowledged = [line for line in ended.lines if line.startswith('{"used"')]
    assert 0 < len(acknowledged) < len(LIMITS)
    assert len(ended.lines) == len(acknowledged) + 1
    assert '"code":"IOERR"' in ended.lines[-1]

    after = run(Build().program, "call", "--engine", f"embedded:{directory}", "QUOTA.GET", "acme")
    assert after.code == 0
    limit = int(after.lines[1].split()[-1])
    assert limit in (len(acknowledged), len(acknowledged) + 1)
