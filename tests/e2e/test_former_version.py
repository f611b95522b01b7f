# SPDX-License-Identifier: Apache-2.0
"""Directories that former versions wrote start, and go on as any other. Version 1 of the snapshot
was written before starts and the passing of time were recorded, version 2 before quota holds were
extended. Version 3 (former_version_3.json) has every command of the first vocabulary, and records
in every state, with the answers that their own version gave."""

import base64
import re
import zlib

import pytest

from former_version import FormerClock, Kept, lines, without_message
from harness import COMMANDS, run
from server import Server

# By the version of their snapshot, each file as it was left, compressed.
FILES = {
    1: {
        "journal-00000000000000000001": (
            "c-r%D^YRZ3^5bG;fB+Z`0_vA?UZ?|U<&Cd(ki|hjT;2HbLZBccBQr;OVooAgT26j`k%$>k>W%inYfMmO"
            "Agv%;5vH7p3rRU!lCB|JVqP8#2LnUHd`|{Tpvumv4-=W8x<Mv^9RkzM%mUU8(#OD7plg`-x$n`v`QLMI"
            "O=eVD61T!Y38*-7UP~4W)BuoSC<bscaU>?^rk-F_28vE^s(Q-`RSD7sqBUSDxmds|Z5S9dfx;QTcB!yI"
            "m4dW^Xib<>8CH(sjQrFTCI+tD)S~oMbD(5<&o_T|s0NT`5Umf>Ai>O0oSInD@L^LBOKxhyLX$0SH)EUq"
            "yviSMUe7%X6kwa%1QI!*+CfHvXeDi^c3FshZ26GTV>|FJ7i7Ng1v^Ggs2-4huy<g3<e1=kKwjq)T(g1;"
            "surXV>^yB$uk$f5SOA5O*H%5`hAIVV1JRb+aG!AHmt>?CLA|1U%(gZBn!fUrU)7awZ$8QdDg^*ahK|n"
        ),
        "snapshot-00000000000000000007": (
            "c-r%D3-)si2<BpBU|?wP`R32g00HZv^l|TWkBj$}J3ah;T-+RkLm2PPnYnpS1``8F0|QHXVooB2$-tVH"
            "lb>HC!oULMGbiTd0Xaax$iM{RC+Qjj*$wkOSr`t14LJuU-#yzs<=yY+jLZc<d5Ecr$+@W~7;T_V01Mvh"
            "In%l~gQYk%v4kl%6=r>LMt*7vkio=&1e7lNumJ#w3o)_"
        ),
    },
    2: {
        "journal-00000000000000000001": (
            "c-r%D^YRZ3^5bG;fB+Z`0_vA?UYG;vXY*1|Ad7=Q<H5=&3xR^c)^>j<B-wkIue4U5@cH(dZ7)_`Ke{L5"
            "!vA|a`)6)oQwJ(F&GArUf@%X91)_VP+8G&{Inonz61mcH^7D&C%z#o$XRrOt3{?)&3Zi>q%9*&3l(Qx2"
            "8nPwk<*{%uFf`2fWUv9MymD6H77J82$RrRw0j8Uo1*{vUkF7x0u;9?NMHi=TOZfgmwB@*3$08-5djI^*"
            "r&*z9fXoBY6Jcg>GI1m(=K=#n87Qi2o&JOksuH9NMI{#tSS8R^8bIOB-~RmUP^BPkAbJv-Qa-i}UBd$_"
            "*;PP}Ul)<d0aXvu3!-Ph)bl_b0aC6B6la~Z@(Cx*(?ES7dM!+?3@b-*Mt*7v69ZRnYEgQs4p1^ixQ>Mj"
            "ssW@KM6ZKskcDVq%ZG;2fp@te2btcT%g+tf1JVzo*TeM4F~Rki0>wF9*pBkR;t;40L~nqpm0;#5PE9NU"
            "`jaX9TIXukh~2CYlqc_aA(WK1LlUSkn1fk`7pfU#5QyFl)f@s#e*of!uk-"
        ),
        "snapshot-00000000000000000007": (
            "c-r%D3-)si2<BpBU|{I{?a$B700DcU^l|TWj~S+d79RdSE^dy&Axul!&K=*AapC{Ho&7U6urXNM{hg3x"
            "?_s{uT7AOj+iSMHSatpAo(zy_3@qu1If)ElCIf3)PJVuo2m=e0&zzW-2jl<&BLfqNpQLLDWH-$BWMP;E"
            "wqXI7{LpfH%B)>W8JP=!@(@!KlXFu~Fxv1zxKGw!1uA3C&^6>cuoC8YWY9GsCmsORI6p%"
        ),
    },
}
CODES = {1: "EVWX8HVVZW", 2: "GKGD9H6TNM"}  # of the booking


