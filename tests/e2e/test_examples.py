# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/ do what they and the README say."""

import json
import os
import re
import subprocess

import pytest

from harness import ROOT, run
from server import Server, wait_until

EXAMPLES = ROOT / "examples"
CODE = "[0-9A-HJKMNP-TV-Z]{10}"  # Crockford's base 32


def test_every_example_is_run_here():
    tested = {"flash_sale.c", "lease.c", "seats.c", "semaphore.c", "seats.sh", "seats.py",
              "upload_quota.py"}
    sources = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".c", ".py", ".sh")}
    assert sources == tested


@pytest.mark.parametrize("source", sorted(EXAMPLES.glob("*.c")), ids=lambda path: path.name)
def test_examples_in_c_use_nothing_but_the_public_header(source):
    assert re.findall(r'#include ["<](.*/.*|holdfast.*)[">]', source.read_text()) == ["holdfast.h"]


def test_seats_in_c(build):
    ended = run(build.path / "examples" / "seats")
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(
        "ann holds two seats, 2 left\n"
        "ann asks again with the same booking id: still 2 left\n"
        "bob holds two seats, 0 left\n"
        "cy is refused: 0 seats available, 2 requested\n"
        f"ann has paid: CONFIRMED, code {CODE}\n"
        "bob's hold has lapsed\n"
        "cy holds two seats, 0 left\n"
        r"capacity 4 = available 0 \+ reserved 2 \+ confirmed 2" "\n"
        "audit: 0 findings\n", ended.out)


def test_semaphore_in_c(build):
    ended = run(build.path / "examples" / "semaphore")
    assert (ended.code, ended.err) == (0, "")
    first = int(re.search(r"with fences (\d+)", ended.lines[0])[1])
    assert ended.lines == [
        f"both slots are taken, with fences {first} and {first + 1}",
        "5 workers stand in line",
        *(f"worker-{i} was let in with fence {first + 1 + i}" for i in range(1, 6)),
        f"a late write with fence {first} is turned away",
        "slots still in use: 0"]


@pytest.mark.parametrize("where", ["process", "server"])
def test_lease_in_c(build, where):
    if where == "process":
        ended = run(build.path / "examples" / "lease")
    else:
        with Server(memory=True, program=build.program) as server:
            ended = run(build.path / "examples" / "lease", server.url)
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"in, with fence \d+", ended.lines[0])
    assert ended.lines[1:3] == ["5 of 5 steps done, and the slot is still held",
                               "the write is taken"]
    told = sorted(ended.lines[3:5])  # by two threads
    assert re.fullmatch("[0-4] of 5 steps done, and the slot is lost", told[0])
    assert told[1] == "the slot is lost: the engine says that the slot is not held"
    assert ended.lines[5:] == ["the late write is turned away", "releasing it says NOT_FOUND"]


def test_flash_sale_in_c(build, tmp_path):
    for _ in range(2):  # the ledger is there the second time
        ended = run(build.path / "examples" / "flash_sale", f"sqlite:{tmp_path}/ledger.db")
        assert (ended.code, ended.err) == (0, "")
        assert re.fullmatch(
            "100 sold, 300 sold out, 0 otherwise\n"
            r"order of (buyer-\d+): sold" "\n"
            r"order of \1: returned" "\n"
            "the pair that came back is sold; whoever comes now: SOLD_OUT\n"
            "engine and ledger differ by 0\n", ended.out)


def test_seats_in_shell(build):
    ended = run("sh", EXAMPLES / "seats.sh", env={"HOLDFAST": str(build.program)})
    assert (ended.code, ended.err) == (0, "")
    *replies, last = ended.lines
    opened, reserved, refused, confirmed, zone = map(json.loads, replies)
    assert opened == {"available": 2, "capacity": 2}
    assert reserved == {"remaining": 0, "user_reserved": 2, "expires_at": reserved["expires_at"]}
    assert refused == {"error": {"code": "INSUFFICIENT_STOCK",
                                 "message": "0 seats available, 1 requested"}}
    assert confirmed["status"] == "CONFIRMED"
    assert re.fullmatch(CODE, confirmed["confirmation_code"])
    assert zone == {"capacity": 2, "available": 0, "reserved": 0, "confirmed": 2}
    assert last == "bob was refused, as he had to be"


def test_seats_in_python(build):
    env = {"HOLDFAST_LIBRARY": str(build.library), "PYTHONDONTWRITEBYTECODE": "1"}
    if build.sanitized:
        # The interpreter knows nothing of AddressSanitizer, which has to come first, and leaks.
        runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE,
                                 check=True, text=True).stdout.strip()
        if not os.path.isabs(runtime):
            pytest.skip("the compiler's AddressSanitizer cannot be loaded ahead of the interpreter")
        env["LD_PRELOAD"] = runtime
        env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    ended = run("/usr/bin/python3", EXAMPLES / "seats.py", env=env)
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(
        "ann holds two seats, 0 left\n"
        "bob is refused: INSUFFICIENT_STOCK: 0 seats available, 1 requested\n"
        f"ann has paid: CONFIRMED, code {CODE}\n"
        r"\{'capacity': 2, 'available': 0, 'reserved': 0, 'confirmed': 2\}" "\n", ended.out)


def test_upload_quota_in_python(holdfast, tmp_path):
    """And a sync from the table it wrote finds nothing to change."""
    files = tmp_path / "files.db"
    with Server("--quota-sync-db", f"sqlite:{files}", "--quota-sync-at", "never",
                memory=True) as server:
        ended = run("/usr/bin/python3", EXAMPLES / "upload_quota.py",
                    f"http://127.0.0.1:{server.http_port}", files)
        assert (ended.code, ended.err) == (0, "")
        assert ended.lines == [
            "photo: 400 reserved, PUT https://store.example/acme/photo",
            "photo: 350 stored, 350 of 1000 used",
            "film: refused, 350 used of 1000, 700 requested",
            "song: 500 reserved, PUT https://store.example/acme/song",
            "song: cancelled, the client went away",
            "book: 600 reserved, PUT https://store.example/acme/book",
            "book: 600 stored, 950 of 1000 used",
            "the table has 950, the quota 950"]
        wait_until(lambda: holdfast("sync-quotas", "--dry-run", "--url", server.url).code == 0)
        ended = holdfast("sync-quotas", "--url", server.url)
        assert ended.code == 0 and "the engine agrees with the database" in ended.out
        assert server.call("QUOTA.GET", "acme") == [950, 1000, 0]
