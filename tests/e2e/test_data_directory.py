# SPDX-License-Identifier: Apache-2.0
"""What is done to a data directory: journal verify and dump, audit, backup, restore."""

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading

import pytest

from harness import TIMEOUT_S, run

DONE, REFUSED, MALFORMED = 0, 1, 2
SEGMENT = "journal-00000000000000000001"
HEADER = 32  # of a segment, and of a record
COMMANDS = [
    'SEATS.OPEN gala floor 500',
    'SEATS.RESERVE gala floor b-1 ann 2 4 TTL 90500ms LIFETIME',
    'SEATS.RESERVE gala floor 0190a0c0-0000-7000-8000-000000000001 bob 1 4 TTL 3600',
    'QUOTA.LIMIT acme 1000',
    'QUOTA.RESERVE acme 5 HOLD h-1 TTL 7200',
    'STOCK.LOAD shoe 50 SHARDS 4 POLICY steal',
    'IDEM.BEGIN request-1 "f\\"1\\\\"',
    'IDEM.COMPLETE request-1 "{\\"a\\": \\"\\\\\\\\\\"}"',
    'SEM.ACQUIRE printers p-1 2 WAIT 50',
]
READS = ['SEATS.ZONE gala floor', 'SEATS.GET gala b-1', 'SEATS.USER gala ann', 'QUOTA.GET acme',
         'STOCK.GET shoe', 'SEM.CARD printers', COMMANDS[6]]


def checksums(directory):
    return {path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
            for path in directory.iterdir()}


def script(holdfast, directory, lines, policy="always"):
    ended = holdfast("call", "--engine", f"embedded:{directory}?fsync={policy}", "--json",
                     stdin="\n".join(lines))
    assert ended.err == "", ended
    assert ended.code == DONE, ended
    return [json.loads(line) for line in ended.lines]