class Former:
    def __init__(self, directory, version, with_snapshot):
        self.directory = directory
        self.code = CODES[version]
        directory.mkdir()
        for name, text in FILES[version].items():
            if name.startswith("journal") or with_snapshot:
                (directory / name).write_bytes(zlib.decompress(base64.b85decode(text)))

    def expect_state(self, server):
        booking = server.call("SEATS.GET", "gala", "b-1")
        assert dict(zip(booking[::2], booking[1::2]))["confirmation_code"] == self.code
        assert server.call("SEATS.ZONE", "gala", "floor")[1::2] == [10, 8, 0, 2]
        assert server.call("QUOTA.GET", "acme") == [37, 100, 0]
        assert server.call("STOCK.GET", "shoe")[1:6:2] == [47, 0, 3]


@pytest.fixture(params=["with its snapshot", "journal alone"])
def parts(request):
    return request.param


@pytest.fixture(params=sorted(FILES))
def former(request, parts, tmp_path):
    return Former(tmp_path / "data", request.param, parts == "with its snapshot")


def test_it_starts_with_all_it_had(former):
    with Server(directory=former.directory) as server:
        former.expect_state(server)
        assert server.call("LOCK.TRY", "another", 60)[1] > 2
        server.restart("kill")
        former.expect_state(server)
        assert server.call("SNAPSHOT") == "OK"
        server.restart()
        former.expect_state(server)
        assert server.call("AUDIT") == [1, 0]


def test_it_can_be_looked_at(former):
    with Server(directory=former.directory) as server:
        program = server.program
        server.stop()
        ended = run(program, "journal", "verify", former.directory)
        assert ended.code == 0, ended
        dumped = run(program, "journal", "dump", former.directory)
        assert dumped.code == 0 and re.search("SEATS.CONFIRM gala b-1 .*PAYMENT p-1", dumped.out)
        assert "# start " in dumped.out


# ---- every command and every state, by the clock of the time

# What the directory is asked to do next, and the answers: no more of it than is given here.
GO_ON = """
SEATS.CONFIRM gala-$ held USER ann = 1 CONFIRMED
SEATS.RELEASE gala-$ extended = 1 SUCCESS 85 0
SEATS.RESERVE gala-$ balcony more cy 4 9 = 1 5 9
SEATS.RESERVE gala-$ balcony dropped cy 1 9 = 0 USER_LIMIT_EXCEEDED
QUOTA.COMMIT acme-$ open = 1 107 1000
QUOTA.CANCEL acme-$ extended = 1 87 1000
SEM.RELEASE db-$ a = 1
SEM.STATS db-$ = in_use 2 max 2 waiting 0
LOCK.UNLOCK seat-$ mine = 1
STOCK.SETTLE shoes-$ taken = 1 40
STOCK.TAKE shoes-$ given dee 40 = 1 0
STOCK.TAKE shoes-$ another dee 1 = 0 SOLD_OUT
ROOM.ADMIT gala-$ 1 = bob
IDEM.COMPLETE begun-$ answer = 1
IDEM.BEGIN begun-$ print = 2 COMPLETED answer
"""
EXPIRED = """
SEATS.ZONE gala-$ floor = capacity 90 available 87 reserved 0 confirmed 3
SEATS.ZONE gala-$ balcony = capacity 10 available 9 reserved 1 confirmed 0
SEATS.USER gala-$ cy = 1 0
SEATS.RELEASE gala-$ dropped = 0 RESERVATION_NOT_FOUND
QUOTA.GET acme-$ = 77 1000 0
QUOTA.CANCEL acme-$ cancelled = 0 HOLD_NOT_FOUND
SEM.STATS db-$ = in_use 0 max 0 waiting 0
LOCK.GET seat-$ = nil
STOCK.GET shoes-$ = available 42 taken 0 sold 3 loaded 45
ROOM.POSITION gala-$ bob = 0 NOT_IN_QUEUE
IDEM.BEGIN done-$ print = 1 NEW
"""


def agrees(expected, answer):
    """An answer may have more at its end than it had then."""
    if isinstance(expected, list) and isinstance(answer, list):
        return answer[:len(expected)] == expected
    return answer == expected


def expect_lines(server, text):
    for name in ("one", "two"):
        for words in lines(text, name):
            at = words.index("=")
            answer = server.call(*words[:at])
            shown = ["nil"] if answer is None else answer if isinstance(answer, list) else [answer]
            assert [str(value) for value in shown][:len(words) - at - 1] == words[at + 1:], words


@pytest.fixture
def of_its_time(parts, tmp_path):
    """A server on the directory of version 3, by the clock of the moment when it was left."""
    kept = Kept(3)
    kept.write(tmp_path / "data", parts == "with its snapshot")
    clock = FormerClock(kept.ended_ms)
    with Server(directory=tmp_path / "data", env=clock.env) as server:
        server.clock, server.kept = clock, kept
        yield server


def test_it_answers_as_its_own_version_did(of_its_time):
    differ = [(words, expected, answer) for words, expected in of_its_time.kept.answers
              if not agrees(expected, answer := without_message(of_its_time.call(*words)))]
    assert differ == []


def test_it_goes_on_from_every_state(of_its_time):
    expect_lines(of_its_time, GO_ON)
    assert of_its_time.call("AUDIT") == [1, 0]
    assert of_its_time.call("SNAPSHOT") == "OK"
    zone = of_its_time.call("SEATS.ZONE", "gala-two", "balcony")
    of_its_time.restart("kill")
    assert of_its_time.call("SEATS.ZONE", "gala-two", "balcony") == zone
    assert of_its_time.call("AUDIT") == [1, 0]


def test_what_it_holds_expires(of_its_time):
    of_its_time.stop()
    of_its_time.clock.shift(hours=31)  # a clock that is ahead at the start is followed
    of_its_time.start()
    expect_lines(of_its_time, EXPIRED)
    assert of_its_time.call("AUDIT") == [1, 0]


def test_its_journal_has_every_command_of_its_time(tmp_path):
    Kept(3).write(tmp_path / "data", with_snapshot=True)
    with Server(directory=tmp_path / "data") as server:
        program = server.program
    dumped = run(program, "journal", "dump", tmp_path / "data")
    assert dumped.code == 0, dumped
    written = {word for line in dumped.lines for word in line.split() if word in COMMANDS}
    first_vocabulary = """
        SEATS.OPEN SEATS.RESERVE SEATS.CONFIRM SEATS.RELEASE SEATS.EXTEND QUOTA.LIMIT
        QUOTA.RESERVE QUOTA.REFUND QUOTA.COMMIT QUOTA.CANCEL QUOTA.EXTEND QUOTA.SYNC SEM.ACQUIRE
        SEM.QUEUE SEM.WAKE SEM.CONFIRM SEM.RELEASE SEM.PING LOCK.TRY LOCK.UNLOCK LOCK.EXTEND
        STOCK.LOAD STOCK.TAKE STOCK.SETTLE STOCK.GIVE STOCK.ADJUST ROOM.JOIN ROOM.LEAVE
        ROOM.ADMIT IDEM.BEGIN IDEM.COMPLETE IDEM.ABORT"""
    assert set(first_vocabulary.split()) - written == set()