class Writer:
    """A process that owns a directory, and answers one command at a time."""

    def __init__(self, program, directory):
        self.process = subprocess.Popen(
            [str(program), "call", "--engine", f"embedded:{directory}", "--json"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(timeout=TIMEOUT_S) == DONE
        self.process.stdout.close()


@pytest.fixture
def data(holdfast, tmp_path):
    """A small directory, left in order."""
    directory = tmp_path / "data"
    script(holdfast, directory, COMMANDS)
    return directory


@pytest.fixture
def writer(build, tmp_path):
    """writer(line) on a directory that is in use as long as the test runs."""
    with Writer(build.program, tmp_path / "data") as talk:
        assert talk(COMMANDS[0]) == {"available": 500, "capacity": 500}
        yield talk


@pytest.fixture(scope="module")
def grown(holdfast, tmp_path_factory):
    """A directory that has grown enough to get a snapshot and several segments."""
    directory = tmp_path_factory.mktemp("grown") / "data"
    answer = "x" * (1 << 20)
    lines = list(COMMANDS[:6])
    for i in range(300):
        lines += [f"IDEM.BEGIN k-{i} f", f"IDEM.COMPLETE k-{i} {answer} TTL 10ms"]
    script(holdfast, directory, lines, policy="no")
    names = sorted(path.name for path in directory.iterdir())
    assert sum(name.startswith("snapshot-0") for name in names) == 1, names
    return directory


def records(directory):
    """Where each record of the first segment begins, and where the last one ends."""
    content = (directory / SEGMENT).read_bytes()
    at, found = HEADER, []
    while at + 8 <= len(content) and (length := int.from_bytes(content[at:at + 4], "little")):
        found.append(at)
        at += 8 + length
    return found, at


def typed(lines):
    """What was typed, of the lines of a dump: not the records of starts and of time alone."""
    words = [line.split(" ", 2)[2] for line in lines]
    assert words[0].startswith("# start ")
    return [line for line in words if not line.startswith("#")]


def tear(directory):
    """Leaves all but the last 3 bytes of the last record; how many bytes of it are left."""
    found, end = records(directory)
    os.truncate(directory / SEGMENT, end - 3)
    return end - 3 - found[-1]


def damage(directory, which=1):
    """Flips a bit within a record that is not the last; its offset."""
    found, _ = records(directory)
    with open(directory / SEGMENT, "r+b") as file:
        file.seek(found[which] + HEADER + 4)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    return found[which]


# ---- verify ------------------------------------------------------------------------------------


def test_verify_of_a_directory_in_order(holdfast, data):
    before = checksums(data)
    ended = holdfast("journal", "verify", data)
    assert (ended.code, ended.err) == (DONE, "")
    found, end = records(data)
    assert ended.lines == [f"{SEGMENT}   records 1-{len(found)}  {end} bytes  ok",
                           f"1 file: {data} would start"]
    assert checksums(data) == before


def test_verify_of_a_directory_without_a_record(holdfast, tmp_path):
    script(holdfast, tmp_path / "data", ["SEM.CARD printers"])
    os.truncate(tmp_path / "data" / SEGMENT, HEADER)
    ended = holdfast("journal", "verify", tmp_path / "data")
    assert ended.code == DONE
    assert ended.lines[0] == f"{SEGMENT}   no records  {HEADER} bytes  ok"


def test_verify_while_the_directory_is_in_use(holdfast, tmp_path, writer):
    for i in range(5):
        writer(f"SEATS.RESERVE gala floor b-{i} ann 1 10")
        ended = holdfast("journal", "verify", tmp_path / "data")
        assert (ended.code, ended.err) == (DONE, "")
        assert f"records 1-{i + 3} " in ended.lines[0]
    assert writer("SEATS.ZONE gala floor")["reserved"] == 5


def test_verify_of_a_torn_tail(holdfast, data):
    whole = len(records(data)[0])
    left = tear(data)
    before = checksums(data)
    ended = holdfast("journal", "verify", data)
    assert (ended.code, ended.err) == (DONE, "")
    assert ended.lines[0].startswith(f"{SEGMENT}   records 1-{whole - 1} ")
    assert ended.lines[0].endswith(f"  torn tail of {left} bytes")
    assert checksums(data) == before
    started = holdfast("call", "--engine", f"embedded:{data}", "--json", "QUOTA.GET", "acme")
    assert started.code == DONE and json.loads(started.out)["used"] == 5
    assert f"{SEGMENT}: a tail of {left} bytes " in started.err


def test_verify_of_damage(holdfast, data):
    offset = damage(data)
    before = checksums(data)
    ended = holdfast("journal", "verify", data)
    assert ended.code == REFUSED
    assert ended.lines == [f"{SEGMENT}   records 1-1  {offset} bytes  damaged at byte {offset}"]
    assert f"{data} would not start: {SEGMENT} at byte {offset}: " in ended.err
    assert len(ended.err.splitlines()) == 1
    assert checksums(data) == before
    assert holdfast("call", "--engine", f"embedded:{data}", "SEM.CARD x").code == MALFORMED


def test_verify_of_a_missing_segment(holdfast, grown, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(grown, copy)
    next(copy.glob("snapshot-0*")).unlink()
    ended = holdfast("journal", "verify", copy)
    assert ended.code == REFUSED
    assert "the journal before this segment is missing" in ended.err


def test_verify_reads_snapshots_too(holdfast, grown):
    ended = holdfast("journal", "verify", grown)
    assert (ended.code, ended.err) == (DONE, "")
    assert re.fullmatch(r"snapshot-\d{20}  state after record \d+  \d+ bytes  ok", ended.lines[0])
    assert all(line.endswith("  ok") for line in ended.lines[:-1])


def test_verify_of_a_damaged_snapshot(holdfast, grown, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(grown, copy)
    snapshot = next(copy.glob("snapshot-0*"))
    content = bytearray(snapshot.read_bytes())
    content[len(content) // 2] ^= 1
    snapshot.write_bytes(content)
    ended = holdfast("journal", "verify", copy)
    assert ended.code == REFUSED
    assert ended.lines[0].startswith(snapshot.name) and "damaged at byte 0" in ended.lines[0]
    assert snapshot.name in ended.err


# ---- dump --------------------------------------------------------------------------------------


def test_dump_shows_each_command_as_it_was_typed(holdfast, data):
    before = checksums(data)
    ended = holdfast("journal", "dump", data)
    assert (ended.code, ended.err) == (DONE, "")
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    for number, line in enumerate(ended.lines, start=1):
        sequence, when, _ = line.split(" ", 2)
        assert int(sequence) == number and re.fullmatch(time, when)
    assert typed(ended.lines) == COMMANDS
    assert checksums(data) == before


def test_what_was_dumped_can_be_typed_again(holdfast, data, tmp_path):
    words = [line.split(" ", 2)[2] for line in holdfast("journal", "dump", data).lines]
    script(holdfast, tmp_path / "again", words)
    assert typed(holdfast("journal", "dump", tmp_path / "again").lines) == COMMANDS


def test_dump_leaves_defaults_out(holdfast, tmp_path):
    script(holdfast, tmp_path, ["STOCK.LOAD shoe 5 SHARDS 1 WATERMARK 0 POLICY merge"])
    assert typed(holdfast("journal", "dump", tmp_path).lines) == ["STOCK.LOAD shoe 5"]


def test_dump_escapes_what_is_not_text(build, holdfast, tmp_path):
    engine = f"embedded:{tmp_path}"
    holdfast("call", "--engine", engine, "IDEM.BEGIN", "k", "f")
    run(build.program, "call", "--engine", engine, "IDEM.COMPLETE", "k",
        b"\xff\x1b[2J \xc2\x9b\xc3\xa9")
    assert typed(holdfast("journal", "dump", tmp_path).lines)[1] == (
        r'IDEM.COMPLETE k "\xff\x1b[2J \xc2\x9bé"')
    lines = [json.loads(line) for line in holdfast("journal", "dump", tmp_path, "--json").lines]
    last = [line for line in lines if "command" in line][-1]
    assert last["arguments"] == {"key": "k", "response_hex": "ff1b5b324a20c29bc3a9"}


def test_dump_from_a_record_on(holdfast, data):
    everything = holdfast("journal", "dump", data).lines
    assert holdfast("journal", "dump", data, "--from", "7").lines == everything[6:]
    assert holdfast("journal", "dump", "--from=9", data).lines == everything[8:]
    behind = str(len(everything) + 1)
    assert holdfast("journal", "dump", data, "--from", behind).out == ""


def test_dump_as_json(holdfast, data):
    lines = [json.loads(line) for line in holdfast("journal", "dump", "--json", data).lines]
    assert [line["sequence"] for line in lines] == list(range(1, len(lines) + 1))
    assert lines[0].keys() == {"sequence", "time", "record", "boot", "offset_ms", "fence"}
    assert lines[0]["record"] == "start"
    lines = [line for line in lines if "command" in line]
    assert [line["command"] for line in lines] == [words.split()[0] for words in COMMANDS]
    assert lines[1]["arguments"] == {
        "event": "gala", "zone_id": "floor", "booking_id": "b-1", "user_id": "ann", "quantity": 2,
        "max_per_user": 4, "ttl_seconds": "90500ms", "lifetime": True}
    assert lines[2]["arguments"]["ttl_seconds"] == 3600
    assert lines[7]["arguments"]["response"] == '{"a": "\\\\"}'


def test_dump_while_the_directory_is_in_use(holdfast, tmp_path, writer):
    writer("QUOTA.LIMIT acme 7")
    assert holdfast("journal", "dump", tmp_path / "data").lines[-1].endswith(" QUOTA.LIMIT acme 7")
    writer("QUOTA.LIMIT acme 8")
    assert holdfast("journal", "dump", tmp_path / "data").lines[-1].endswith(" QUOTA.LIMIT acme 8")


def test_dump_ends_at_a_torn_tail(holdfast, data):
    whole = len(records(data)[0])
    tear(data)
    ended = holdfast("journal", "dump", data)
    assert (ended.code, ended.err, len(ended.lines)) == (DONE, "", whole - 1)


def test_dump_shows_what_is_before_the_damage(holdfast, data):
    offset = damage(data, which=3)
    ended = holdfast("journal", "dump", data)
    assert (ended.code, len(ended.lines)) == (REFUSED, 3)
    assert f"{SEGMENT} at byte {offset}: damaged" in ended.err


# ---- audit -------------------------------------------------------------------------------------


def test_audit(holdfast, data):
    before = checksums(data)
    ended = holdfast("audit", data)
    assert (ended.code, ended.err) == (DONE, "")
    figures = dict(re.findall(r"(?m)^  (live holds|waiting|findings) +(\d+)", ended.out))
    assert figures == {"live holds": "4", "waiting": "0", "findings": "0"}
    assert checksums(data) == before


def test_audit_while_the_directory_is_in_use(holdfast, tmp_path, writer):
    writer("LOCK.TRY seat-1 1h")
    ended = holdfast("audit", tmp_path / "data")
    assert (ended.code, ended.err) == (DONE, "")
    assert re.search(r"live holds +1 ", ended.out)


def test_audit_of_a_snapshot(holdfast, grown):
    ended = holdfast("audit", grown)
    assert ended.code == DONE and re.search(r"findings +0 ", ended.out)


def test_audit_of_a_damaged_directory(holdfast, data):
    offset = damage(data)
    ended = holdfast("audit", data)
    assert (ended.code, ended.out) == (MALFORMED, "")
    assert f"{SEGMENT} at byte {offset}: " in ended.err


# ---- backup and restore ------------------------------------------------------------------------


def test_backup_and_restore(holdfast, data, tmp_path):
    before = checksums(data)
    ended = holdfast("backup", data, tmp_path / "backup")
    assert (ended.code, ended.err) == (DONE, "")
    assert f"up to record {len(records(data)[0])}; 1 file, " in ended.out and ended.out.endswith(", verified\n")
    assert checksums(data) == before
    assert os.listdir(tmp_path / "backup") == [SEGMENT]
    kept = checksums(tmp_path / "backup")
    assert holdfast("restore", tmp_path / "backup", tmp_path / "restored").code == DONE
    assert checksums(tmp_path / "backup") == kept
    assert sorted(os.listdir(tmp_path)) == ["backup", "data", "restored"]
    assert script(holdfast, tmp_path / "restored", READS) == script(holdfast, data, READS)


def test_a_directory_with_a_snapshot(holdfast, grown, tmp_path):
    before = checksums(grown)
    ended = holdfast("backup", grown, tmp_path / "backup")
    assert ended.code == DONE and "with the snapshot of record" in ended.out
    assert checksums(grown) == before
    assert holdfast("restore", tmp_path / "backup", tmp_path / "restored").code == DONE
    shutil.copytree(grown, tmp_path / "original")
    assert (script(holdfast, tmp_path / "restored", READS[:6])
            == script(holdfast, tmp_path / "original", READS[:6]))


def test_a_destination_that_is_there_and_empty(holdfast, data, tmp_path):
    for name in ("backup", "restored"):
        (tmp_path / name).mkdir(mode=0o700)
    assert holdfast("backup", data, tmp_path / "backup").code == DONE
    assert holdfast("restore", f"{tmp_path}/backup/", f"{tmp_path}/restored/").code == DONE
    assert not (tmp_path / "restored" / "partial").exists()
    assert (tmp_path / "restored").stat().st_mode & 0o777 == 0o700
    assert script(holdfast, tmp_path / "restored", READS) == script(holdfast, data, READS)


def test_backup_of_a_torn_directory_is_whole(holdfast, data, tmp_path):
    tear(data)
    assert holdfast("backup", data, tmp_path / "backup").code == DONE
    assert holdfast("journal", "verify", tmp_path / "backup").lines[0].endswith("  ok")


def test_backups_while_a_writer_is_at_work(build, holdfast, tmp_path):
    """Each has all that was acknowledged before it began, and a prefix of the rest."""
    enough = threading.Event()
    acknowledged = [1]

    with Writer(build.program, tmp_path / "data") as write:
        write("SEATS.OPEN gala floor 1000000")

        def work():
            while not enough.is_set():
                number = acknowledged[0] + 1
                write(f"SEATS.RESERVE gala floor b-{number} ann 1 1000000 TTL 24h")
                acknowledged[0] = number

        work_begun = write("SEATS.RESERVE gala floor b-1 ann 1 1000000 TTL 24h")
        assert work_begun["user_reserved"] == acknowledged[0]
        thread = threading.Thread(target=work)
        thread.start()
        try:
            seen = []
            for i in range(5):
                before = acknowledged[0]
                ended = holdfast("backup", tmp_path / "data", tmp_path / f"backup-{i}")
                seen.append((before, ended, acknowledged[0]))
        finally:
            enough.set()
            thread.join()
    for i, (before, ended, after) in enumerate(seen):
        assert (ended.code, ended.err) == (DONE, "")
        restored = tmp_path / f"restored-{i}"
        assert holdfast("restore", tmp_path / f"backup-{i}", restored).code == DONE
        zone = script(holdfast, restored, ["SEATS.ZONE gala floor"])[0]
        assert before <= zone["reserved"] <= after + 1
        engine = ("--engine", f"embedded:{restored}")
        assert holdfast("call", *engine, "SEATS.GET", "gala", f"b-{zone['reserved']}").code == DONE
        assert holdfast("audit", restored).code == DONE


def test_backup_of_a_damaged_directory_is_refused(holdfast, data, tmp_path):
    offset = damage(data)
    ended = holdfast("backup", data, tmp_path / "backup")
    assert (ended.code, ended.out) == (REFUSED, "")
    assert f"{SEGMENT} at byte {offset}: damaged" in ended.err
    assert os.listdir(tmp_path) == ["data"]


def test_restore_of_a_damaged_backup_is_refused(holdfast, data, tmp_path):
    holdfast("backup", data, tmp_path / "backup")
    offset = damage(tmp_path / "backup")
    ended = holdfast("restore", tmp_path / "backup", tmp_path / "restored")
    assert (ended.code, ended.out) == (REFUSED, "")
    assert f"{SEGMENT} at byte {offset}: " in ended.err
    assert sorted(os.listdir(tmp_path)) == ["backup", "data"]


@pytest.mark.parametrize("exists", [False, True])
def test_a_backup_that_cannot_be_written_leaves_nothing(build, data, tmp_path, exists):
    def small_files():  # in place of a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

    if exists:
        (tmp_path / "backup").mkdir()
    ended = subprocess.run([build.program, "backup", data, tmp_path / "backup"], text=True,
                           capture_output=True, preexec_fn=small_files, timeout=TIMEOUT_S)
    assert (ended.returncode, ended.stdout) == (REFUSED, "")
    assert f"{SEGMENT}: cannot be written: File too large" in ended.stderr
    assert sorted(os.listdir(tmp_path)) == (["backup", "data"] if exists else ["data"])
    assert not exists or os.listdir(tmp_path / "backup") == []


@pytest.mark.parametrize("word", ["backup", "restore"])
def test_a_destination_that_is_not_empty(holdfast, data, tmp_path, word):
    (tmp_path / "dest").mkdir()
    (tmp_path / "dest" / "letter").write_text("dear")
    ended = holdfast(word, data, tmp_path / "dest")
    assert ended.code == MALFORMED and "dest: is not empty" in ended.err
    assert os.listdir(tmp_path / "dest") == ["letter"]


def test_a_copy_that_did_not_finish_is_not_touched(holdfast, data, tmp_path):
    (tmp_path / "dest.partial").mkdir()
    ended = holdfast("backup", data, tmp_path / "dest")
    assert ended.code == MALFORMED and "dest.partial" in ended.err and "remove it" in ended.err
    assert sorted(os.listdir(tmp_path)) == ["data", "dest.partial"]


def test_restore_into_a_directory_in_use(holdfast, data, tmp_path, build):
    with Writer(build.program, tmp_path / "used") as write:
        write("SEM.CARD x")
        ended = holdfast("restore", data, tmp_path / "used")
        assert ended.code == MALFORMED and "is not empty" in ended.err


# ---- what is not understood --------------------------------------------------------------------


@pytest.mark.parametrize("words", ["journal verify DIR", "journal dump DIR", "audit [URL|DIR]",
                                   "backup DIR DEST", "restore BACKUP DIR"])
def test_help_names_them(holdfast, words):
    assert f"    holdfast {words} " in holdfast("help").out


@pytest.mark.parametrize("words, about", [
    (["journal"], "verify DIR, or dump DIR"),
    (["journal", "show", "DIR"], "journal show"),
    (["journal", "verify"], "verify needs DIR"),
    (["journal", "verify", "DIR", "more"], "'more'"),
    (["journal", "verify", "--fast", "DIR"], "'--fast'"),
    (["journal", "dump"], "dump needs DIR"),
    (["journal", "dump", "DIR", "more"], "'more'"),
    (["journal", "dump", "DIR", "--all"], "--all"),
    (["journal", "dump", "DIR", "--from"], "--from"),
    (["journal", "dump", "DIR", "--from", "0"], "--from 0"),
    (["journal", "dump", "DIR", "--from", "soon"], "--from soon"),
    (["audit", "DIR", "more"], "'more'"),
    (["backup", "DIR"], "backup needs DIR DEST"),
    (["backup", "DIR", "--fast"], "'--fast'"),
    (["backup", "DIR", "dest", "more"], "'more'"),
    (["backup", "DIR", ""], "''"),
    (["restore", "DIR"], "restore needs BACKUP DIR"),
], ids=" ".join)
def test_what_is_not_understood(holdfast, data, words, about):
    ended = holdfast(*(data if word == "DIR" else word for word in words))
    assert (ended.code, ended.out) == (MALFORMED, "")
    assert about in ended.err and len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("words", [["journal", "verify"], ["journal", "dump"], ["audit"],
                                   ["backup"], ["restore"]], ids=" ".join)
@pytest.mark.parametrize("what, about", [
    ("nowhere", "No such file or directory"), ("file", "Not a directory"),
    ("empty", "holds no journal and no snapshot"),
])
def test_what_is_no_data_directory(holdfast, tmp_path, words, what, about):
    (tmp_path / "file").write_text("dear")
    (tmp_path / "empty").mkdir()
    dest = [tmp_path / "dest"] if words[0] in ("backup", "restore") else []
    ended = holdfast(*words, tmp_path / what, *dest)
    assert (ended.code, ended.out) == (MALFORMED, "")
    assert str(tmp_path / what) in ended.err and about in ended.err
    assert sorted(os.listdir(tmp_path)) == ["empty", "file"]
    assert os.listdir(tmp_path / "empty") == []
